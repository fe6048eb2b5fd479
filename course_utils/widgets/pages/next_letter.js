// The page "What comes next?": five likeliest letters, before and after temperature, top-k and nucleus, and names drawn from them.

function nextLetter(place, speller) {
  const shown = 5, longest = 15;
  const language = html("select", { id: "language" }, ...speller.languages.map((name) => html("option", {}, name)));
  const field = html("input", { type: "text", id: "letters", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: longest });
  const unknown = html("p", { class: "warn", role: "status" });
  const rows = html("tbody");
  const says = html("p", { class: "said", "aria-live": "polite" });
  const names = html("ol", { class: "names", "aria-label": "Names drawn" });
  const sliders = {
    temperature: slider("Temperature", "Below 1 likely letters get likelier, above 1 all become more equal.", 0.1, 2, 0.05, 1, (value) => value.toFixed(2)),
    topK: slider("Top-k", "Only the k likeliest letters are kept.", 1, speller.tokens.length, 1, speller.tokens.length, (value) => (value === speller.tokens.length ? "all" : String(value))),
    topP: slider("Nucleus", "Only the smallest set of likeliest letters with at least this probability is kept.", 0.05, 1, 0.05, 1, (value) => (value === 1 ? "all" : value.toFixed(2))),
  };
  place.replaceChildren(
    html("div", { class: "fields" },
      html("div", {}, html("label", { for: "language" }, "Language"), language),
      html("div", {}, html("label", { for: "letters" }, "The name so far"), field)),
    unknown,
    html("div", { class: "sliders" }, ...Object.values(sliders).map(({ element }) => element)),
    html("h2", {}, "The five likeliest"),
    html("table", { class: "shares" },
      html("thead", {}, html("tr", {}, ...["next", "the model says", "after your settings"].map((name) => html("th", { scope: "col" }, name)))), rows),
    says,
    html("div", { class: "row" },
      html("button", { type: "button", onclick: drawOne }, "Draw a letter"),
      html("button", { type: "button", onclick: drawNames }, "Draw ten names"),
      html("button", { type: "button", onclick: reset }, "Reset the settings"), shareButton()),
    names,
  );
  const lines = Array.from({ length: shown + 1 }, () => {
    const name = html("th", { scope: "row" }), before = bar("before"), after = bar("after");
    rows.append(html("tr", {}, name, before.cell, after.cell));
    return { name, before, after };
  });
  let timer = 0, now;

  function slider(name, hint, min, max, step, start, written) {
    const id = name.toLowerCase(), output = html("output", { for: id });
    const input = html("input", { type: "range", id, min, max, step, value: start, "aria-describedby": `${id}-hint` });
    const tell = () => { output.textContent = written(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); };
    input.oninput = () => { tell(); show(); };
    tell();
    return {
      element: html("div", {}, html("label", { for: id }, name), " ", output, input, html("p", { class: "quiet", id: `${id}-hint` }, hint)),
      get: () => Number(input.value),
      set: (value) => { input.value = value; tell(); },
      start,
    };
  }

  function bar(kind) {
    const fill = html("span", { class: `fill ${kind}` }), number = html("span", { class: "number" });
    return { cell: html("td", {}, html("span", { class: "bar", "aria-hidden": "true" }, fill), number), set: (share) => { fill.style.width = `${100 * share}%`; number.textContent = percent(share); } };
  }

  const settings = () => Object.fromEntries(Object.entries(sliders).map(([name, { get }]) => [name, get()]));
  const spelled = (id) => (id === speller.end ? "the end" : speller.tokens[id]);
  /** Among how many equally likely letters one would be as uncertain. */
  const choicesAmong = (shares) => Math.exp(-shares.reduce((sum, share) => sum + (share ? share * Math.log(share) : 0), 0));

  function compute() {
    clearTimeout(timer);
    const letters = [...field.value.normalize("NFC").toLowerCase()];
    const strange = letters.filter((letter) => !speller.ids.has(letter));
    unknown.textContent = strange.length ? `The model knows no ${strange.map((letter) => `“${letter}”`).join(", ")}. Such letters are left out.` : "";
    now = speller.after(language.value, letters.filter((letter) => speller.ids.has(letter)));
    show();
  }

  function show() {
    const before = softmax(now.logits), after = sampling(now.logits, settings()), top = largest(before, shown);
    lines.forEach(({ name, before: one, after: other }, at) => {
      const total = (shares) => (at < shown ? shares[top[at]] : Math.max(0, 1 - top.reduce((sum, id) => sum + shares[id], 0)));
      name.textContent = at < shown ? spelled(top[at]) : "all others";
      one.set(total(before));
      other.set(total(after));
    });
    const kept = after.filter((share) => share > 0).length;
    says.textContent = `${kept} of ${speller.tokens.length} tokens can be drawn. The model is as uncertain as among ${choicesAmong(before).toFixed(1)} equally likely letters, after your settings as among ${choicesAmong(after).toFixed(1)}.`;
    keepInAddress([language.value, field.value, ...Object.values(settings())].join("/"));
  }

  function drawOne() {
    const id = drawn(sampling(now.logits, settings()), Math.random());
    if (id === speller.end || [...field.value].length >= longest) {
      names.prepend(html("li", { class: "appears" }, field.value || "(nothing)"));
      field.value = "";
    } else if (!speller.languages.includes(speller.tokens[id])) field.value += speller.tokens[id];
    compute();
  }

  function drawNames() {
    names.replaceChildren();
    for (let count = 0; count < 10; count++) {
      let { logits, state } = speller.after(language.value, []), name = "";
      while ([...name].length < longest) {
        const id = drawn(sampling(logits, settings()), Math.random());
        if (id === speller.end) break;
        name += speller.tokens[id];
        ({ logits, state } = speller.step(state, id));
      }
      const item = html("li", { class: "appears" }, name);
      item.style.animationDelay = `${count * 0.05}s`;
      names.append(item);
    }
  }

  function reset() {
    for (const each of Object.values(sliders)) each.set(each.start);
    show();
  }

  function restore() {
    const [name, letters, ...values] = (fromAddress() ?? "Italian/ma").split("/");
    if (!speller.languages.includes(name)) return restoreTo("Italian", "ma", []);
    restoreTo(name, letters ?? "", values);
  }

  function restoreTo(name, letters, values) {
    language.value = name;
    field.value = letters.slice(0, longest);
    Object.values(sliders).forEach((each, at) => each.set(values[at] && Number.isFinite(Number(values[at])) ? Number(values[at]) : each.start));
    compute();
  }

  language.onchange = compute;
  field.oninput = () => { clearTimeout(timer); timer = setTimeout(compute, 100); };
  onhashchange = restore;
  restore();
}

whenInAPage((place, about, bytes) => nextLetter(place, new Speller(about, bytes)));
