// The page "From embedding to heads": one word's way through multi-head attention, in seven scenes.

function headsStory(place, about) {
  const { words, features, x, query, weights, joined, output } = about;
  const heads = weights.length, dK = query[0].length / heads, dV = joined[0].length / heads;
  const choose = html("select", { id: "word" }, ...words.map((word, at) => html("option", { value: at }, word)));
  const box = html("div");
  place.replaceChildren(html("div", { class: "row" }, html("label", { for: "word" }, "Follow the word"), choose, shareButton()), box);
  const part = (row, head, size) => row.slice(head * size, (head + 1) * size);
  const each = (make) => Array.from({ length: heads }, (_, head) => make(head));
  const scenes = [
    ["A word is a row of numbers", ["Each word of the sentence is a row. Here a row has four numbers, and each has a name, so that one can read it. In a trained model they have none."]],
    ["One matrix makes all queries", ["The word's row times the matrix W^Q gives four numbers. The first two are the query of head 0, the last two the query of head 1.",
      "Every column of W^Q reads the whole row. So no head sees only a piece of the word."]],
    ["Each head looks for itself", ["Each head compares its own query with its own keys, and the softmax makes shares of 1.", "The same word can look at different words with each head."]],
    ["Each head finds something", ["The values of all words, weighted by a head's shares, are added up. That gives two numbers for each head."]],
    ["What they found stands side by side", ["The two numbers of head 0 come first, then those of head 1. Nothing is mixed yet."]],
    ["One matrix mixes", ["Times the matrix W^O, the row has four numbers again. The first two rows of W^O read what head 0 found, the last two what head 1 found."]],
    ["All at once", ["For five words the rows lie one below the other, and each step is one product of matrices. In lab 03 you write it with loops first, then without."]],
  ].map(([title, paragraphs]) => ({ title, words: paragraphs }));

  function draw(stage, scene) {
    const at = Number(choose.value), of = words[at];
    const list = (row) => row.map((number) => number.toFixed(2)).join(", ");
    const looks = each((head) => weights[head][at].map((share, other) => [words[other], share]));
    const most = (head) => looks[head].reduce((best, each_) => (each_[1] > best[1] ? each_ : best));
    const drawn = {
      0: [columns(features), ...words.map((word, row) => strip(word, "plain", x[row], { faint: row !== at }))],
      1: [columns(features), strip(of, "plain", x[at]), html("div", { class: "quiet" }, ...raised("× W^Q =")), ...each((head) => strip(`query of head ${head}`, "query", part(query[at], head, dK)))],
      2: each((head) => html("div", {}, html("b", {}, `head ${head}`), bars(looks[head], "weight"))),
      3: each((head) => strip(`head ${head} finds`, "value", part(joined[at], head, dV), { quiet: `mostly of ${most(head)[0]}` })),
      4: [strip("side by side", "value", joined[at], { quiet: "head 0 | head 1" })],
      5: [strip("side by side", "value", joined[at]), html("div", { class: "quiet" }, ...raised("× W^O =")), columns(features), strip(of, "value", output[at])],
      6: [columns(features), ...words.map((word, row) => strip(word, "value", output[row], { faint: row !== at }))],
    }[scene];
    stage.replaceChildren(...drawn);
    return [
      `The rows of all words; that of ${of} is ${list(x[at])}.`,
      each((head) => `The query of head ${head} is ${list(part(query[at], head, dK))}.`).join(" "),
      each((head) => `Head ${head} looks most at ${most(head)[0]}, ${percent(most(head)[1])}.`).join(" "),
      each((head) => `Head ${head} finds ${list(part(joined[at], head, dV))}.`).join(" "),
      `Side by side: ${list(joined[at])}.`,
      `After W^O, ${of} is ${list(output[at])}.`,
      `The new rows of all words; that of ${of} is ${list(output[at])}.`,
    ][scene];
  }

  let scene = 0;
  const told = story(box, scenes, draw, (number) => { scene = number; keepInAddress(`${words[choose.value]}/${scene + 1}`); });

  function restore() {
    const [word, number] = (fromAddress() ?? "").split("/");
    choose.value = words.includes(word) ? words.indexOf(word) : about.word;
    if (Number(number) > 1) told.go(Number(number) - 1);
    else told.show(0);
  }

  choose.onchange = () => told.show(scene);
  onhashchange = restore;
  restore();
}

whenInAPage((place, about) => headsStory(place, about));
