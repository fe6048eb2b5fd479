// The translator of lab 05: French words in, English words out. What was computed for earlier words is kept, so each word costs one pass.

const BOS = 1, EOS = 2, UNKNOWN = 3;

const LETTER = "[\\p{L}\\p{N}_]", ELISIONS = "(?:c|d|j|l|m|n|s|t|qu|jusqu|lorsqu|puisqu|quoiqu)", SUFFIX = "(?:s|m|re|ve|ll|d)";
const STARTS = `(?<!${LETTER})(?=${LETTER})`, ENDS = `(?<=${LETTER})(?!${LETTER})`;
const WORD = `${LETTER}(?:(?:${LETTER}|-)*${LETTER})?(?:'${LETTER}+)*`;
/** Words and marks, as course_utils/data/words.py cuts them. */
const TOKEN = new RegExp([
  `${STARTS}${ELISIONS}'(?=${LETTER})`,
  `(?<=${LETTER})'${SUFFIX}${ENDS}`,
  `(?:${STARTS}|${ENDS})\\p{Nd}+(?:[.,]\\p{Nd}+)+(?!${LETTER})`,
  `${WORD}?(?='${SUFFIX}${ENDS})`,
  WORD,
  `\\u202f?[^\\p{L}\\p{N}_\\s]`,
].join("|"), "giu");

function normalise(text) {
  return text.normalize("NFC").replaceAll("’", "'").split(/\s+/u).filter(Boolean).join(" ").replace(/(?<=\S)\s+([?!;:»])/gu, "\u202f$1");
}

const wordTokens = (text) => normalise(text).match(TOKEN) ?? [];

/** The sentence that words and marks make. */
function joinWords(tokens) {
  let text = "", glued = true;
  for (const token of tokens) {
    const closing = /^[.,?!;:)\]}»…%\u202f]/u.test(token) || new RegExp(`^'${SUFFIX}$`, "iu").test(token);
    text += (glued || closing ? "" : " ") + token;
    glued = "([{".includes(token) || new RegExp(`^${ELISIONS}'$`, "iu").test(token);
  }
  return text;
}

class Translator {
  /** about: configuration, vocabularies and the names of the arrays; bytes: their numbers. */
  constructor(about, bytes) {
    Object.assign(this, about.config);
    this.numbers = unpack(about.tensors, bytes);
    this.layer = layersOf(this.numbers);
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

  apply(name, x) {
    const { weight, bias } = this.layer(name);
    return linear(weight, bias, x);
  }

  /** The sum of x and what a sub-layer made of it, normalised. */
  joined(name, x, made) {
    const { weight, bias } = this.layer(name);
    return layerNorm(weight, bias, plus(x, made), this.epsilon);
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

  /** Before the first word. A state is never changed, so several hypotheses can go on from one. */
  begin() {
    return { length: 0, layers: Array.from({ length: this.num_layers }, () => ({ keys: [], values: [] })) };
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

  /** Greedy search, word by word: the id, where the model looked, and the probabilities. */
  *greedy(ids, longest = 24) {
    const memory = this.read(ids);
    let state = this.begin(), id = BOS;
    for (let count = 0; count < longest && id !== EOS; count++) {
      const next = this.step(memory, state, id), probabilities = softmax(next.logits);
      state = next.state;
      [id] = largest(probabilities, 1);
      yield { id, looks: next.looks, probabilities };
    }
  }

  /** Beam search as lab 05 describes it, the best hypothesis first. The score is the mean log-probability of the words, the end included. */
  beam(ids, size = 4, longest = 24) {
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

export { Translator, joinWords, wordTokens };
