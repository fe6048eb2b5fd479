// Where a word goes in context: a fixed plane, and an arrow from the word alone to the word in a sentence.

const MARKS = ["M-1 0H1M0 -1V1", "M-.8 -.8L.8 .8M.8 -.8L-.8 .8", "M-.9 -.9H.9V.9H-.9Z"]; // plus, cross, square: one for each sense

function draw(place, model, roles) {
  const names = Object.keys(model.get("data").words);
  const latest = {}; // word -> the sentence whose arrow is drawn strongly
  let word = names[0];
  let waiting;
  const wordButtons = choices("Word:", names, 0, (at) => { word = names[at]; change(); });
  const examples = html("div", { class: "row" });
  const input = html("input", { type: "text", maxlength: 200, style: "flex:1 1 20em" });
  const form = html("form", { class: "row", onsubmit: (event) => { event.preventDefault(); send(); } },
    html("label", { style: "display:flex;gap:6px;align-items:center;flex:1 1 26em" }, "Your sentence:", input),
    html("button", { type: "submit" }, "Move the word"));
  const said = html("div", { class: "said", "aria-live": "polite" });
  const picture = svg("svg", { role: "img" });
  let width = 720; // of the plane: narrower in a narrow page, so that its words stay as large
  const behind = html("div", {});
  const listed = html("details", {}, html("summary", {}, "The sentences behind the marks"), behind);
  place.append(wordButtons.element, examples, form, said, picture, listed);
  model.on("change:data", () => { stop(); const moved = shown().moved; latest[word] = moved.length - 1; change(); });
  model.on("change:error", () => { stop(); if (model.get("error")) said.textContent = model.get("error"); });

  function shown() {
    return model.get("data").words[word];
  }

  function send() {
    stop();
    said.textContent = "The encoder reads your sentence …";
    const told = "Only a running kernel can read a new sentence: run this cell again.";
    if (!ask(model, { word, sentence: input.value })) said.textContent = told;
    else waiting = setTimeout(() => { said.textContent = told; }, 20000);
  }

  function stop() {
    clearTimeout(waiting);
  }

  function change() {
    const { senses, bare, moved } = shown();
    const at = Math.min(latest[word] ?? 0, moved.length - 1);
    wordButtons.mark(names.indexOf(word));
    input.placeholder = `a sentence with “${word}”`;
    const sentences = choices("Sentence:", moved.map((each) => each.sentence), at, (to) => { latest[word] = to; change(); });
    sentences.element.style.cssText = "flex-direction:column;align-items:stretch";
    const focused = examples.contains(document.activeElement);
    examples.replaceChildren(sentences.element);
    if (focused) sentences.element.querySelector("[aria-checked=true]").focus();
    const now = moved[at];
    const close = Object.entries(now.close).map(([name, cosine]) => `${name} ${cosine.toFixed(2)}`).join(", ");
    said.textContent = `“${now.sentence}”: ${word} is closest to “${now.nearest}”. Cosine with the middle of each sense: ${close}.`;
    picture.setAttribute("aria-label", said.textContent);
    const all = [bare, ...senses.flatMap((sense) => sense.points), ...moved.map((each) => each.at)];
    const [left, right, low, high] = [0, 1].flatMap((axis) => [Math.min(...all.map((p) => p[axis])), Math.max(...all.map((p) => p[axis]))]);
    const x = (p) => 60 + ((width - 120) * (p[0] - left)) / (right - left || 1);
    const y = (p) => 370 - (330 * (p[1] - low)) / (high - low || 1);
    const parts = [];
    picture.setAttribute("viewBox", `0 0 ${width} 400`);
    senses.forEach((sense, number) => {
      for (const point of sense.points)
        parts.push(svg("path", { d: MARKS[number], transform: `translate(${x(point)} ${y(point)}) scale(5)`, class: "line", "stroke-width": 0.35 },
          svg("title", {}, sense.sentences[sense.points.indexOf(point)])));
      const middle = [0, 1].map((axis) => sense.points.reduce((sum, p) => sum + p[axis], 0) / sense.points.length);
      parts.push(text(x(middle), y(middle), sense.name, { "text-anchor": "middle", "font-weight": 700, class: "halo" }));
    });
    moved.forEach((each, number) => { if (number !== at) parts.push(arrow(each.at, 0.45)); });
    parts.push(arrow(now.at, 1));
    parts.push(shape(roles.value, x(bare), y(bare), 6), text(x(bare), y(bare) + (y(now.at) > y(bare) ? -18 : 18), `${word} alone`, { "text-anchor": "middle", class: "halo" }));
    picture.replaceChildren(...parts);
    behind.replaceChildren(...senses.map((sense) =>
      html("p", {}, html("b", {}, sense.name), `: ${sense.sentences.join(" ")}`)));

    function arrow(to, opacity) {
      const [x1, y1, x2, y2] = [x(bare), y(bare), x(to), y(to)];
      const group = svg("g", { opacity, class: opacity === 1 ? "appears" : "" });
      group.append(
        svg("line", { x1, y1, x2, y2, stroke: roles.output.colour, "stroke-width": opacity === 1 ? 3 : 2 }),
        shape(roles.output, x2, y2, 7));
      return group;
    }
  }

  change();
  new ResizeObserver(() => {
    const now = Math.max(340, Math.min(720, picture.clientWidth || 720));
    if (now !== width) { width = now; change(); }
  }).observe(picture);
}
