// A text field, and below it source and translation with lines as strong as the weights. One word can be singled out.

function draw(place, model, roles) {
  const examples = model.get("data").examples;
  let chosen = -1, shown = model.get("data").shown;

  const field = html("input", { type: "text", value: shown.text, "aria-label": "French sentence", style: "flex:1;min-width:160px" });
  const go = html("button", { type: "submit" }, "Translate");
  const form = html("form", { class: "row" }, field, go);
  form.onsubmit = (event) => { event.preventDefault(); translate(field.value); };
  const offered = html("div", { class: "row" }, html("span", {}, "Examples:"));
  for (const example of examples) {
    offered.append(html("button", { type: "button", onclick: () => { field.value = example.text; show(example); } }, example.text));
  }
  const said = html("div", { class: "said", "aria-live": "polite" });
  const picture = svg("svg", {});
  place.append(form, offered, wide(picture), said);

  model.on("change:data", () => show(model.get("data").shown));
  model.on("change:error", () => { if (model.get("error")) said.textContent = model.get("error"); });

  function translate(text) {
    const known = [...examples, shown].find((each) => each.text === text);
    if (known) return show(known);
    if (ask(model, { text })) said.textContent = "Translating …";
    else said.textContent = "Only a running kernel can translate another sentence: run this cell again. The examples work without one.";
  }

  function show(next) {
    shown = next;
    chosen = -1;
    const above = places(shown.source), below = places(shown.target);
    const width = Math.max(above.width, below.width, 420), top = 34, bottom = 176;
    sized(picture, width, bottom + 34);
    picture.style.maxWidth = `${Math.min(880, width)}px`;
    const lines = shown.weights.map((row, t) => row.map((weight, s) => svg("line", {
      class: "moves", x1: above.middles[s], y1: top + 14, x2: below.middles[t], y2: bottom - 15,
      stroke: roles.weight.colour, "stroke-width": Math.max(0.4, 7 * weight), "stroke-linecap": "round",
    })));
    const numbers = shown.source.map((_, s) => text(above.middles[s], top - 18, "", { "text-anchor": "middle", style: "font-size:12px" }));
    const sources = shown.source.map((word, s) => text(above.middles[s], top, word, { "text-anchor": "middle" }));
    const targets = shown.target.map((word, t) => {
      const group = svg("g", { tabindex: 0, role: "button", style: "cursor:pointer", "aria-label": `${word} looked at ${told(t)}` },
        svg("rect", { class: "line", x: below.middles[t] - below.widths[t] / 2, y: bottom - 13, width: below.widths[t], height: 26, rx: 4 }),
        text(below.middles[t], bottom, word, { "text-anchor": "middle" }));
      group.onmouseenter = group.onfocus = () => mark(t);
      group.onmouseleave = group.onblur = () => mark(-1);
      return group;
    });
    picture.replaceChildren(...lines.flat(), ...numbers, ...sources, ...targets);

    function mark(target) {
      chosen = target;
      lines.forEach((row, t) => row.forEach((line, s) => {
        const weight = shown.weights[t][s];
        line.setAttribute("stroke-opacity", chosen < 0 ? 0.85 * weight : t === chosen ? Math.max(0.15, weight) : 0.03);
      }));
      sources.forEach((word, s) => {
        const weight = chosen < 0 ? 0 : shown.weights[chosen][s];
        word.style.fontWeight = weight >= 0.3 ? 700 : 400;
        numbers[s].textContent = weight >= 0.05 ? weight.toFixed(2) : "";
      });
      said.textContent = chosen < 0 ? `${shown.text} → ${shown.target.join(" ")}` : `“${shown.target[chosen]}” looked at ${told(chosen)}.`;
    }

    mark(-1);
  }

  /** The words that a target word looked at, the strongest first. */
  function told(target) {
    return shown.weights[target].map((weight, s) => [weight, shown.source[s]]).filter(([weight]) => weight >= 0.05)
      .sort((a, b) => b[0] - a[0]).slice(0, 4).map(([weight, word]) => `${word} (${weight.toFixed(2)})`).join(", ");
  }

  function places(words) {
    const widths = words.map((word) => 8.2 * word.length + 14);
    const middles = [];
    let x = 8;
    for (const width of widths) {
      middles.push(x + width / 2);
      x += width + 10;
    }
    return { widths, middles, width: x };
  }

  show(shown);
}
