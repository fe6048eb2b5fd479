// The page "Type French": a sentence is translated word by word, and each English word shows where the model looked.

const EXAMPLES = [
  "Jane visite l'Afrique en septembre", "Paul n'aime plus la vieille voiture rouge", "Est-ce que Victor aime la voiture de Jane ?",
];

function typeFrench(place, translator) {
  const field = html("input", { type: "text", id: "french", lang: "fr", autocomplete: "off", spellcheck: "false", maxlength: "200" });
  const unknown = html("p", { class: "warn", role: "status" });
  const picture = html("div", { class: "alignment" });
  const said = html("p", { class: "said", "aria-live": "polite" });
  const head = chooseHead(translator, () => { if (steps.length) look(shown.at); });
  const searches = html("div", { class: "searches" });
  const known = html("p", { lang: "fr" }, translator.source.slice(4).filter((word) => /\p{L}/u.test(word)).sort((one, other) => one.localeCompare(other, "fr")).join(" · "));
  place.replaceChildren(
    html("label", { for: "french" }, "A French sentence"), field,
    html("div", { class: "row", role: "group", "aria-label": "Examples" }, ...EXAMPLES.map((sentence) =>
      html("button", { type: "button", lang: "fr", onclick: () => { field.value = sentence; begin(); } }, sentence))),
    unknown,
    html("h2", {}, "Word by word"),
    html("p", { class: "quiet" }, "Point at an English word, or go through them with the arrow keys. The lines show which French words the decoder looked at before it wrote that word."),
    picture, said,
    html("div", { class: "row" }, ...head.parts, shareButton()),
    html("h2", {}, "Greedy search beside a beam of 4"), searches,
    html("details", {}, html("summary", {}, `The ${translator.source.length - 4} French words and marks it knows`), known),
  );

  let timer = 0, stop = () => {}, steps = [], french = [], shown, lines;

  function begin() {
    clearTimeout(timer);
    stop();
    keepInAddress(field.value);
    const { tokens, ids } = translator.encode(field.value);
    const strange = tokens.filter((_, at) => ids[at] === UNKNOWN);
    french = [...tokens, "<eos>"];
    steps = [];
    searches.replaceChildren();
    const most = translator.max_len;
    unknown.textContent = ids.length > most ? `This sentence has ${ids.length} tokens, its end included. The model reads at most ${most}: shorten it.`
      : strange.length ? `The model was never shown ${strange.map((word) => `“${word.trim()}”`).join(", ")}, so it reads <unk> there and has to guess. The words that it knows are listed at the end.` : "";
    if (!tokens.length || ids.length > most) {
      picture.replaceChildren();
      said.textContent = tokens.length ? "" : "Type a sentence, or choose an example.";
      return;
    }
    draw();
    stop = oneByOne(translator.greedy(ids), (step) => { steps.push(step); add(step); }, () => compare(ids));
  }

  function draw() {
    lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    lines.setAttribute("aria-hidden", "true");
    lines.setAttribute("preserveAspectRatio", "none");
    picture.replaceChildren(
      html("ol", { class: "french", lang: "fr", "aria-label": "French words" }, ...french.map((word) => html("li", {}, html("span", {}, word), html("b", {})))),
      lines,
      html("ol", { class: "english", "aria-label": "English words" }),
    );
    shown = new Chosen(picture.lastChild, look);
  }

  function add({ id }) {
    picture.lastChild.append(html("li", { class: "appears" }, shown.add(translator.target[id])));
    look(steps.length - 1, false);
  }

  function look(number, tell = true) {
    shown.choose(number);
    const weights = head.weightsOf(steps[number]), rows = Math.max(french.length, steps.length);
    lines.setAttribute("viewBox", `0 0 100 ${rows}`);
    lines.style.height = `${rows * 2.4}rem`;
    lines.replaceChildren(...weights.map((weight, at) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("d", `M0 ${at + 0.5}C50 ${at + 0.5} 50 ${number + 0.5} 100 ${number + 0.5}`);
      line.style.strokeWidth = `${Math.max(0.3, 12 * weight)}px`;
      line.style.opacity = 0.15 + 0.85 * weight;
      return line;
    }));
    [...picture.firstChild.children].forEach((item, at) => {
      item.style.setProperty("--weight", weights[at]);
      item.lastChild.textContent = percent(weights[at]);
    });
    if (tell) said.textContent = toldLook(steps[number], weights, french, (word) => translator.target[word]);
  }

  function compare(ids) {
    look(Math.max(0, steps.length - 2)); // the last word before the end
    const words = steps.map(({ id }) => id);
    const mean = steps.reduce((sum, { id, probabilities }) => sum + Math.log(probabilities[id]), 0) / steps.length;
    const beam = translator.beam(ids), text = translator.decode(words), best = translator.decode(beam[0].words);
    const row = (name, sentence, score, chosen) => html("tr", chosen ? { class: "chosen" } : {}, html("th", { scope: "row" }, name), html("td", {}, sentence), html("td", { class: "number" }, score.toFixed(3).replace("-", "\u2212")));
    searches.replaceChildren(
      html("p", {}, text === best
        ? "Both searches say the same here, as they do with most sentences of this model. The other hypotheses of the beam are what it took into account."
        : "Here the two differ. Greedy search took the likeliest word each time; the beam found a sentence that is likelier as a whole."),
      html("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The sentences of both searches" }, html("table", {},
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "search"), html("th", { scope: "col" }, "sentence"), html("th", { scope: "col", class: "number" }, "mean log-probability"))),
        html("tbody", {}, row("greedy", text, mean, true), ...beam.map((each, at) => row(`beam ${at + 1}`, translator.decode(each.words), each.score, at === 0))))),
    );
  }

  field.oninput = () => { clearTimeout(timer); timer = setTimeout(begin, 250); };
  onhashchange = () => { if (fromAddress() !== undefined && fromAddress() !== field.value) { field.value = fromAddress(); begin(); } };
  field.value = fromAddress() ?? EXAMPLES[0];
  begin();
}

whenInAPage((place, about, bytes) => typeFrench(place, new Translator(about, bytes)));
