// The page "The decoding loop": how a translator writes, one word at a time, scene by scene. The numbers are the shipped translator's.

function loopStory(place, about) {
  const { sentences, known } = about;
  const choose = html("select", { id: "sentence", lang: "fr" }, ...sentences.map(({ text }, at) => html("option", { value: at }, text)));
  const box = html("div");
  place.replaceChildren(html("div", { class: "row" }, html("label", { for: "sentence" }, "Translate"), choose, shareButton()), box);
  let told, scene = 0;

  const chips = (name, words, lang, shares = []) => html("div", { class: "chips", lang }, html("span", { class: "name", lang: "en" }, name), ...words.map((word, at) => {
    const chip = html("span", { class: "chip" }, word);
    chip.style.setProperty("--tint", shares[at] ?? 0);
    return chip;
  }));

  function begin(number) {
    const { source, steps } = sentences[choose.value];
    const words = steps.map(({ word }) => word);
    const scenes = [
      { title: "The encoder reads once", words: [`The French sentence becomes ${source.length} vectors, the end mark <eos> included. They stay as they are until the translation is done.`] },
      ...steps.map(({ word, looks, likeliest }, at) => {
        const look = looks.reduce((best, share, place_) => (share > looks[best] ? place_ : best), 0);
        const first = at === 0 ? ["The decoder begins with one token, the mark <bos>."] : [`What it has written goes in again: ${["<bos>", ...words.slice(0, at)].join(" ")}.`];
        const last = word === "<eos>" ? "It is the end mark, so the loop ends." : "It is written down, and the loop begins again.";
        return { title: at === 0 ? "The first word" : `Once more: “${word}”`, words: [...first,
          `It looks at the French words, here most at “${source[look]}”, and gives each of its ${known} English words a probability. The likeliest is “${word}”, ${percent(likeliest[0][1])}. ${last}`] };
      }),
      { title: "What the loop never does", words: ["It takes the likeliest word each time and never takes one back. That is greedy search. A beam keeps several beginnings and compares whole sentences: you see both in “Type French”, and write both in lab 05."] },
    ];
    told = story(box, scenes, (stage, at) => draw(stage, at, source, steps, words), (at) => { scene = at; keepInAddress(`${sentences[choose.value].text}/${at + 1}`); });
    if (number > 0) told.go(number);
    else told.show(0);
  }

  function draw(stage, at, source, steps, words) {
    const step = steps[Math.min(at, steps.length) - 1], written = ["<bos>", ...words.slice(0, Math.max(0, Math.min(at - 1, words.length)))];
    if (at === 0) {
      stage.replaceChildren(chips("read", source, "fr"));
      return `The French words: ${source.join(" ")}.`;
    }
    if (at > steps.length) {
      stage.replaceChildren(chips("read", source, "fr"), chips("written", ["<bos>", ...words], "en"));
      return `All that was written: ${words.join(" ")}.`;
    }
    stage.replaceChildren(chips("looks at", source, "fr", step.looks), chips("written", written, "en"), html("b", {}, "The next word"), bars(step.likeliest, "weight", 0));
    return `Written: ${written.join(" ")}. Likeliest next: ${step.likeliest.map(([word, share]) => `${word} ${percent(share)}`).join(", ")}.`;
  }

  function restore() {
    const [text, number] = (fromAddress() ?? "").split("/");
    choose.value = Math.max(0, sentences.findIndex((each) => each.text === text));
    begin(Math.max(0, (Number(number) || 1) - 1));
  }

  choose.onchange = () => begin(0);
  onhashchange = restore;
  restore();
}

whenInAPage((place, about) => loopStory(place, about));
