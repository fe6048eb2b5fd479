// Pairs of features as clocks; a slider moves the position, and all hands move at their own speeds.

function draw(place, model, roles) {
  const { angles, offsets, start, offset } = model.get("data");
  const room = angles.length - 1 - (offsets ? offsets : 0);
  const position = slider("position", room, start);
  const steps = offsets ? slider("offset", offsets, offset) : undefined;
  const said = html("div", { "aria-live": "polite" });
  const dials = html("div", { class: "row", style: "align-items:flex-start" });
  place.append(...[position, steps].filter((each) => each).map((each) => each.element), said, dials);

  function slider(label, most, value) {
    const now = html("output", {}, String(value));
    const input = html("input", { type: "range", min: 0, max: most, value, "aria-label": label, style: "flex:1;max-width:24em;min-width:80px",
      oninput: () => { now.textContent = input.value; show(); } });
    return { element: html("div", { class: "row" }, html("span", {}, label), input, now), input };
  }

  function hand(angle, colour, dashes) {
    return svg("line", { x1: 50, y1: 50, x2: 50 + 38 * Math.sin(angle), y2: 50 - 38 * Math.cos(angle), stroke: colour, "stroke-width": 4,
      "stroke-linecap": "round", "stroke-dasharray": dashes });
  }

  function show() {
    const at = +position.input.value, later = steps ? at + +steps.input.value : undefined;
    said.textContent = steps ? `position ${at}, and (dashed) position ${later}` : `position ${at}`;
    dials.replaceChildren(...angles[at].map((angle, pair) => {
      const words = steps ? `turned by ${(angles[later][pair] - angle).toFixed(3)} rad` : `sin ${Math.sin(angle).toFixed(2)}, cos ${Math.cos(angle).toFixed(2)}`;
      const dial = svg("svg", { viewBox: "0 0 100 100", style: "width:90px;min-width:0;margin:auto", role: "img", "aria-label": `pair ${pair}: ${words}` },
        svg("circle", { cx: 50, cy: 50, r: 46, class: "line", "stroke-width": 2 }),
        svg("line", { x1: 50, y1: 4, x2: 50, y2: 12, class: "line", "stroke-width": 2 }));
      if (steps) dial.append(hand(angles[later][pair], roles.key.colour, "6 6"));
      dial.append(hand(angle, roles.query.colour));
      return html("div", { style: "text-align:center;width:9.5em" }, html("div", {}, `pair ${pair}`), dial,
        html("div", { style: "font-size:85%;font-variant-numeric:tabular-nums" }, words));
    }));
  }

  show();
}
