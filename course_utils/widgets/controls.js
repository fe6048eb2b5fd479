// A claim, and four experiments: the one that is chosen shows what it gives beside the claim's numbers, and what that can tell.

function draw(place, model, roles) {
  const { claim, table, options } = model.get("data"); // HTML, escaped in Python
  const letters = "ABCDEFGH";
  const asked = html("div", { style: "font-weight:600;margin-bottom:4px" });
  asked.innerHTML = "Find the missing control. " + claim;
  const numbers = wide(undefined, "table");
  numbers.innerHTML = table;
  const result = html("div", { "aria-live": "polite", class: "said" });
  const group = choices("Your control", options.map(() => ""), -1, run);
  group.element.style.cssText = "flex-direction:column;align-items:stretch";
  group.element.firstChild.remove();
  [...group.element.children].forEach((button, at) => (button.innerHTML = `${letters[at]}. ${options[at].text}`));
  place.style.maxWidth = "46em";
  place.append(asked, numbers, group.element, result);

  function run(at) {
    group.mark(at);
    const { right, verdict, why, table } = options[at];
    const title = html("div", { style: "font-weight:600;margin-top:8px" }, `${letters[at]} gives this:`);
    const numbers = wide(undefined, "table");
    numbers.innerHTML = table;
    const told = html("div");
    told.innerHTML = `<b>${right ? "✓" : "✗"} ${verdict}</b> ${why}`;
    result.replaceChildren(title, numbers, told);
  }
}
