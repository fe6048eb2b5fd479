// Controls, and below them the panel of what is chosen. The panels are HTML that was made, and escaped, in Python.

function draw(place, model, roles) {
  const { controls, panels } = model.get("data");
  const chosen = controls.map((control) => control.start);
  const picture = html("div", { "aria-live": "polite" });
  controls.forEach((control, number) => place.append(control.slider ? slider(control, number) : buttons(control, number)));
  place.append(picture);

  function buttons(control, number) {
    const group = choices(control.label, control.options, control.start, (to) => { group.mark(to); show(number, to); });
    return group.element;
  }

  function slider(control, number) {
    const now = html("output", {}, control.options[control.start]);
    const input = html("input", {
      type: "range", min: 0, max: control.options.length - 1, value: control.start, "aria-label": control.label,
      "aria-valuetext": control.options[control.start], style: "flex:1;max-width:24em;min-width:80px",
    });
    input.oninput = () => {
      now.textContent = control.options[+input.value];
      input.setAttribute("aria-valuetext", now.textContent);
      show(number, +input.value);
    };
    return html("div", { class: "row" }, html("span", {}, control.label), input, now);
  }

  function show(number, to) {
    chosen[number] = to;
    picture.innerHTML = panels[chosen.join()];
  }

  show(0, chosen[0]);
}
