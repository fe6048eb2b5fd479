// The Transformer, opened level by level. A deeper level grows out of the box that it opens; the drawings were made in Python.

function draw(place, model, roles) {
  const { levels, width, height } = model.get("data");
  let at = 0;
  const picture = svg("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, style: `max-width:${Math.round(1.4 * width)}px` });
  const said = html("div", { class: "said", "aria-live": "polite" });
  const depth = choices("zoom", levels.map((level, number) => `${number + 1} ${level.name}`), at, (next) => show(next));
  place.append(depth.element, said, picture);

  function show(next) {
    const from = next === at + 1 && levels[at].opens;
    at = next;
    depth.mark(at);
    said.textContent = levels[at].said;
    picture.setAttribute("aria-label", said.textContent);
    const way = from ? { class: "travels", style: `--from-x:${from[0]}px;--from-y:${from[1]}px;--from-scale:${from[2] / width}` } : { class: "appears" };
    const level = svg("g", way);
    level.innerHTML = levels[at].drawing;
    picture.replaceChildren(level);
  }

  show(0);
}
