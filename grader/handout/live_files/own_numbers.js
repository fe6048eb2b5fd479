// The page "Attention on your own numbers": what one types are words with their queries, keys and values; the stepper computes the rest.

/** Attention of all words: what the stepper draws. Rows of query and key have the same length. */
function attentionOf({ words, query, key, value }) {
  const scores = query.map((q) => key.map((k) => q.reduce((sum, entry, at) => sum + entry * k[at], 0)));
  const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(query[0].length)));
  const weights = scaled.map((row) => softmax(row));
  const output = weights.map((row) => value[0].map((_, at) => row.reduce((sum, weight, word) => sum + weight * value[word][at], 0)));
  return { words, word: 0, all: false, query, key, value, scores, scaled, weights, output };
}

const ROWS = ["query", "key", "value"], MOST_WORDS = 6, LARGEST = 99;

/** "Jane,1,0,1,0,2,1/…": a word and its numbers; undefined if it is none. */
function fromText(text) {
  const rows = text.split("/").map((row) => row.split(","));
  const fits = rows.length >= 2 && rows.length <= MOST_WORDS && rows.every((row) => row.length === 7 && row[0].trim()
    && row.slice(1).every((entry) => entry.trim() && Math.abs(Number(entry)) <= LARGEST));
  if (!fits) return undefined;
  const part = (from) => rows.map((row) => row.slice(from, from + 2).map(Number));
  return { words: rows.map((row) => row[0].trim().slice(0, 12)), query: part(1), key: part(3), value: part(5) };
}

const asText = ({ words, query, key, value }) => words.map((word, at) => [word.replaceAll(/[,/]/g, ""), ...query[at], ...key[at], ...value[at]].join(",")).join("/");

function ownNumbers(place, about) {
  const cards = html("div", { class: "numbers-of-words" }), wrong = html("p", { class: "warn", role: "status" }), steps = html("div");
  const more = html("button", { type: "button", onclick: add }, "Add a word");
  const reset = html("button", { type: "button", onclick: () => { now = structuredClone(about.start); form(); show(); } }, "Start again");
  place.replaceChildren(
    html("p", { class: "quiet" }, "Change a word or a number: the picture below follows. Each word has a query, a key and a value of two numbers."),
    cards, html("div", { class: "row" }, more, reset, shareButton()), wrong, steps);
  let now = structuredClone(about.start);

  function form() {
    cards.replaceChildren(...now.words.map((word, at) => {
      const name = html("input", { type: "text", value: word, maxlength: 12, "aria-label": `word ${at + 1}`, oninput: () => { now.words[at] = name.value.trim() || "?"; show(); } });
      const numbers = ROWS.map((row) => html("div", { class: "numbers" }, html("span", {}, row), ...[0, 1].map((entry) => {
        const field = html("input", { type: "number", step: "any", min: -LARGEST, max: LARGEST, value: now[row][at][entry], "aria-label": `${row} of word ${at + 1}, number ${entry + 1}` });
        field.oninput = () => {
          const given = field.value === "" ? NaN : Number(field.value), fits = Math.abs(given) <= LARGEST;
          field.setAttribute("aria-invalid", !fits);
          wrong.textContent = fits ? "" : `Each number lies between −${LARGEST} and ${LARGEST}. The picture waits for one.`;
          if (fits) { now[row][at][entry] = given; show(); }
        };
        return field;
      })));
      const remove = html("button", { type: "button", "aria-label": `Remove word ${at + 1}`, onclick: () => drop(at) }, "Remove");
      remove.disabled = now.words.length <= 2;
      return html("fieldset", {}, html("legend", {}, `Word ${at + 1}`), name, ...numbers, remove);
    }));
    more.disabled = now.words.length >= MOST_WORDS;
  }

  function drop(at) {
    now.words.splice(at, 1);
    for (const row of ROWS) now[row].splice(at, 1);
    form();
    show();
    cards.children[Math.min(at, now.words.length - 1)].querySelector("input").focus();
  }

  function add() {
    now.words.push("new");
    for (const row of ROWS) now[row].push([1, 0]);
    form();
    show();
    cards.lastChild.querySelector("input").focus();
  }

  /** The stepper takes its words once, so it is drawn anew; it stays at its step. */
  function show() {
    const passed = Number(/Step (\d+)/.exec(steps.textContent)?.[1] ?? 1) - 1;
    steps.replaceChildren();
    widgetIn(steps, about, attentionOf(now));
    const next = [...steps.querySelectorAll("button")].find((button) => button.textContent.startsWith("Next"));
    for (let step = 0; step < passed; step++) next.click();
    keepInAddress(asText(now));
  }

  function restore() {
    now = fromText(fromAddress() ?? "") ?? structuredClone(about.start);
    form();
    show();
  }

  onhashchange = () => { if (fromAddress() !== asText(now)) restore(); };
  restore();
}

whenInAPage((place, about) => ownNumbers(place, about));

export { asText, attentionOf, fromText };
