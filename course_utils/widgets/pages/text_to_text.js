// The model of lab 12: a prefix and a text in, a text out, over one vocabulary of byte pairs. Pre-norm, rotary positions.

class TextToText extends EncoderDecoder {
  longest = 100;

  /** about: configuration, byte pairs and the names of the arrays; bytes: their numbers. */
  constructor(about, bytes) {
    super(about, bytes);
    this.tokens = new BytePairs(about);
    this.first = this.tokens.vocabulary.length;
    this.last = this.first + 1;
  }

  embed(id) {
    const width = this.embedding_dim;
    return this.numbers["embedding.weight"].subarray(id * width, (id + 1) * width).map((value) => value * Math.sqrt(width));
  }

  /** Queries or keys, each pair of neighbouring features turned by the angle of its position. */
  rotated(x, position) {
    const size = x.length / this.num_heads, out = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += 2) {
      const angle = position / 10000 ** ((at % size) / size), cos = Math.cos(angle), sin = Math.sin(angle);
      out[at] = x[at] * cos - x[at + 1] * sin;
      out[at + 1] = x[at] * sin + x[at + 1] * cos;
    }
    return out;
  }

  feedForward(name, x) {
    return this.apply(`${name}.feed_forward.2`, gelu(this.apply(`${name}.feed_forward.0`, x)));
  }

  /** Reads a text: for each decoder layer the keys and values of its tokens. */
  read(ids) {
    let xs = ids.map((id) => this.embed(id));
    for (let number = 0; number < this.num_layers; number++) {
      const name = `encoder.${number}`, attention = `${name}.attention`, normed = xs.map((x) => this.normed(`${name}.norms.0`, x));
      const keys = normed.map((x, position) => this.rotated(this.apply(`${attention}.w_key`, x), position));
      const values = normed.map((x) => this.apply(`${attention}.w_value`, x));
      xs = xs.map((x, position) => {
        const { mixed } = attend(this.rotated(this.apply(`${attention}.w_query`, normed[position]), position), keys, values, this.num_heads);
        const met = plus(x, this.apply(`${attention}.w_output`, mixed));
        return plus(met, this.feedForward(name, this.normed(`${name}.norms.1`, met)));
      });
    }
    const memory = xs.map((x) => this.normed("encoder_norm", x));
    return Array.from({ length: this.num_layers }, (_, number) => {
      const cross = `decoder.${number}.cross`;
      return { keys: memory.map((x) => this.apply(`${cross}.w_key`, x)), values: memory.map((x) => this.apply(`${cross}.w_value`, x)) };
    });
  }

  /** Takes one more token: the logits of the next one, where each head of each layer looked, and the state after it. */
  step(memory, state, id) {
    let x = this.embed(id);
    const looks = [], layers = [];
    for (let number = 0; number < this.num_layers; number++) {
      const name = `decoder.${number}`, own = `${name}.attention`, cross = `${name}.cross`, normed = this.normed(`${name}.norms.0`, x);
      const keys = [...state.layers[number].keys, this.rotated(this.apply(`${own}.w_key`, normed), state.length)];
      const values = [...state.layers[number].values, this.apply(`${own}.w_value`, normed)];
      layers.push({ keys, values });
      const before = attend(this.rotated(this.apply(`${own}.w_query`, normed), state.length), keys, values, this.num_heads);
      x = plus(x, this.apply(`${own}.w_output`, before.mixed));
      const text = attend(this.apply(`${cross}.w_query`, this.normed(`${name}.norms.1`, x)), memory[number].keys, memory[number].values, this.num_heads);
      looks.push(text.weights);
      x = plus(x, this.apply(`${cross}.w_output`, text.mixed));
      x = plus(x, this.feedForward(name, this.normed(`${name}.norms.2`, x)));
    }
    const scale = this.embedding_dim ** -0.25;
    const logits = linear(this.numbers["embedding.weight"], undefined, this.normed("decoder_norm", x)).map((value) => value * scale);
    return { logits, looks, state: { length: state.length + 1, layers } };
  }

  /** The ids that the model writes for a text. */
  write(text) {
    return [...this.greedy(this.tokens.encode(text))].map(({ id }) => id);
  }
}

export { TextToText };
