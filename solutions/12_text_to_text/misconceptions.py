"""Wrong ways to write lab 12's exercises. Each must lose points and be recognised as itself."""

from course_utils.data.byte_pairs import single_bytes, split_words, vocabulary_of
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- pair_counts

slip("pair_counts", "each_word_once", "Each different word counts once, however often it occurs.",
     "The numbers in `words` say how often each word occurs. If a word occurs 40 times, a pair in it occurs "
     "40 times in the text.",
     ("+= count", "+= 1"))

slip("pair_counts", "last_pair_missing", "The last pair of each word is left out.",
     "A word of n tokens has n - 1 pairs of neighbours. Which pairs do you find in a word of two tokens?",
     ("pairwise(word)", "pairwise(word[:-1])"))

slip("pair_counts", "first_pair_missing", "The first pair of each word is left out.",
     "A word of n tokens has n - 1 pairs of neighbours, and the first one begins with the first token.",
     ("pairwise(word)", "pairwise(word[1:])"))

slip("pair_counts", "once_in_a_word", "A pair that occurs several times in a word is counted only once there.",
     "In `a b a b`, the pair `a b` occurs twice, and both count.",
     ("in itertools.pairwise(word)", "in set(itertools.pairwise(word))"))

slip("pair_counts", "overwritten", "A pair gets the count of the last word that contains it.",
     "The same pair occurs in many words. Add up their numbers.",
     ("+= count", "= count"))

slip("pair_counts", "order_forgotten", "`a b` and `b a` are counted as the same pair.",
     "Merging `a b` gives `ab`, which is a different token from `ba`. So the order matters.",
     ("counts[left, right]", "counts[min(left, right), max(left, right)]"))

slip("pair_counts", "every_second_pair", "Tokens are taken two by two, so every second pair is left out.",
     "Neighbours overlap: `a b c` has the pairs `a b` *and* `b c`.",
     ("itertools.pairwise(word)", "zip(word[::2], word[1::2], strict=False)"))

# ---------------------------------------------------------------------------------- merge

slip("merge", "first_only", "Only the first pair in the word is merged.",
     "A pair may occur several times in a word, and each time it becomes one token.",
     ("if word[place : place + 2] == pair:", "if word[place : place + 2] == pair and len(merged) == place:"))

slip("merge", "second_token_stays", "The second token of the pair stays behind the merged one.",
     "A merge uses up both tokens. How far do you have to move on?",
     ("place += 2", "place += 1"))

slip("merge", "skips_after_other_tokens", "After a token that is not merged, the next one is skipped.",
     "Tokens are missing from your result. If you do not merge, you have used only one token.",
     ("place += 1", "place += 2"))

slip("merge", "letters_compared", "Two tokens are merged if their letters together are those of the pair.",
     "`a bc` and `ab c` have the same letters, but only one of them is the pair. Compare tokens, not "
     "letters.",
     ("if word[place : place + 2] == pair:", 'if len(word[place : place + 2]) == 2 and b"".join(word[place : place + 2]) == pair[0] + pair[1]:'))

slip("merge", "last_token_lost", "The last token of the word is lost unless it is merged.",
     "Your loop ends one place too early. The last token has no neighbour on its right, but it still belongs "
     "to the word.",
     ("while place < len(word):", "while place < len(word) - 1:"))

slip("merge", "either_order", "The two tokens are also merged in the other order.",
     "The pair is (left, right). `b a` is not the pair `a b`, and its bytes would come out in the wrong order.",
     ("if word[place : place + 2] == pair:", "if word[place : place + 2] in (pair, pair[::-1]):"))


@misconception("merge", "Pairs are found from left to right: in `a a a` the *first* two become one token.")
def from_the_right(word, pair):
    """Pairs are searched from the right end of the word."""
    merged, place = [], len(word)
    while place > 0:
        if word[max(place - 2, 0) : place] == pair:
            merged.append(pair[0] + pair[1])
            place -= 2
        else:
            merged.append(word[place - 1])
            place -= 1
    return tuple(merged[::-1])


# ---------------------------------------------------------------------------------- encode

slip("encode", "text_not_split", "The text is not split into words, so tokens reach over the end of a word.",
     "The merges were learned inside single words. So split the text first, and merge in each word alone.",
     ("in split_words(text)", "in [text]"))

slip("encode", "last_merge_first", "The merges are applied in reverse order.",
     "Later merges are made of earlier ones. If the later ones come first, their parts do not exist yet.",
     ("for pair in merges:", "for pair in reversed(merges):"))

slip("encode", "single_bytes_only", "No merge is applied.",
     "Your ids are those of single bytes. Apply the merges, because they are what the tokenizer has learned.",
     ("word = merge(word, pair)", "merge(word, pair)"))

slip("encode", "place_among_merges", "The ids of merged tokens begin with 0 instead of 256.",
     "In the vocabulary, the single bytes come first, and the merges follow. Use the list that "
     "`vocabulary_of` gives.",
     ("id_of = {token: number for number, token in enumerate(vocabulary_of(merges))}",
      "id_of = {token: number % 256 for number, token in enumerate(vocabulary_of(merges))}"))

slip("encode", "value_of_the_byte", "The id of a single byte is its value.",
     "An id is a place in `vocabulary_of(merges)`. Its order is that of GPT-2, which puts printable bytes "
     "first.",
     ("id_of[token]", "(token[0] if len(token) == 1 else id_of[token])"))

slip("encode", "spaces_lost", "The spaces between words are lost.",
     "The space in front of a word belongs to that word. If you strip it, `decode` cannot give it back.",
     ("single_bytes(piece)", "single_bytes(piece.strip())"))


@misconception("encode", "A merged token may be merged again. Go through the whole list of merges in order; do not stop at the "
    "first one that fits.")
def first_fitting_merge(text, merges):
    """In each word only the first merge that fits is applied."""

    def merge(word, pair):
        found, place = [], 0
        while place < len(word):
            fits = word[place : place + 2] == pair
            found.append(b"".join(pair) if fits else word[place])
            place += 1 + fits
        return tuple(found)

    ids = []
    for piece in split_words(text):
        word = single_bytes(piece)
        for pair in merges:
            joined = merge(word, pair)
            if joined != word:
                word = joined
                break
        ids.extend(vocabulary_of(merges).index(token) for token in word)
    return ids


# ---------------------------------------------------------------------------------- decode

slip("decode", "each_token_alone", "Each token is decoded alone, so letters of several tokens are lost.",
     "The two bytes of *é* may be in two tokens, and neither token is a text by itself. Join the bytes "
     "first.",
     ('b"".join(vocabulary[number] for number in ids).decode(errors="replace")',
      '"".join(vocabulary[number].decode(errors="replace") for number in ids)'))

slip("decode", "read_as_ascii", "The bytes are read as ASCII, which has no accents.",
     "ASCII has only 128 characters. The text was written in UTF-8, in which *é* has two bytes.",
     ('decode(errors="replace")', 'decode("ascii", errors="replace")'))

slip("decode", "broken_bytes_dropped", "Bytes that are not valid text are left out.",
     "If you leave broken bytes out, nobody sees that something is wrong. They should become the sign `�`.",
     ('decode(errors="replace")', 'decode(errors="ignore")'))

slip("decode", "latin_1", "Each byte is read as a letter of its own.",
     "In UTF-8, a letter may have up to four bytes. Your text contains *Ã©* instead of *é*.",
     ('decode(errors="replace")', 'decode("latin-1")'))

slip("decode", "spaces_between", "Spaces are put between the tokens.",
     "The space in front of a word is part of its first token. So put nothing between tokens.",
     ('b"".join', 'b" ".join'))

slip("decode", "ends_stripped", "White space at both ends of the text is removed.",
     "A text may begin with a space. Return it unchanged.",
     ('.decode(errors="replace")', '.decode(errors="replace").strip()'))

slip("decode", "broken_bytes_raise", "Bytes that are not valid text raise an exception.",
     "A model may stop in the middle of a letter. `bytes.decode` has an option for such bytes.",
     ('decode(errors="replace")', "decode()"))

# ---------------------------------------------------------------------------------- teacher_forcing_batch

slip("teacher_forcing_batch", "not_shifted", "The decoder reads the labels themselves.",
     "At each place, the decoder would read what it should write there. It has to read what was written "
     "*before*.",
     ("decoder_ids[number, 1 : len(row)] = row[:-1]", "decoder_ids[number, : len(row)] = row"))

slip("teacher_forcing_batch", "end_missing", "The last id of each target is missing in the labels.",
     "The model has to learn the end of a text like everything else. Otherwise it never stops.",
     ("labels[number, : len(row)] = row", "labels[number, : len(row) - 1] = row[:-1]"))

slip("teacher_forcing_batch", "padding_counted", "All places count, including padding.",
     "Nobody needs a model that writes padding. And short targets would count as much as long ones.",
     ("counted[number, : len(row)] = True", "counted[number] = True"))

slip("teacher_forcing_batch", "end_not_counted", "The last id of each target does not count.",
     "The model has to learn the end of a text, too. Otherwise it never stops.",
     ("counted[number, : len(row)] = True", "counted[number, : len(row) - 1] = True"))

slip("teacher_forcing_batch", "padded_in_front", "The labels are padded in front.",
     "All targets begin at the first place. Short ones have their padding at the end.",
     ("labels[number, : len(row)] = row", "labels[number, longest - len(row) :] = row"))

slip("teacher_forcing_batch", "starts_with_zero", "The decoder starts with id 0.",
     "The decoder starts with `pad_id`, as in T5. Id 0 is an ordinary token here.",
     ("decoder_ids[number, 1 : len(row)] = row[:-1]", "decoder_ids[number, 0] = 0\n        decoder_ids[number, 1 : len(row)] = row[:-1]"))

# ---------------------------------------------------------------------------------- mixture

slip("mixture", "temperature_multiplied", "The sizes are raised to the temperature, not to its reciprocal.",
     "A high temperature should make the shares more equal. Your exponent gives the largest task nearly "
     "everything.",
     ("** (1 / temperature)", "** temperature"))

slip("mixture", "temperature_ignored", "The temperature has no effect.",
     "Raise each task's size to the power 1/T. A high temperature then makes the shares more equal.",
     ("** (1 / temperature)", "** 1"))

slip("mixture", "limit_ignored", "The limit has no effect.",
     "If a task has more than `limit` examples, it counts as if it had `limit`.",
     ("min(size, most)", "size"))

slip("mixture", "not_shares", "The weights are not divided by their sum.",
     "Shares add up to 1, so divide each weight by the sum of all weights.",
     ("weight / total", "weight"))

slip("mixture", "limit_last", "The limit is applied after the temperature.",
     "The limit is a number of examples. Apply it to the size, before you take the root.",
     ("min(size, most) ** (1 / temperature)", "min(size ** (1 / temperature), most)"))

# ---------------------------------------------------------------------------------- as_text, from_text

slip("as_text", "tenths", "The number is rounded to 0.1, not to 0.2.",
     "Only every second tenth is allowed, so that there are 26 answers.",
     ("round(near * 5) / 5", "near"))

slip("as_text", "always_down", "The number is always rounded down.",
     "2.79 is nearer to 2.8 than to 2.6, so it should become 2.8. The nearest step may be above the number.",
     ("round(near * 5)", "int(near * 5)"))

slip("as_text", "not_limited", "Numbers below 0 and above 5 stay as they are.",
     "A similarity is between 0 and 5. Numbers below 0 become 0, and numbers above 5 become 5.",
     ("min(max(similarity, 0.0), 5.0)", "similarity"))

slip("as_text", "halves", "The number is rounded to 0.5.",
     "The steps are 0.2 wide, so five of them make 1. How many of your steps make 1?",
     ("round(near * 5) / 5", "round(near * 2) / 2"))

slip("as_text", "two_decimals", "The number has two decimals.",
     "The same number must always give the same text, so use one decimal.",
     (":.1f", ":.2f"))

slip("from_text", "no_number_is_zero", "A text that is not a number becomes 0.",
     "0 would be an answer: not similar at all. If the text is not an answer, return NaN.",
     ('ValueError:\n        return float("nan")', "ValueError:\n        return 0.0"))

slip("from_text", "range_ignored", "Any number is accepted.",
     "7.2 and infinity are not similarities, so they are not answers either.",
     ("number if 0 <= number <= 5 else", "number if True else"))

slip("from_text", "clipped", "Numbers below 0 and above 5 become the nearer end.",
     "A model that writes 17 has not understood the question. That is not a perfect answer, but no answer at "
     "all.",
     ('number if 0 <= number <= 5 else float("nan")', 'min(max(number, 0.0), 5.0)'))

slip("from_text", "rounded", "The number is rounded to a whole one.",
     "Return the number that was written: 3.4 should come back as 3.4, not as 3.",
     ("number = float(text)", "number = float(round(float(text)))"), )

slip("from_text", "negative_accepted", "Numbers below 0 are accepted.",
     "A similarity is between 0 and 5. A number below 0 is not an answer, so it becomes NaN.",
     ("0 <= number <= 5", "number <= 5"))

slip("from_text", "too_large_accepted", "Numbers above 5 are accepted.",
     "A similarity is between 0 and 5. A number above 5 is not an answer, so it becomes NaN.",
     ("0 <= number <= 5", "0 <= number"))

# ---------------------------------------------------------------------------------- span_corruption

slip("span_corruption", "same_sentinel", "All spans have the same sentinel.",
     "With one sentinel for all, nobody knows which gap a span belongs to. Each span gets the next sentinel.",
     ("first_sentinel + number", "first_sentinel"))

slip("span_corruption", "no_last_sentinel", "The target has no sentinel at its end.",
     "A last sentinel says that the last span is complete.",
     ("    target.append(first_sentinel + len(spans))\n", ""))

slip("span_corruption", "end_inclusive", "Each span reaches one token further.",
     "The end of a span is not part of it, as in a slice.",
     ("ids[begin:end]", "ids[begin : end + 1]"), ("place = end", "place = end + 1"))

slip("span_corruption", "spans_stay", "What is cut out stays in the source.",
     "The model would read the answer. In the source, a sentinel replaces the span.",
     ("place = end", "place = begin"))

slip("span_corruption", "rest_lost", "What stands behind the last span is lost.",
     "The source continues after the last span, up to the end of the text.",
     ("    source += ids[place:]\n", ""))

slip("span_corruption", "target_without_sentinels", "The target has no sentinels in front of the spans.",
     "In the target, each span begins with its sentinel, which says which gap the span fills.",
     ("target += [sentinel, *ids[begin:end]]", "target += ids[begin:end]"))

slip("span_corruption", "whole_text", "The target is the whole text.",
     "That is a good objective, too, but a longer one: the model would also write what it has just read. The "
     "target contains only what was cut out.",
     ("target.append(first_sentinel + len(spans))", "target = list(ids)"))

# ---------------------------------------------------------------------------------- select_pairs

slip("select_pairs", "names_begin_alike", "A module counts as held out if its name begins with a held-out name.",
     "*networkx_metis* is not in the package *networkx*, although its name begins with it. Which character "
     "follows a package's name in the name of one of its modules?",
     ('f"{pair.module}.".startswith(f"{name}.")', "pair.module.startswith(name)"))

slip("select_pairs", "package_not_seen", "A module counts as held out only if it has exactly a held-out name.",
     "If *networkx* is held out, everything in it is held out, too: for example *networkx.drawing.layout*.",
     ('f"{pair.module}.".startswith(f"{name}.")', "pair.module == name"))

slip("select_pairs", "name_anywhere", "A module counts as held out if a held-out name is anywhere in its name.",
     "*sympy.stats* is not in the package *stats*. A module's name begins with the name of its package.",
     ('f"{pair.module}.".startswith(f"{name}.")', 'f".{name}." in f".{pair.module}."'))

slip("select_pairs", "whole_package_held_out", "If a module is held out, all modules of its package are.",
     "Only the module itself and everything in it belong to the test. Its neighbours may be used for "
     "training.",
     ('f"{pair.module}.".startswith(f"{name}.")', 'pair.module.partition(".")[0] == name.partition(".")[0]'))

slip("select_pairs", "texts_leak", "A text of the test may also be in training.",
     "Documentation is copied from module to module. If a model has read a test text with its summary, it "
     "only has to remember the summary.",
     ("set(texts)", "set()"))

slip("select_pairs", "summaries_leak", "A summary of the test may also be in training.",
     "Two texts may differ in one word and have the same summary. If a summary is in the test, leave every "
     "pair with that summary out of training, too.",
     ("pair.summary not in summaries", "True"))

slip("select_pairs", "twice_in_test", "A text that occurs twice stays in the test twice.",
     "The text counts double, and the interval looks narrower than it is.",
     ("if pair.text not in texts:", "if True:"))

slip("select_pairs", "twice_in_training", "A text that occurs twice stays in training twice.",
     "If several training pairs have the same text, keep only the first one.",
     ("            known.add(pair.text)\n", ""))

slip("select_pairs", "exchanged", "Training and test are exchanged.",
     "The held-out modules are the test. Return the test second.",
     ("return training, test", "return test, training"))


slip("select_pairs", "capitals_ignored", "Capital letters make no difference between summaries.",
     "Here, two summaries are the same only if every letter is the same. Whether *Sum* and *sum* should "
     "count as one is another question.",
     ("{pair.summary for pair in test}", "{pair.summary.lower() for pair in test}"), ("pair.summary not in summaries", "pair.summary.lower() not in summaries"))


@misconception("select_pairs", "The test has to stay as it is, whatever is in training. Leave what is in both out of training.")
def test_is_cut(pairs, held_out):
    """What is in both parts is left out of the test instead of training."""
    parts = {True: [], False: []}
    for pair in pairs:
        held = any(f"{pair.module}.".startswith(f"{name}.") for name in held_out)
        if pair.text not in {one.text for one in parts[held]}:
            parts[held].append(pair)
    texts, summaries = ({getattr(one, part) for one in parts[False]} for part in ("text", "summary"))
    return parts[False], [one for one in parts[True] if one.text not in texts and one.summary not in summaries]


# ---------------------------------------------------------------------------------- rouge_n

slip("rouge_n", "different_runs", "Each different run counts once.",
     "If both texts have a run twice, it counts twice. Count how often each run occurs.",
     ("(Counter(runs(text)) for text in (candidate, reference))", "(Counter(set(runs(text))) for text in (candidate, reference))"))

slip("rouge_n", "not_clipped", "Each run of the candidate counts if it is anywhere in the reference.",
     "*the the the* would get full marks for a reference with a single *the*. Count a run at most as often "
     "as it occurs in the other text.",
     ("common = (ours & theirs).total()", "common = sum(count for run, count in ours.items() if run in theirs)"))

slip("rouge_n", "divided_by_words", "Precision and recall are divided by the number of words, not of runs.",
     "A text of m words has m - n + 1 runs of n words. If you compare a text with itself, both shares should "
     "be 1. What do you have to divide by?",
     ("common / ours.total(), common / theirs.total()", "common / len(candidate), common / len(reference)"))

slip("rouge_n", "runs_side_by_side", "The runs do not overlap.",
     "*a b c* has two runs of two words: *a b* and *b c*. With which words can a run begin?",
     ("range(len(text) - n + 1)", "range(0, len(text) - n + 1, n)"))

slip("rouge_n", "last_run_missing", "The last run of each text is left out.",
     "A text of n words has one run of n words: the text itself. How many does your code find there?",
     ("range(len(text) - n + 1)", "range(len(text) - n)"))

slip("rouge_n", "order_ignored", "The words of a run may be in any order.",
     "*of the* and *the of* are not the same run. Without the order, pairs would tell little more than "
     "single words.",
     ("tuple(text[place : place + n])", "tuple(sorted(text[place : place + n]))"))

slip("rouge_n", "n_ignored", "Single words are counted, whatever n is.",
     "With n = 2, count two neighbouring words together.",
     ("text[place : place + n]", "text[place : place + 1]"), ("range(len(text) - n + 1)", "range(len(text))"))

slip("rouge_n", "swapped", "Precision and recall are exchanged.",
     "Precision is about what was *written*: which share of its runs is wanted? Recall is about what was "
     "*wanted*.",
     ("common / ours.total(), common / theirs.total()", "common / theirs.total(), common / ours.total()"))

slip("rouge_n", "arithmetic_mean", "F1 is the plain mean of precision and recall.",
     "F1 is the *harmonic* mean, which is low if either of the two is low.",
     ("2 * precision * recall / (precision + recall)", "(precision + recall) / 2"))

slip("rouge_n", "recall_only", "F1 is the recall.",
     "Recall alone rewards long texts. F1 is the harmonic mean of precision and recall.",
     ("2 * precision * recall / (precision + recall)", "recall"))

slip("rouge_n", "nothing_in_common", "If nothing is in common, it divides by zero.",
     "If no run is in common, precision and recall are 0, and F1 is 0, too. What does the formula give then?",
     ("    if common == 0:\n        return 0.0, 0.0, 0.0\n", ""))

# ---------------------------------------------------------------------------------- length_penalty

slip("length_penalty", "plain_length", "The sums are divided by a power of the length itself.",
     "That is lab 05's rule. Here 5 is added to the length first, so that a short text is not punished so hard, and it is divided by 6.",
     ("((5 + lengths) / 6)", "lengths"))

slip("length_penalty", "not_divided_by_six", "The power of 5 + length is not divided by that of 6.",
     "A hypothesis of one token should keep its sum. What does your penalty give for the length 1?",
     ("((5 + lengths) / 6)", "(5.0 + lengths)"))

slip("length_penalty", "multiplied", "The sums are multiplied by the penalty.",
     "Sums are negative, and a long text has the lowest one. Multiplying lowers it even more. What raises it?",
     ("totals / ", "totals * "))

slip("length_penalty", "penalty_ignored", "The penalty has no effect.",
     "Your scores are the plain sums, so the shortest hypothesis nearly always wins. Where does the length come in?",
     ("totals / ((5 + lengths) / 6) ** alpha", "totals * 1.0"))

slip("length_penalty", "alpha_as_a_factor", "alpha is a factor of the penalty, not its power.",
     "In equation 14 alpha is an exponent. With alpha = 0 the penalty should be 1, and not 0.",
     ("totals / ((5 + lengths) / 6) ** alpha", "totals / ((5 + lengths) / 6 * alpha)"))

slip("length_penalty", "five_outside", "Only the length is raised to alpha, and 5 is added afterwards.",
     "The brackets in equation 14 are around 5 + length. Both together are raised to alpha.",
     ("((5 + lengths) / 6) ** alpha", "((5 + lengths**alpha) / 6**alpha)"))

slip("length_penalty", "alpha_always_one", "The power has no effect: alpha is taken for 1.",
     "How much the length counts is what alpha decides. Is it in your formula?",
     ("** alpha", "** 1"))

slip("length_penalty", "six_not_raised", "The power of 5 + length is divided by 6 itself.",
     "Numerator and denominator have the same exponent. What does your penalty give for the length 1?",
     ("((5 + lengths) / 6) ** alpha", "((5 + lengths) ** alpha / 6)"))
