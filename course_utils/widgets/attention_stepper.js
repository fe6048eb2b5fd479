// One word's attention step by step, then all words at once. Every number comes from the kernel.

const ONE = [
  ["query", "asks with its query q."],
  ["keys and values", "Every word, also the one that asks, has a key k and a value v."],
  ["scores", "Score: the dot product q · k. It is large where query and key point the same way."],
  ["scaling", "The scores are divided by √d_k, so that they do not grow with the length of the vectors."],
  ["softmax", "The softmax turns the scores into weights: positive, and together exactly 1."],
  ["sum", "Each word's value v is multiplied by its weight α. Added up, they are the word's new vector z."],
];
const ALL = [
  ["Q and Kᵀ", "Q has a row for each word. K lies on its side, as Kᵀ: a column for each word."],
  ["scores", "Q Kᵀ: each row of Q with each column of Kᵀ, in one matrix product."],
  ["scaling", "The same numbers divided by √d_k."],
  ["softmax", "The softmax of each row: every row sums to 1."],
  ["output", "Weights times V: every word has its new vector."],
];

function draw(place, model, roles) {
  const state = { word: model.get("data").word, step: 0, all: model.get("data").all };
  const { words } = model.get("data");
  const wordButtons = choices("Word:", words, state.word, (word) => change({ word }));
  const views = choices("Show:", ["one word", "all words at once"], +state.all, (view) => change({ all: view === 1, step: 0 }));
  const back = html("button", { type: "button", onclick: () => change({ step: state.step - 1 }) }, "◀ Back");
  const next = html("button", { type: "button", onclick: () => change({ step: state.step + 1 }) }, "Next ▶");
  const count = html("span");
  const said = html("div", { class: "said", "aria-live": "polite" });
  const picture = svg("svg", { role: "img", tabindex: 0 });
  const help = html("div", { style: "opacity:.75;font-size:12.5px" },
    "Keys in the picture: ← → step, ↑ ↓ word, Home and End first and last step.");
  const box = wide(picture);
  let looked = 0; // where the current step happens, as a share of the picture's width
  place.append(views.element, wordButtons.element, html("div", { class: "row" }, back, next, count), said, box, help);
  picture.onkeydown = (event) => {
    const steps = (state.all ? ALL : ONE).length;
    const to = {
      ArrowRight: { step: state.step + 1 }, ArrowLeft: { step: state.step - 1 },
      ArrowUp: { word: (state.word + words.length - 1) % words.length }, ArrowDown: { word: (state.word + 1) % words.length },
      Home: { step: 0 }, End: { step: steps - 1 },
    }[event.key];
    if (!to) return;
    event.preventDefault();
    event.stopPropagation();
    change(to);
  };
  model.on("change:data", () => change({}));

  function change(to) {
    Object.assign(state, to);
    const steps = state.all ? ALL : ONE;
    state.step = Math.max(0, Math.min(steps.length - 1, state.step));
    const data = model.get("data");
    wordButtons.mark(state.word);
    views.mark(+state.all);
    back.disabled = state.step === 0;
    next.disabled = state.step === steps.length - 1;
    count.textContent = `Step ${state.step + 1} of ${steps.length}: ${steps[state.step][0]}`;
    const subject = !state.all && state.step === 0 ? `“${words[state.word]}” ` : "";
    said.textContent = subject + steps[state.step][1] + " " + details(data);
    picture.replaceChildren(...(state.all ? allWords(data) : oneWord(data)));
    picture.setAttribute("aria-label", said.textContent);
    box.scrollLeft = looked * picture.clientWidth - box.clientWidth / 2;
  }

  /** The numbers of this step in words. */
  function details(data) {
    const row = data.weights[state.word];
    const most = row.indexOf(Math.max(...row));
    const step = (state.all ? ALL : ONE)[state.step][0];
    if (step === "scores" && !state.all) {
      const top = data.scores[state.word].indexOf(Math.max(...data.scores[state.word]));
      const products = data.query[state.word].map((entry, at) => `${entry.toFixed(2)}·${data.key[top][at].toFixed(2)}`);
      return `For “${words[top]}”: ${products.join(" + ")} = ${data.scores[state.word][top].toFixed(2)}.`;
    }
    if (step === "scaling") return `Here d_k = ${data.query[0].length}, and √d_k = ${Math.sqrt(data.query[0].length).toFixed(2)}.`;
    if (step === "softmax" && !state.all) return `Most goes to “${words[most]}”: ${row[most].toFixed(2)}.`;
    return "";
  }

  function oneWord(data) {
    const at = state.word, step = state.step, rows = words.length;
    const cell = 46, top = 104, gap = 38;
    const keyX = 118, scoreX = keyX + cell * data.key[0].length + 46, weightX = scoreX + 150, valueX = weightX + 150;
    const width = valueX + cell * data.value[0].length + 20, height = top + gap * rows + 62;
    sized(picture, width, height);
    looked = [0, 0, scoreX, scoreX, weightX, valueX][step] / width;
    const shown = (from) => ({ class: step === from ? "appears" : "", visibility: step >= from ? "visible" : "hidden" });
    const parts = [
      shape(roles.query, 100, 30), text(88, 30, `${words[at]}: q`, { "text-anchor": "end", "font-weight": 700 }),
      strip(roles.query, keyX, 30, data.query[at], { cell }),
    ];
    const head = (x, role, words, from) => svg("g", shown(from), shape(role, x, 74, 5), text(x + 11, 74, words, { class: "quiet" }));
    parts.push(
      head(keyX + 4, roles.key, "keys k", 1),
      head(scoreX + 4, roles.key, step >= 3 ? "q · k / √d_k" : "q · k", 2),
      head(weightX + 4, roles.weight, "weights α", 4),
      head(valueX + 4, roles.value, step >= 5 ? "α · v" : "values v", 1),
    );
    const scores = step >= 3 ? data.scaled[at] : data.scores[at];
    const most = Math.max(1e-9, ...data.scores[at].map(Math.abs));
    const largest = Math.max(1e-9, ...data.value.flat().map(Math.abs));
    words.forEach((word, row) => {
      const y = top + gap * row;
      parts.push(text(88, y, word, { "text-anchor": "end", "font-weight": row === at ? 700 : 400 }));
      parts.push(svg("g", shown(1), strip(roles.key, keyX, y, data.key[row], { cell })));
      parts.push(svg("g", shown(2),
        bar(roles.key, scoreX, y, (80 * scores[row]) / most),
        text(scoreX + Math.max(0, (80 * scores[row]) / most) + 6, y, scores[row].toFixed(2))));
      parts.push(svg("g", shown(4),
        bar(roles.weight, weightX, y, 80 * data.weights[at][row]),
        text(weightX + 80 * data.weights[at][row] + 6, y, data.weights[at][row].toFixed(2))));
      const said = step >= 5 ? data.value[row].map((entry) => entry * data.weights[at][row]) : data.value[row];
      parts.push(svg("g", shown(step >= 5 ? 5 : 1), strip(roles.value, valueX, y, said, { cell, strength: (entry) => Math.abs(entry) / largest })));
    });
    const y = top + gap * rows + 22;
    parts.push(svg("g", shown(5),
      svg("line", { class: "line", x1: weightX, x2: width - 18, y1: y - 26, y2: y - 26 }),
      shape(roles.output, valueX - 14, y), text(valueX - 28, y, `${words[at]}: z = Σ α v`, { "text-anchor": "end", "font-weight": 700 }),
      strip(roles.output, valueX, y, data.output[at], { cell })));
    return parts;
  }

  function allWords(data) {
    const step = state.step, n = words.length, small = 36, rowHeight = 26, top = 78;
    const parts = [];
    let x = 96;
    /** A matrix; `columns`: it has a column for each word, and `sideways`: no row for each. */
    const matrix = (name, role, rows, lit, from, { columns = false, sideways = false } = {}) => {
      const group = svg("g", { class: lit ? "appears" : "", opacity: step >= from ? (lit ? 1 : 0.55) : 0.08 });
      const most = Math.max(1e-9, ...rows.flat().map(Math.abs));
      group.append(shape(role, x + 8, 22, 6), text(x + 20, 22, name, { "font-weight": lit ? 700 : 400 }));
      rows.forEach((row, place) =>
        group.append(strip(role, x, top + place * rowHeight, row, {
          cell: small, height: 24, digits: 1 + (small > 34), strength: (entry) => Math.abs(entry) / most,
        })));
      if (lit) group.append(svg("rect", { class: "line", x: x - 3, y: top - 15, width: small * rows[0].length + 4, height: rowHeight * rows.length + 4, rx: 4, "stroke-width": 2 }));
      if (columns) words.forEach((word, place) => group.append(
        text(x + place * small + small / 2, 48, word.length > 5 ? word.slice(0, 4) + "…" : word, { "text-anchor": "middle", style: "font-size:11px" })));
      if (!sideways) group.append(svg("rect", { class: "line", x: x - 1, y: top + state.word * rowHeight - 14, width: small * rows[0].length, height: 28, rx: 4, "stroke-dasharray": "4 3" }));
      parts.push(group);
      x += small * rows[0].length + 26;
    };
    words.forEach((word, place) => parts.push(text(88, top + place * rowHeight, word, { "text-anchor": "end", "font-weight": place === state.word ? 700 : 400 })));
    const middle = [["Q Kᵀ", roles.key, data.scores], ["Q Kᵀ / √d_k", roles.key, data.scaled], ["weights", roles.weight, data.weights]];
    const which = Math.max(0, Math.min(2, step - 1));
    matrix("Q", roles.query, data.query, step <= 1, 0);
    matrix("Kᵀ", roles.key, data.key[0].map((_, feature) => data.key.map((row) => row[feature])), step <= 1, 0, { columns: true, sideways: true });
    const scores = x;
    matrix(...middle[which], step >= 1, 1, { columns: true });
    matrix("V", roles.value, data.value, step === 4, 4);
    matrix("output", roles.output, data.output, step === 4, 4);
    sized(picture, x, top + rowHeight * Math.max(n, data.key[0].length));
    looked = [0, scores, scores, scores, x][step] / x;
    return parts;
  }

  change({});
}
