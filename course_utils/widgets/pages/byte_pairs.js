// Byte-pair encoding, as lab 12 builds it and course_utils/data/byte_pairs.py does it: a text is cut into words, and the bytes of a word are merged.

/** How GPT-2 cuts a text. JavaScript's own \s has other blanks than the labs' Python package. */
const PIECE = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

class BytePairs {
  /** single: the bytes in the order of their ids; merges: pairs of ids. Each merge makes the token with the next id. */
  constructor({ single, merges }) {
    this.vocabulary = single.map((byte) => [byte]);
    this.idOfByte = new Map(single.map((byte, id) => [byte, id]));
    this.idOfPair = new Map();
    for (const [left, right] of merges) {
      this.idOfPair.set(this.key(left, right), this.vocabulary.length);
      this.vocabulary.push([...this.vocabulary[left], ...this.vocabulary[right]]);
    }
  }

  key(left, right) {
    return left * 65536 + right;
  }

  /** The ids of a text's tokens. */
  encode(text) {
    return (text.match(PIECE) ?? []).flatMap((word) => this.merged(Array.from(new TextEncoder().encode(word), (byte) => this.idOfByte.get(byte))));
  }

  /** A word's ids after all merges: the one that was learned first comes first, everywhere in the word. */
  merged(ids) {
    for (;;) {
      let best = Infinity;
      for (let at = 1; at < ids.length; at++) best = Math.min(best, this.idOfPair.get(this.key(ids[at - 1], ids[at])) ?? Infinity);
      if (best === Infinity) return ids;
      const after = [];
      for (let at = 0; at < ids.length; at++) {
        const found = this.idOfPair.get(this.key(ids[at], ids[at + 1])) === best;
        after.push(found ? best : ids[at]);
        if (found) at++;
      }
      ids = after;
    }
  }

  /** The text of ids. Numbers that are not ids are left out; bytes that are no UTF-8 become U+FFFD. */
  decode(ids) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(ids.flatMap((id) => this.vocabulary[id] ?? [])));
  }

  /** A token as one can read it: bytes that are no text of their own as hexadecimal numbers. */
  readable(id) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(this.vocabulary[id]));
    } catch {
      return this.vocabulary[id].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    }
  }
}

export { BytePairs };
