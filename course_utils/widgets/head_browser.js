// All heads of an encoder as small pictures; two of them beside each other, as lines from each word to those it looks at.
// Weights come from the kernel in thousandths; hiding the markers and weighing by the values is done here.

function draw(place, model, roles) {
  const state = { hidden: false, weighed: false, token: -1, side: 0, heads: model.get("data").heads.map((head) => [...head]) };
  let data, layers, heads, tables;

  const typed = html("input", { type: "text", "aria-label": "sentence", style: "flex:1;min-width:16em", onkeydown: (event) => {
    if (event.key === "Enter") readIt();
    event.stopPropagation();
  } });
  const reading = html("div", { class: "row" }, "Sentence:", typed, html("button", { type: "button", onclick: readIt }, "Read"));
  const problem = html("div", { role: "alert" });
  const hide = html("button", { type: "button", onclick: () => change({ hidden: !state.hidden }, true) }, "Hide [CLS] and [SEP]");
  const weigh = choices("Show:", ["weights", "weights × length of the value"], 0, (at) => change({ weighed: at === 1 }, true));
  const views = html("div", { class: "row" }, hide);
  const sides = choices("Choose the", ["left head", "right head"], 0, (at) => change({ side: at }));
  const going = html("div", { class: "row" });
  const grid = html("div", { role: "grid", "aria-label": "All heads: a row for each layer", style: "display:grid;gap:3px;max-width:760px" });
  const both = html("div", { style: "display:flex;flex-wrap:wrap;gap:8px 28px;margin-top:8px" });
  const help = html("div", { style: "opacity:.75;font-size:12.5px" },
    "Keys: arrows move among the small pictures, Enter or Space chooses. In a large picture ↑ ↓ choose a word, Esc shows all. Point at a word to see its lines alone.");
  const pictures = [0, 1].map((side) => picture(side));
  place.append(reading, problem, views, sides.element, going, grid, both, help);
  both.append(...pictures.map((each) => each.element));

  function picture(side) {
    const title = html("div", { style: "font-weight:600" });
    const said = html("div", { style: "font-size:12.5px;min-height:3.2em", "aria-live": "polite" });
    const lines = svg("svg", { role: "img", tabindex: 0, style: "min-width:0;max-width:400px" });
    lines.onkeydown = (event) => {
      const seen = visible();
      const at = seen.indexOf(state.token);
      const to = { ArrowDown: seen[Math.min(seen.length - 1, at + 1)], ArrowUp: seen[Math.max(0, at - 1)], Escape: state.token < 0 ? undefined : -1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      change({ token: to });
    };
    lines.onmouseleave = () => change({ token: -1 });
    return { element: html("div", { style: "flex:1 1 320px;max-width:410px" }, title, said, lines), title, said, lines };
  }

  function readIt() {
    problem.textContent = ask(model, { sentence: typed.value }) ? "" : "Only a running kernel can read another sentence: run this cell again.";
  }

  model.on("change:data", start);
  model.on("change:error", () => (problem.textContent = model.get("error")));

  function start() {
    data = model.get("data");
    problem.textContent = data.cut ? `Only the first ${data.tokens.length} tokens are drawn; ${data.cut} more are not.` : "";
    typed.value = data.sentence;
    [layers, heads] = [data.thousandths.length, data.thousandths[0].length];
    state.token = -1;
    if (data.lengths && weigh.element.parentNode !== views) views.append(weigh.element);
    grid.style.gridTemplateColumns = `4.2em repeat(${heads}, minmax(0, 1fr))`;
    const rows = data.thousandths.map((_, layer) => {
      const row = html("div", { role: "row", style: "display:contents" }, html("span", { role: "rowheader", style: "align-self:center;font-size:12px" }, `layer ${layer + 1}`));
      for (let head = 0; head < heads; head++) row.append(html("button", {
        type: "button", role: "gridcell", class: "head", tabindex: -1, "data-at": `${layer},${head}`, title: `layer ${layer + 1}, head ${head + 1}`,
        style: "padding:2px;min-height:0;line-height:0", onclick: () => pick(layer, head),
      }, html("canvas", { style: "width:100%;aspect-ratio:1;image-rendering:pixelated" })));
      return row;
    });
    grid.replaceChildren(...rows);
    const buttons = data.patterns.map(({ name, meant }) => html("button", {
      type: "button", title: `The head that looks most at ${meant}`, onclick: () => goTo(name),
    }, name));
    going.replaceChildren(html("span", {}, "Go to the head of:"), ...buttons);
    change({}, true);
  }

  grid.onkeydown = (event) => {
    const from = document.activeElement.dataset?.at?.split(",").map(Number);
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!by || !from) return;
    event.preventDefault();
    event.stopPropagation();
    const to = [(from[0] + by[0] + layers) % layers, (from[1] + by[1] + heads) % heads];
    cell(...to).focus();
  };

  const cell = (layer, head) => grid.querySelector(`[data-at="${layer},${head}"]`);
  const visible = () => data.tokens.map((_, at) => at).filter((at) => !state.hidden || !data.markers.includes(at));

  /** What is shown of one head: rows sum to 1 again after hiding or weighing; a row with nothing left is zeros. */
  function table(layer, head) {
    const seen = new Set(visible());
    return data.thousandths[layer][head].map((row) => {
      const kept = row.map((weight, at) => (seen.has(at) ? weight * (state.weighed ? data.lengths[layer][head][at] : 1) : 0));
      const total = kept.reduce((sum, weight) => sum + weight, 0);
      return kept.map((weight) => (total ? weight / total : 0));
    });
  }

  /** The share that one head gives to the partners of a pattern, averaged over the words that have one. */
  function share(weights, pairs) {
    const seen = new Set(visible());
    const kept = pairs.filter(([from, to]) => seen.has(from) && seen.has(to));
    if (!kept.length) return NaN;
    return kept.reduce((sum, [from, to]) => sum + weights[from][to], 0) / new Set(kept.map(([from]) => from)).size;
  }

  function goTo(name) {
    const { pairs } = data.patterns.find((pattern) => pattern.name === name);
    let best = [NaN, 0, 0];
    tables.forEach((row, layer) => row.forEach((weights, head) => {
      const found = share(weights, pairs);
      if (!(found <= best[0])) best = Number.isNaN(found) ? best : [found, layer, head];
    }));
    if (Number.isNaN(best[0])) problem.textContent = `Nothing shown here fits “${name}”. For “same word”, type a sentence in which a word occurs twice.`;
    else { problem.textContent = ""; pick(best[1], best[2]); }
  }

  function pick(layer, head) {
    state.heads[state.side] = [layer, head];
    change({});
  }

  function change(to, recompute = false) {
    if ("token" in to && to.token === state.token) return;
    Object.assign(state, to);
    if (recompute) {
      tables = data.thousandths.map((row, layer) => row.map((_, head) => table(layer, head)));
      if (!visible().includes(state.token)) state.token = -1;
      tables.forEach((row, layer) => row.forEach((weights, head) => tile(cell(layer, head).firstChild, weights)));
    }
    hide.setAttribute("aria-pressed", state.hidden);
    weigh.mark(+state.weighed);
    sides.mark(state.side);
    grid.querySelectorAll("button").forEach((button) => {
      const side = state.heads.findIndex((head) => head.join() === button.dataset.at);
      button.setAttribute("aria-selected", side >= 0);
      button.style.outline = side < 0 ? "" : `2px ${side ? "dashed" : "solid"} var(--jp-content-font-color1,#1b1b1b)`;
      const [layer, head] = button.dataset.at.split(",").map(Number);
      button.setAttribute("aria-label", `layer ${layer + 1}, head ${head + 1}${side < 0 ? "" : side ? ", on the right" : ", on the left"}`);
      button.tabIndex = button.dataset.at === state.heads[state.side].join() ? 0 : -1;
    });
    pictures.forEach(fill);
  }

  function tile(canvas, weights) {
    const seen = visible();
    canvas.width = canvas.height = seen.length;
    const pen = canvas.getContext("2d");
    pen.fillStyle = roles.weight.colour;
    seen.forEach((from, y) => seen.forEach((to, x) => {
      pen.globalAlpha = 0.05 + 0.95 * Math.sqrt(weights[from][to]); // the root makes small weights visible
      pen.fillRect(x, y, 1, 1);
    }));
  }

  function fill({ title, said, lines }, side) {
    const [layer, head] = state.heads[side];
    const weights = tables[layer][head], seen = visible(), gap = 22, left = 130, right = 270;
    const y = (token) => 14 + gap * seen.indexOf(token);
    title.textContent = `${side ? "Right" : "Left"}: layer ${layer + 1}, head ${head + 1}`;
    const shares = data.patterns.map(({ name, pairs }) => [name, share(weights, pairs)]).filter(([, found]) => !Number.isNaN(found));
    shares.sort((one, other) => other[1] - one[1]);
    said.textContent = "On average: " + shares.map(([name, found]) => `${name} ${found.toFixed(2)}`).join(", ") + ".";
    lines.setAttribute("viewBox", `0 0 400 ${gap * seen.length + 8}`);
    const parts = [];
    for (const from of state.token >= 0 ? [state.token] : seen) for (const to of seen) {
      const weight = weights[from][to];
      if (weight >= 0.02) parts.push(svg("line", {
        x1: left + 8, y1: y(from), x2: right - 8, y2: y(to), stroke: roles.weight.colour,
        "stroke-width": 0.5 + 4 * weight, "stroke-opacity": Math.min(1, 0.1 + weight),
      }));
    }
    for (const token of seen) {
      const bold = token === state.token ? 700 : 400;
      const number = state.token >= 0 && weights[state.token][token] >= 0.01 ? ` ${weights[state.token][token].toFixed(2)}` : "";
      parts.push(text(left, y(token), data.tokens[token], { "text-anchor": "end", "font-weight": bold }));
      parts.push(text(right, y(token), data.tokens[token] + number));
      const target = svg("rect", { x: 0, y: y(token) - gap / 2, width: left + 6, height: gap, fill: "transparent" });
      target.onmouseenter = () => change({ token });
      parts.push(target);
    }
    lines.replaceChildren(...parts);
    const looked = (state.token >= 0 ? [state.token] : seen).map((from) => {
      const most = weights[from].indexOf(Math.max(...weights[from]));
      return `${data.tokens[from]} looks most at ${data.tokens[most]}, ${weights[from][most].toFixed(2)}`;
    });
    lines.setAttribute("aria-label", `${title.textContent}. ${looked.join("; ")}.`);
  }

  start();
}
