// What the course's encoder-decoders share: the state of a decoder that keeps what it computed for earlier words, and greedy search.

/** Its models have read (a text), step (one more word), and the ids `first`, with which the decoder begins, and `last`, the end. */
class EncoderDecoder extends Network {
  /** Before the first word. A state is never changed, so several hypotheses can go on from one. */
  begin() {
    return { length: 0, layers: Array.from({ length: this.num_layers }, () => ({ keys: [], values: [] })) };
  }

  /** Greedy search, word by word: the id, where the model looked, and the probabilities. */
  *greedy(ids, longest = this.longest) {
    const memory = this.read(ids);
    let state = this.begin(), id = this.first;
    for (let count = 0; count < longest && id !== this.last; count++) {
      const next = this.step(memory, state, id), probabilities = softmax(next.logits);
      state = next.state;
      [id] = largest(probabilities, 1);
      yield { id, looks: next.looks, probabilities };
    }
  }
}
