// One word's way through multi-head attention: columns of W^Q, heads, side by side, W^O. A chosen head is followed all the way.

function draw(place, model, roles) {
  const { words, features, word, x, w_query, query, weights, joined, w_output, output } = model.get("data");
  const heads = weights.length, dK = query[0].length / heads, dV = joined[0].length / heads;
  const CELL = 48, ROW = 26, GAP = 44, LEFT = 16, PAIR = 30, TOP = 84, APART = 10;
  const most = Math.max(features.length, query[0].length, joined[0].length);
  const room = most * CELL + (heads - 1) * APART, middle = LEFT + room + GAP, right = middle + room + GAP, width = right + room + LEFT;
  const panel = (width - 2 * LEFT - PAIR * (heads - 1)) / heads;
  const looks = TOP + ROW * features.length + 44, mix = looks + 164, tall = ROW * w_output.length + (heads - 1) * APART, height = mix + 40 + tall + 16;
  const grey = { colour: "var(--jp-content-font-color2, #5b6b7b)" };
  const STEPS = ["1 columns", "2 heads", "3 side by side", "4 mixed"];
  let at = word, step = 0, chosen = 0;

  const picture = svg("svg", { role: "img" });
  sized(picture, width, height);
  const said = html("div", { class: "said", "aria-live": "polite" });
  const steps = choices("step", STEPS, step, (next) => { step = next; show(); });
  const ofHead = choices("head", ["all", ...weights.map((_, head) => `head ${head}`)], chosen, (next) => { chosen = next; show(); });
  const asking = choices("word", words, at, (next) => { at = next; show(); });
  place.append(steps.element, ofHead.element, asking.element, said, wide(picture));

  /** A group of a head's own things: faint if another head is followed. */
  const own = (head, ...children) => svg("g", { opacity: chosen && chosen - 1 !== head ? 0.22 : 1 }, ...children);
  const frame = (left, top, wide_, high, label, labelAt) => svg("g", {},
    svg("rect", { x: left - 1, y: top - 2, width: wide_ + 2, height: high + 4, rx: 5, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
    text(left + wide_ / 2, top + labelAt, label, { "text-anchor": "middle" }));
  const cells = (role, left, y, entries, cell = CELL) => strip(role, left, y, entries, { cell, strength: role === grey ? () => 0 : undefined });
  const part = (row, head, size) => row.slice(head * size, (head + 1) * size);
  const small = (left, y, names) => names.map((name, each) =>
    text(left + (each + 0.5) * CELL, y, name, { "text-anchor": "middle", class: "quiet", style: "font-size:12px" }));
  const list = (row) => row.map((entry) => entry.toFixed(2)).join("  ");
  const span = (what, head, size) => (size > 1 ? `${what}s ${head * size} to ${(head + 1) * size - 1}` : `${what} ${head}`);
  const each = (make) => weights.map((_, head) => own(head, ...make(head)));

  function columns() {
    const centre = TOP + ROW * features.length / 2;
    return [
      text(LEFT, 22, "1. The word reads all of W^Q. A head is some of its columns."),
      text(LEFT, centre - 26, `embedding of ${words[at]}`), cells(grey, LEFT, centre, x[at]), ...small(LEFT, centre + 26, features),
      text(middle - GAP / 2, centre, "×", { "text-anchor": "middle" }), text(middle, TOP - 30, "W^Q"),
      text(right - GAP / 2, centre, "=", { "text-anchor": "middle" }), text(right, centre - 26, "query"),
      ...each((head) => [
        ...w_query.map((row, feature) => cells(grey, middle + head * (dK * CELL + APART), TOP + ROW * (feature + 0.5), part(row, head, dK))),
        frame(middle + head * (dK * CELL + APART), TOP, dK * CELL, ROW * features.length, `head ${head}`, -12),
        cells(roles.query, right + head * (dK * CELL + APART), centre, part(query[at], head, dK)),
        frame(right + head * (dK * CELL + APART), centre - 14, dK * CELL, 28, `head ${head}`, 42),
      ]),
    ];
  }

  function attend() {
    const cell = panel / words.length;
    return [
      text(LEFT, looks, "2. Each head has weights of its own, and finds values of its own."),
      ...each((head) => {
        const left = LEFT + head * (panel + PAIR);
        return [
          ...words.map((name, other) => text(left + (other + 0.5) * cell, looks + 52, name, { "text-anchor": "middle", class: "quiet", style: "font-size:12px" })),
          cells(roles.weight, left, looks + 76, weights[head][at], cell), frame(left, looks + 38, panel, 88, `head ${head}`, -10),
          text(left + 8, looks + 108, "finds"), cells(roles.value, left + 52, looks + 108, part(joined[at], head, dV)),
        ];
      }),
    ];
  }

  function sideBySide(moves) {
    const centre = mix + 40 + tall / 2;
    return [
      text(LEFT, mix, "3. Side by side. 4. W^O mixes: each head has rows of its own."), text(LEFT, centre - 26, "what the heads found"),
      ...each((head) => {
        const left = LEFT + head * (dV * CELL + APART);
        const from = `--from-x:${LEFT + head * (panel + PAIR) + 52 - left}px;--from-y:${looks + 108 - centre}px`;
        return [
          svg("g", moves ? { class: "travels", style: from } : {}, cells(roles.value, left, centre, part(joined[at], head, dV))),
          frame(left, centre - 14, dV * CELL, 28, `head ${head}`, 42),
        ];
      }),
    ];
  }

  function mixed() {
    const centre = mix + 40 + tall / 2;
    return [
      text(middle - GAP / 2, centre, "×", { "text-anchor": "middle" }), text(middle, mix + 26, "W^O"),
      ...each((head) => [
        ...part(w_output, head, dV).map((row, each_) => cells(grey, middle, mix + 40 + head * (dV * ROW + APART) + ROW * (each_ + 0.5), row)),
        frame(middle, mix + 40 + head * (dV * ROW + APART), features.length * CELL, dV * ROW, "", 0),
      ]),
      text(right - GAP / 2, centre, "=", { "text-anchor": "middle" }), text(right, centre - 26, "output"),
      cells(roles.output, right, centre, output[at]), ...small(right, centre + 26, features),
    ];
  }

  function words_() {
    const head = chosen ? chosen - 1 : 0, name = chosen ? `Head ${head}` : `Head ${head}, for one,`;
    const row = weights[head][at], best = row.indexOf(Math.max(...row));
    return [
      `${name} is ${span("column", head, dK)} of W^Q. Each column reads the whole embedding, so no head sees only a piece of ${words[at]}. Its query: ${list(part(query[at], head, dK))}.`,
      `${name} looks most at ${words[best]} (${row[best].toFixed(2)}), and finds ${list(part(joined[at], head, dV))}.`,
      `What the heads found stands side by side, ${joined[0].length} numbers for ${words[at]}. ${name} has ${span("place", head, dV)}.`,
      `W^O turns them into ${features.length} features again. It reads what ${name.replace("Head", "head").replace(", for one,", "")} found with ${span("row", head, dV)}.`,
    ][step];
  }

  function show() {
    steps.mark(step); ofHead.mark(chosen); asking.mark(at);
    said.textContent = words_();
    picture.setAttribute("aria-label", said.textContent);
    const drawn = [columns(), step > 0 ? attend() : [], step > 1 ? sideBySide(step === 2) : [], step > 2 ? mixed() : []];
    picture.replaceChildren(...drawn.map((parts, number) => svg("g", number === step && number !== 2 ? { class: "appears" } : {}, ...parts)));
  }

  show();
}
