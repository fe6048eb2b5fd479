// Words and marks of a French or English text, cut and joined as the labs do it.

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

export { joinWords, wordTokens };
