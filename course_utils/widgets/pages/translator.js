// The translator of lab 05: French words in, English words out. What was computed for earlier words is kept, so each word costs one pass.

const BOS = 1, EOS = 2, UNKNOWN = 3;

class Translator extends EncoderDecoder {
  first = BOS;
  last = EOS;
  longest = 24;

  /** about: configuration, vocabularies and the names of the arrays; bytes: their numbers. */
  constructor(about, bytes) {
    super(about, bytes);
    this.source = about.source_tokens;
    this.target = about.target_tokens;
    this.ids = new Map(this.source.map((token, id) => [token, id]));
    this.epsilon = about.config.layernorm_eps ?? 1e-6;
  }

  /** The words of a text, and their ids with the end of the sentence. */
  encode(text) {
    const tokens = wordTokens(text);
    return { tokens, ids: [...tokens.map((token) => this.ids.get(token) ?? UNKNOWN), EOS] };
  }

  decode(ids) {
    return joinWords(ids.filter((id) => id !== EOS).map((id) => this.target[id]));
  }

  embed(side, id, position) {
    const table = this.numbers[`${side}.embedding.weight`], width = this.embedding_dim;
    return Float32Array.from({ length: width }, (_, at) => {
      const angle = position / 10000 ** ((at - (at % 2)) / width);
      return table[id * width + at] * Math.sqrt(width) + (at % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }

  /** The sum of x and what a sub-layer made of it, normalised. */
  joined(name, x, made) {
    return this.normed(name, plus(x, made), this.epsilon);
  }

  feedForward(name, x) {
    return this.apply(`${name}.linear2`, relu(this.apply(`${name}.linear1`, x)));
  }

  /** Reads a sentence: for each decoder layer the keys and values of its words. */
  read(ids) {
    let xs = ids.map((id, position) => this.embed("encoder", id, position));
    for (let number = 0; number < this.num_layers; number++) {
      const name = `encoder.layers.${number}`, attention = `${name}.self_attention`;
      const keys = xs.map((x) => this.apply(`${attention}.w_key`, x)), values = xs.map((x) => this.apply(`${attention}.w_value`, x));
      xs = xs.map((x) => {
        const { mixed } = attend(this.apply(`${attention}.w_query`, x), keys, values, this.num_heads);
        const met = this.joined(`${name}.norm1`, x, this.apply(`${attention}.w_output`, mixed));
        return this.joined(`${name}.norm2`, met, this.feedForward(`${name}.feed_forward`, met));
      });
    }
    return Array.from({ length: this.num_layers }, (_, number) => {
      const attention = `decoder.layers.${number}.cross_attention`;
      return { keys: xs.map((x) => this.apply(`${attention}.w_key`, x)), values: xs.map((x) => this.apply(`${attention}.w_value`, x)) };
    });
  }

  /** Takes one more word: the logits of the next one, where each head of each layer looked, and the state after it. */
  step(memory, state, id) {
    let x = this.embed("decoder", id, state.length);
    const looks = [], layers = [];
    for (let number = 0; number < this.num_layers; number++) {
      const name = `decoder.layers.${number}`, own = `${name}.self_attention`, cross = `${name}.cross_attention`;
      const keys = [...state.layers[number].keys, this.apply(`${own}.w_key`, x)];
      const values = [...state.layers[number].values, this.apply(`${own}.w_value`, x)];
      layers.push({ keys, values });
      const before = attend(this.apply(`${own}.w_query`, x), keys, values, this.num_heads);
      x = this.joined(`${name}.norm1`, x, this.apply(`${own}.w_output`, before.mixed));
      const french = attend(this.apply(`${cross}.w_query`, x), memory[number].keys, memory[number].values, this.num_heads);
      looks.push(french.weights);
      x = this.joined(`${name}.norm2`, x, this.apply(`${cross}.w_output`, french.mixed));
      x = this.joined(`${name}.norm3`, x, this.feedForward(`${name}.feed_forward`, x));
    }
    return { logits: this.apply("final_linear", x), looks, state: { length: state.length + 1, layers } };
  }

  /** Beam search as lab 05 describes it, the best hypothesis first. The score is the mean log-probability of the words, the end included. */
  beam(ids, size = 4, longest = this.longest) {
    const memory = this.read(ids), score = ({ words, total }) => total / words.length;
    const hasEnded = ({ words }) => words[words.length - 1] === EOS;
    let beam = [{ words: [], total: 0, state: this.begin() }];
    for (let count = 0; count < longest && !beam.every(hasEnded); count++) {
      const candidates = beam.flatMap((hypothesis) => {
        if (hasEnded(hypothesis)) return [hypothesis];
        const { logits, state } = this.step(memory, hypothesis.state, hypothesis.words[hypothesis.words.length - 1] ?? BOS);
        const probabilities = softmax(logits);
        return largest(probabilities, size).map((id) => (
          { words: [...hypothesis.words, id], total: hypothesis.total + Math.log(probabilities[id]), state }));
      });
      beam = candidates.sort((one, other) => score(other) - score(one)).slice(0, size);
    }
    return beam.map((hypothesis) => ({ words: hypothesis.words, score: score(hypothesis) }));
  }
}

export { Translator };
