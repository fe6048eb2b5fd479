// A question before a measurement. It says neither right nor wrong: the result does.

function draw(place, model, roles) {
  const data = () => model.get("data");
  const letters = "ABCDEFGH";
  const question = html("div", { style: "font-weight:600;margin-bottom:4px" });
  question.innerHTML = "Predict first. " + data().question; // escaped in Python
  const said = html("div", { "aria-live": "polite" });
  let chosen = data().chosen;
  const group = choices("Your prediction", data().options.map(() => ""), chosen, choose);
  group.element.style.cssText = "flex-direction:column;align-items:stretch";
  group.element.firstChild.remove();
  [...group.element.children].forEach((button, at) => (button.innerHTML = `${letters[at]}. ${data().options[at]}`));
  place.style.maxWidth = "46em";
  place.append(question, group.element, said);

  function choose(at) {
    chosen = at;
    tell(ask(model, { chosen: at }) ? "Now run the next cell and see." : "Compare it with the result below.");
  }

  function tell(next) {
    group.mark(chosen);
    said.textContent = chosen < 0 ? "" : `You predict ${letters[chosen]}. ${next}`.trim();
  }

  tell("");
}
