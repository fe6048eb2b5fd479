// Where a model looked while it wrote, word by word: shared by the pages of encoder-decoders.

/** A choice among the heads of all layers; weightsOf gives the weights of the one that is chosen. */
function chooseHead({ num_layers: layers, num_heads: heads }, onchange) {
  const select = html("select", { id: "where", onchange }, html("option", { value: "" }, "last layer, mean of its heads"));
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) select.append(html("option", { value: `${layer} ${head}` }, `layer ${layer + 1}, head ${head + 1}`));
  }
  const weightsOf = ({ looks }) => {
    if (select.value) {
      const [layer, head] = select.value.split(" ").map(Number);
      return looks[layer][head];
    }
    const last = looks[looks.length - 1];
    return last[0].map((_, at) => last.reduce((sum, each) => sum + each[at], 0) / last.length);
  };
  return { parts: [html("label", { for: "where" }, "Attention of"), select], weightsOf };
}

/** Hands over one word after another, with a pause for those who like motion. What it gives back stops it. */
function oneByOne(words, add, done) {
  let timer = 0;
  const next = () => {
    const { value, done: over } = words.next();
    if (over) return done();
    add(value);
    if (calm()) next();
    else timer = setTimeout(next, 220);
  };
  next();
  return () => clearTimeout(timer);
}

/** Buttons of which one is chosen. It alone is reached with Tab; the arrow keys go on from it. */
class Chosen {
  buttons = [];
  at = 0;

  /** look: called with the one that the reader points at. */
  constructor(list, look) {
    this.look = look;
    list.onkeydown = (event) => {
      const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.buttons[(this.at + by + this.buttons.length) % this.buttons.length].focus();
    };
  }

  /** One more button, with its number. */
  add(text) {
    const number = this.buttons.length, look = () => this.look(number);
    const button = html("button", { type: "button", onmouseenter: look, onfocus: look, onclick: look }, text);
    this.buttons.push(button);
    return button;
  }

  choose(number) {
    this.at = number;
    this.buttons.forEach((button, each) => {
      button.setAttribute("aria-pressed", each === number);
      button.tabIndex = each === number ? 0 : -1;
    });
  }
}

/** What a step looked at before it wrote, and what was likeliest there, as a sentence. read: what it looked at; named: the name of an id. */
function toldLook({ id, probabilities }, weights, read, named) {
  const three = (shares, name) => largest(shares, 3).filter((at, rank) => rank === 0 || shares[at] >= 0.005).map((at) => `${name(at)} ${percent(shares[at])}`).join(", ");
  return `Before it wrote “${named(id)}”, it looked at ${three(weights, (at) => read[at])}. Likeliest in this place: ${three(probabilities, named)}.`;
}
