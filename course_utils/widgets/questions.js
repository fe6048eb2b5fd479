// Questions with a reason for every answer. A question is a group that has its text as its name and owns its buttons; reasons are announced.

function draw(place, model, roles) {
  const { questions, right: good, wrong: bad } = model.get("data"); // texts are HTML, escaped in Python
  const own = `question-${Math.random().toString(36).slice(2)}`; // the same questions may stand in a page twice
  const firstTries = new Map();
  const total = html("div", { role: "status" });
  place.style.maxWidth = "50em";
  place.append(...questions.map(ask_), total);

  function ask_({ text, code, options }, number) {
    const name = `${own}-${number}`;
    const asked = html("div", { id: name, style: "font-weight:600;margin-top:.6em" }, `${number + 1}. `, filledWith("span", text));
    const group = html("div", { role: "group", "aria-labelledby": name }, asked);
    if (code) group.append(html("pre", { tabindex: 0, class: "code", "aria-label": "code" }, code));
    for (const option of options) group.append(...choice(option, number));
    return group;
  }

  function choice({ text, right, why }, number) {
    const mark = html("span", { "aria-hidden": "true" }, "○");
    const reason = html("div", { "aria-live": "polite", style: "margin-left:1.6em" });
    const button = html("button", { type: "button", style: "display:block;margin:3px 0", "aria-pressed": "false" }, mark, " ", filledWith("span", text));
    button.onclick = () => {
      if (button.getAttribute("aria-pressed") === "true") return;
      button.setAttribute("aria-pressed", "true");
      mark.textContent = right ? "✓" : "✗";
      button.style.border = `2px ${right ? "solid" : "dashed"} ${right ? good : bad}`;
      reason.replaceChildren(html("b", {}, right ? "✓ Right." : "✗ Not this one."), " ", filledWith("span", why));
      if (!firstTries.has(number)) firstTries.set(number, right);
      const correct = [...firstTries.values()].filter(Boolean).length;
      total.textContent = `${firstTries.size} of ${questions.length} answered, ${correct} right at the first try.`;
      total.style.cssText = "margin-top:.6em;padding-top:.4em;border-top:1px solid var(--jp-border-color2,#ccc)";
    };
    return [button, reason];
  }

  function filledWith(tag, made) {
    const element = html(tag);
    element.innerHTML = made;
    return element;
  }
}
