// The decoding loop: what is written is read, every word of the vocabulary gets a number, the softmax makes shares, one word is chosen.

function draw(place, model, roles) {
  const { sentences } = model.get("data");
  const WIDTH = 570, LEFT = 8, CHAR = 8.2, STAGES = ["1 read", "2 logits", "3 softmax", "4 choose"];
  const LINES = { source: 40, written: 96, decoder: 132, logits: 246, shares: 366, list: 396 };
  let sentence = 0, step = 0, stage = 0;

  const picture = svg("svg", { role: "img" });
  sized(picture, WIDTH, LINES.list + 146);
  picture.style.maxWidth = `${Math.round(1.3 * WIDTH)}px`;
  const said = html("div", { class: "said", "aria-live": "polite" });
  const which = choices("sentence", sentences.map((each) => each.source.slice(0, -1).join(" ")), 0, (to) => { sentence = to; step = stage = 0; words(); show(); });
  const words_ = html("div");
  const stages = choices("stage", STAGES, 0, (to) => { stage = to; show(); });
  const on = html("button", { type: "button", onclick: () => next() }, "next ▸");
  let turns;
  place.append(which.element, words_, stages.element, html("div", { class: "row" }, on), said, wide(picture));

  const steps = () => sentences[sentence].steps;
  const now = () => steps()[step];

  /** The group of buttons for the turns of the loop: as many as the translation has words. */
  function words() {
    turns = choices("word", steps().map((_, number) => String(number + 1)), step, (to) => { step = to; stage = 0; show(); });
    words_.replaceChildren(turns.element);
  }

  function next() {
    if (stage < STAGES.length - 1) stage += 1;
    else if (step < steps().length - 1) { step += 1; stage = 0; }
    else { step = stage = 0; }
    show();
  }

  /** Words in boxes, one after the other; returns the group, where the next one would begin, and the middle of the last one. */
  function boxes(names, y, { looks, fresh } = {}) {
    const group = svg("g");
    let x = LEFT + 66, last = 0;
    names.forEach((name, number) => {
      const size = Math.max(38, name.length * CHAR + 14);
      const role = looks ? roles.weight : roles.output;
      group.append(svg("rect", { x, y: y - 13, width: size, height: 26, rx: 4, fill: role.colour, "fill-opacity": looks ? 0.04 + 0.5 * looks[number] : 0.12,
        stroke: role.colour, "stroke-width": fresh && number === names.length - 1 ? 3 : 1 }),
      text(x + size / 2, y, name, { "text-anchor": "middle" }));
      if (looks) group.append(text(x + size / 2, y - 24, looks[number].toFixed(2), { "text-anchor": "middle", class: "quiet", style: "font-size:12px" }));
      last = x + size / 2;
      x += size + 5;
    });
    return { group, end: x, last };
  }

  /** A thin bar for each number, from a line at zero. */
  function spectrum(numbers, zero, high, best, label) {
    const most = Math.max(...numbers.map(Math.abs)), room = WIDTH - 2 * LEFT, thin = room / numbers.length;
    const group = svg("g", {}, svg("line", { x1: LEFT, x2: LEFT + room, y1: zero, y2: zero, class: "line" }));
    numbers.forEach((number, each) => {
      const tall = (high * number) / most;
      group.append(svg("rect", { x: LEFT + each * thin, y: zero - Math.max(tall, 0), width: thin * 0.8, height: Math.abs(tall),
        fill: each === best ? roles.output.colour : "currentColor", "fill-opacity": each === best ? 1 : 0.55 }));
    });
    const x = LEFT + (best + 0.5) * thin, end = x > WIDTH - 160;
    group.append(text(x + (end ? -8 : 8), zero - high + 6, label, { "text-anchor": end ? "end" : "start", style: "font-weight:700" }));
    return group;
  }

  function show() {
    which.mark(sentence); turns.mark(step); stages.mark(stage);
    const { written, looks, logits, best, likeliest } = now();
    const [word, logit, share] = likeliest[0];
    const powers = logits.map((each) => Math.exp(each - Math.max(...logits))), sum = powers.reduce((a, b) => a + b, 0);
    said.textContent = [
      `The decoder reads the ${written.length === 1 ? "mark <bos>" : `${written.length} words so far`}, and looks at the French words in these shares.`,
      `Out come ${logits.length} logits, one for each word that it knows. The largest is ${logit.toFixed(1)}, for ${word}.`,
      `The softmax turns them into shares that sum to 1. ${word} gets ${share.toFixed(2)}; all others together ${(1 - share).toFixed(2)}.`,
      word === "<eos>" ? "The likeliest is <eos>: the sentence is complete, and the loop ends." : `The likeliest word, ${word}, is appended. With it the loop begins again.`,
    ][stage];
    picture.setAttribute("aria-label", said.textContent);

    const row = boxes(written, LINES.written, { fresh: stage === 0 && step > 0 });
    const parts = [
      text(LEFT, LINES.source, "memory"), boxes(sentences[sentence].source, LINES.source, { looks }).group,
      text(LEFT, LINES.written, "written"), row.group,
      svg("line", { x1: row.last, x2: row.last, y1: LINES.written + 14, y2: LINES.decoder, class: "line" }),
      svg("rect", { x: LEFT, y: LINES.decoder, width: WIDTH - 2 * LEFT, height: 26, rx: 5, class: "line" }),
      text(WIDTH / 2, LINES.decoder + 13, "decoder", { "text-anchor": "middle" }),
    ];
    if (stage > 0) parts.push(comes(1, text(LEFT, LINES.logits - 58, `${logits.length} logits`, { class: "quiet" }), spectrum(logits, LINES.logits, 48, best, `${word} ${logit.toFixed(1)}`)));
    if (stage > 1) {
      parts.push(comes(2, text(LEFT, LINES.shares - 62, `${logits.length} shares`, { class: "quiet" }), spectrum(powers.map((each) => each / sum), LINES.shares, 56, best, `${word} ${share.toFixed(2)}`)));
      parts.push(comes(2, ...likeliest.flatMap(([name, , part], each) => {
        const x = LEFT + (each < 5 ? 0 : 290), y = LINES.list + 26 * (each % 5) + 14;
        return [text(x, y, name, each ? {} : { style: "font-weight:700" }), bar(roles.output, x + 96, y, Math.max(1, 110 * part)), text(x + 104 + 110 * part, y, part.toFixed(4))];
      })));
    }
    if (stage > 2) {
      const y = LINES.written - (LINES.list + 14), from = `--from-x:${LEFT - row.end}px;--from-y:${-y}px`;
      const size = Math.max(38, word.length * CHAR + 14);
      parts.push(svg("g", { class: "travels", style: from }, svg("rect", { x: row.end, y: LINES.written - 13, width: size, height: 26, rx: 4, fill: roles.output.colour,
        "fill-opacity": 0.35, stroke: roles.output.colour, "stroke-width": 3 }), text(row.end + size / 2, LINES.written, word, { "text-anchor": "middle" })));
    }
    picture.replaceChildren(...parts);
  }

  /** What has come with this stage appears; what was there before stays. */
  const comes = (since, ...children) => svg("g", stage === since ? { class: "appears" } : {}, ...children);

  words();
  show();
}
