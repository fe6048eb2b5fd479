// The decoder of lab 08 that spells names: a language in front, then letters. What was computed for earlier letters is kept.

class Speller extends Network {
  /** about: configuration, tokens and the names of the arrays; bytes: their numbers. */
  constructor(about, bytes) {
    super(about, bytes);
    this.tokens = about.tokens;
    this.languages = about.languages;
    this.ids = new Map(this.tokens.map((token, id) => [token, id]));
    this.end = this.ids.get("<end>");
  }

  /** Takes one more token: the logits of the next one, and the state after it. A state is never changed. */
  step(state, id) {
    const width = this.embedding_dim, at = (table, place) => this.numbers[`${table}_embedding.weight`].subarray(place * width, (place + 1) * width);
    let x = plus(at("token", id), at("position", state.length));
    const blocks = [];
    for (let number = 0; number < this.num_layers; number++) {
      const name = `blocks.${number}`, attention = `${name}.attention`, normed = this.normed(`${name}.norm1`, x);
      const keys = [...(state.blocks[number]?.keys ?? []), this.apply(`${attention}.w_key`, normed)];
      const values = [...(state.blocks[number]?.values ?? []), this.apply(`${attention}.w_value`, normed)];
      blocks.push({ keys, values });
      const { mixed } = attend(this.apply(`${attention}.w_query`, normed), keys, values, this.num_heads);
      x = plus(x, this.apply(`${attention}.w_output`, mixed));
      x = plus(x, this.apply(`${name}.contract`, gelu(this.apply(`${name}.expand`, this.normed(`${name}.norm2`, x)))));
    }
    const logits = linear(this.numbers["token_embedding.weight"], undefined, this.normed("norm", x));
    return { logits, state: { length: state.length + 1, blocks } };
  }

  /** After a language and some letters: the logits of the next letter, and the state. */
  after(language, letters) {
    return [language, ...letters].reduce((now, token) => this.step(now.state, this.ids.get(token)), { state: { length: 0, blocks: [] } });
  }
}

/** The probabilities from which the next token is drawn: temperature, then top-k, then the nucleus of what is left. */
function sampling(logits, { temperature = 1, topK = logits.length, topP = 1 } = {}) {
  const scaled = Array.from(logits, (value) => value / temperature), order = largest(scaled, topK);
  const shares = softmax(order.map((place) => scaled[place]));
  const kept = new Array(logits.length).fill(0);
  let sum = 0;
  for (let rank = 0; rank < order.length && (rank === 0 || sum < topP); rank++) {
    kept[order[rank]] = shares[rank];
    sum += shares[rank];
  }
  return kept.map((share) => share / sum);
}

/** A place, drawn with these probabilities; `chance` is from 0 to 1. */
function drawn(probabilities, chance) {
  let left = chance;
  for (const [place, share] of probabilities.entries()) {
    left -= share;
    if (share > 0 && left < 0) return place;
  }
  return probabilities.findLastIndex((share) => share > 0);
}

export { Speller, drawn, sampling };
