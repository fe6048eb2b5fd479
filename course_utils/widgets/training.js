// Attention weights kept during a training: a table, a slider over the steps, and how sharp the weights are at each of them.

function draw(place, model, roles) {
  const data = model.get("data");
  const { rows, columns, steps, weights, largest } = data;
  const cell = Math.max(34, Math.min(52, 640 / columns.length)), height = 26, left = 96, top = 74;
  const right = left + cell * columns.length, bottom = top + height * rows.length;
  let at = 0, timer = 0;

  const slider = html("input", { type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "step of the training", style: "flex:1;min-width:80px" });
  const play = html("button", { type: "button", onclick: () => (timer ? stop() : start()) });
  const said = html("div", { "aria-live": "off" });
  const picture = svg("svg", { role: "img", style: `max-width:${right + 20}px` });
  sized(picture, right + 20, bottom + 92);
  place.append(html("div", { class: "row" }, play, html("span", {}, "first step"), slider, html("span", {}, "last step")), said, wide(picture));

  columns.forEach((word, c) => picture.append(
    svg("text", { transform: `translate(${left + cell * (c + 0.5)} ${top - 10}) rotate(-40)` }, word)));
  const cells = rows.map((word, r) => {
    picture.append(text(left - 8, top + height * (r + 0.5), word, { "text-anchor": "end" }));
    return columns.map((_, c) => {
      const tint = svg("rect", { x: left + cell * c, y: top + height * r, width: cell - 2, height: height - 2, rx: 2, fill: roles.weight.colour, class: "moves" });
      const number = text(left + cell * (c + 0.5) - 1, top + height * (r + 0.5) - 1, "", { "text-anchor": "middle", style: "font-size:12px" });
      picture.append(tint, number);
      return { tint, number };
    });
  });

  // Below it: the largest weight of a row, averaged, against the step; the dashed line is uniform attention.
  const low = bottom + 70, high = bottom + 18;
  const x = (step) => left + ((right - left) * step) / (steps.length - 1);
  const y = (value) => low - (low - high) * value;
  picture.append(
    text(left - 8, high, "1", { "text-anchor": "end", class: "quiet" }),
    text(left - 8, y(1 / columns.length), "uniform", { "text-anchor": "end", class: "quiet", style: "font-size:12px" }),
    svg("line", { class: "line", x1: left, x2: right, y1: y(1 / columns.length), y2: y(1 / columns.length), "stroke-dasharray": "4 3" }),
    svg("polyline", { points: largest.map((value, step) => `${x(step)},${y(value)}`).join(" "), fill: "none", stroke: roles.weight.colour, "stroke-width": 2 }),
    text(left, low + 14, "largest weight of a row, mean over the rows", { class: "quiet", style: "font-size:12px" }),
  );
  const dot = svg("circle", { r: 5, fill: roles.weight.colour, class: "line" });
  picture.append(dot);

  slider.oninput = () => { stop(); show(+slider.value); };

  function show(step) {
    at = step;
    slider.value = step;
    weights[step].forEach((row, r) => row.forEach((weight, c) => {
      const { tint, number } = cells[r][c];
      tint.setAttribute("fill-opacity", 0.05 + 0.63 * weight);
      number.textContent = weight >= 0.1 ? weight.toFixed(2) : "";
      number.style.fontWeight = weight === Math.max(...row) ? 700 : 400;
    }));
    dot.setAttribute("cx", x(step));
    dot.setAttribute("cy", y(largest[step]));
    said.textContent = `Step ${steps[step]} of ${steps[steps.length - 1]}: the largest weight of a row is ${largest[step].toFixed(2)} on average; uniform would be ${(1 / columns.length).toFixed(2)}.`;
    slider.setAttribute("aria-valuetext", said.textContent);
    picture.setAttribute("aria-label", said.textContent);
  }

  function start() {
    if (at === steps.length - 1) show(0);
    timer = setInterval(() => (at < steps.length - 1 ? show(at + 1) : stop()), 120);
    play.textContent = "❚❚ Pause";
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ Play";
  }

  stop();
  if (calm()) play.remove(); // the slider shows the same without motion
  show(0);
  return stop;
}
