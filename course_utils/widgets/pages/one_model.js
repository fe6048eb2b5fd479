// The page "One model, seven tasks": a prefix and a text are read, an answer is written piece by piece, and each piece shows where the model looked.

const MOST_PIECES = 100; // a little more than training had, and quick on a phone

const small = (text) => text.toLowerCase().replace(/\s+/gu, "");
const quoted = (words) => words.map((word) => `“${word}”`).join(", ");

/** A text's task (undefined if its prefix is none of the known ones), the prefix as it was typed, and the rest. */
function prefixOf(text, tasks) {
  for (const task of tasks) {
    if (`${text} `.startsWith(task.prefix)) return { task, typed: task.prefix.trim(), rest: text.slice(task.prefix.length) };
  }
  const [, typed, rest] = /^([^:]{0,40}\p{L}[^:]{0,40}:)(.*)$/u.exec(text) ?? [];
  if (typed === undefined) return { rest: text };
  const near = tasks.find(({ prefix }) => small(prefix) === small(typed));
  return near || /^(\s|$)/u.test(rest) ? { near, typed, rest: rest.trim() } : { rest: text };
}

/** What to know about a text before one believes the answer, in sentences; none if it is like the texts of the training. */
function cautions(text, { tasks, longest_text: longest }) {
  const { task, near, typed, rest } = prefixOf(text, tasks);
  if (!rest) return ["Type a text behind the prefix, or choose an example."];
  const said = [];
  if (near) said.push(`In training this prefix was always written “${near.prefix.trim()}”, with a space behind it. Choose it above to have it so.`);
  else if (typed && !task) said.push(`The model was never shown the prefix “${typed}”. It knows the seven above and reads yours like other words, so do not expect an eighth task.`);
  const known = new Set(task?.words), strange = task?.closed ? wordTokens(rest).filter((word) => /[\p{L}\p{N}]/u.test(word) && !known.has(word)) : [];
  if (strange.length) said.push(`No training text of this task has ${quoted([...new Set(strange)].slice(0, 8))}. The model answers all the same, so it may well be wrong.`);
  if (task && !task.capitals && (/\p{Lu}/u.test(rest) || /\S[.,!?;:](\s|$)/u.test(rest))) said.push("All training texts of this task are in small letters, with a space before each full stop and comma. Yours is written in another way.");
  const count = text.split(/\s+/u).length;
  if (count > longest) said.push(`This text has ${count} words. The longest in training had ${longest}.`);
  return said;
}

function oneModel(place, model, about) {
  const { tasks } = about, { tokens } = model;
  const field = html("textarea", { id: "text", rows: "2", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "400" });
  const prefixes = [...tasks.map(({ prefix }) => prefix), ""].map((prefix) => ({ prefix, button: html("button", { type: "button", onclick: () => put(prefix + prefixOf(text(), tasks).rest) }, prefix.trim() || "no prefix") }));
  const does = html("p", { class: "quiet" });
  const examples = html("div", { class: "row", role: "group", "aria-label": "Examples" });
  const warned = html("p", { class: "warn", role: "status" });
  const answer = html("p", { class: "answer", "aria-live": "polite" });
  const read = html("ol", { class: "pieces", "aria-label": "What it reads" }), written = html("ol", { class: "pieces", "aria-label": "What it writes" });
  const said = html("p", { class: "said", "aria-live": "polite" });
  const head = chooseHead(model, () => { if (steps.length) look(shown.at); });
  const shown = new Chosen(written, look);
  const rows = html("tbody");
  const header = (...names) => html("thead", {}, html("tr", {}, ...names.map((name) => html("th", { scope: "col" }, name))));
  const number = (value) => html("td", { class: "number" }, String(value));
  place.replaceChildren(
    html("label", { for: "text" }, "A prefix and a text"), field,
    html("div", { class: "row", role: "group", "aria-label": "Prefixes" }, ...prefixes.map(({ button }) => button)),
    does, examples, warned,
    html("h2", {}, "The answer, piece by piece"),
    answer,
    html("p", { class: "quiet" }, "The model reads and writes pieces of words. Point at a piece of the answer, or go through them with the arrow keys: the fuller a piece of your text is coloured, the more the decoder looked at it before it wrote this one. The numbers are percentages; those below 5 are left out."),
    html("div", { class: "read" }, html("span", {}, "reads"), read, html("span", {}, "writes"), written), said,
    html("div", { class: "row" }, ...head.parts, shareButton()),
    html("h2", {}, "The same text under every prefix"),
    html("table", { class: "answers" }, header("prefix", "answer"), rows),
    html("h2", {}, "What it cannot do"),
    html("ul", {}, ...about.limits.map((limit) => html("li", {}, limit))),
    html("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "How often each task was right" }, html("table", { class: "counts" },
      header("right answers", "its prefix, of 300", "no prefix, of 100", "another prefix, of 100"),
      html("tbody", {}, ...tasks.map((task) => html("tr", {}, html("th", { scope: "row" }, task.prefix.trim()), number(task.right), number(task.bare), number(task.other)))))),
  );

  let timer = 0, stop = () => {}, steps = [], pieces = [];

  const text = () => field.value.replace(/\s*\n\s*/gu, " ").trim();
  const named = (id) => (id === model.last ? "<end>" : id === model.first ? "<pad>" : tokens.readable(id).trim() || "␣");
  /** A piece; a space in front of it becomes a gap. */
  const piece = (id, ...inside) => html("li", { class: id >= model.first || tokens.readable(id).startsWith(" ") ? "begins" : "" }, ...inside);

  function put(typed) {
    field.value = typed;
    begin();
    field.focus();
  }

  function begin() {
    clearTimeout(timer);
    stop();
    const typed = text(), { task, typed: prefix, rest } = prefixOf(typed, tasks);
    keepInAddress(typed);
    for (const each of prefixes) each.button.setAttribute("aria-pressed", each.prefix ? each.prefix === task?.prefix : !prefix);
    does.textContent = task ? `With this prefix it ${task.does}. It was trained on ${task.trained}.` : prefix ? "" : "Without a prefix, the text alone has to tell which task is meant.";
    examples.replaceChildren(...(task ?? tasks[0]).examples.map((example) => html("button", { type: "button", onclick: () => put((task?.prefix ?? "") + example) }, example)));
    warned.textContent = cautions(typed, about).join(" ");
    for (const list of [read, written, rows]) list.replaceChildren();
    steps = [];
    shown.buttons = [];
    answer.textContent = said.textContent = "";
    if (!rest) return;
    const ids = tokens.encode(typed), inFront = prefix ? tokens.encode(prefix).length : 0;
    if (ids.length > MOST_PIECES) {
      warned.textContent = `This text has ${ids.length} pieces, and this page reads at most ${MOST_PIECES}: shorten it.`;
      return;
    }
    pieces = ids.map(named);
    read.replaceChildren(...ids.map((id, at) => piece(id, html("span", { class: at < inFront ? "chip prefix" : "chip" }, pieces[at]), html("small"))));
    answer.setAttribute("aria-busy", "true");
    stop = oneByOne(model.greedy(ids), add, () => { done(); stop = oneByOne(everyPrefix(rest), (row) => rows.append(row), () => {}); });
  }

  function add(step) {
    steps.push(step);
    const item = piece(step.id, shown.add(named(step.id)));
    item.classList.add("appears");
    written.append(item);
    answer.textContent = tokens.decode(steps.map(({ id }) => id)) || "(nothing)";
    look(steps.length - 1, false);
  }

  function look(at, tell = true) {
    shown.choose(at);
    const weights = head.weightsOf(steps[at]);
    [...read.children].forEach((item, place_) => {
      item.firstChild.style.setProperty("--tint", weights[place_]);
      item.lastChild.textContent = weights[place_] >= 0.05 ? Math.round(100 * weights[place_]) : "";
    });
    if (tell) said.textContent = toldLook(steps[at], weights, pieces, named);
  }

  function done() {
    if (steps.length === model.longest) answer.textContent += " … (stopped here)";
    answer.setAttribute("aria-busy", "false");
    look(Math.max(0, steps.length - 2)); // the last piece before the end
  }

  function* everyPrefix(rest) {
    for (const { prefix, button } of prefixes) {
      const chosen = button.getAttribute("aria-pressed") === "true";
      yield html("tr", chosen ? { class: "chosen" } : {}, html("th", { scope: "row" }, prefix.trim() || "no prefix"), html("td", {}, tokens.decode(model.write(prefix + rest)) || "(nothing)"));
    }
  }

  function restore() {
    field.value = fromAddress() ?? tasks[0].prefix + tasks[0].examples[0];
    begin();
  }

  field.oninput = () => { clearTimeout(timer); timer = setTimeout(begin, 250); };
  onhashchange = () => { if (fromAddress() !== text()) restore(); };
  restore();
}

export { cautions, prefixOf };

whenInAPage((place, about, bytes) => oneModel(place, new TextToText(about, bytes), about));
