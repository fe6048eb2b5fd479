"""Wrong ways to write lab 12's exercises. Each must lose points and be recognised as itself."""

from course_utils.data.byte_pairs import single_bytes, split_words, vocabulary_of
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- pair_counts

slip("pair_counts", "each_word_once", "Each different word counts once, however often it occurs.",
     "The numbers in `words` are how often a word occurs. A pair in a word that occurs 40 times stands in the text 40 times.",
     ("+= count", "+= 1"))

slip("pair_counts", "last_pair_missing", "The last pair of each word is left out.",
     "A word of n tokens has n - 1 pairs of neighbours. Which ones do you look at in a word of two tokens?",
     ("pairwise(word)", "pairwise(word[:-1])"))

slip("pair_counts", "first_pair_missing", "The first pair of each word is left out.",
     "A word of n tokens has n - 1 pairs of neighbours, and the first one begins with the first token.",
     ("pairwise(word)", "pairwise(word[1:])"))

slip("pair_counts", "once_in_a_word", "A pair that stands in a word several times is counted once there.",
     "In `a b a b` the pair `a b` stands twice, and both count.",
     ("in itertools.pairwise(word)", "in set(itertools.pairwise(word))"))

slip("pair_counts", "overwritten", "A pair has the count of the last word that it stands in.",
     "The same pair stands in many words. Their numbers have to be added up.",
     ("+= count", "= count"))

slip("pair_counts", "order_forgotten", "`a b` and `b a` are counted as the same pair.",
     "Merging makes `ab` of `a b`. That is another token than `ba`, so the order matters.",
     ("counts[left, right]", "counts[min(left, right), max(left, right)]"))

slip("pair_counts", "every_second_pair", "Tokens are taken two by two, so every second pair is left out.",
     "Neighbours overlap: `a b c` has the pairs `a b` *and* `b c`.",
     ("itertools.pairwise(word)", "zip(word[::2], word[1::2], strict=False)"))

# ---------------------------------------------------------------------------------- merge

slip("merge", "first_only", "Only the first pair in the word is merged.",
     "A pair may stand in a word several times, and all of them become one token.",
     ("if word[place : place + 2] == pair:", "if word[place : place + 2] == pair and len(merged) == place:"))

slip("merge", "second_token_stays", "The second token of the pair stays behind the merged one.",
     "After a merge, both tokens are used up. How far do you have to move on?",
     ("place += 2", "place += 1"))

slip("merge", "skips_after_other_tokens", "After a token that is not merged, the next one is skipped.",
     "Tokens are missing from your result. Where nothing is merged, only one token has been dealt with.",
     ("place += 1", "place += 2"))

slip("merge", "letters_compared", "Two tokens are merged if their letters together are those of the pair.",
     "`a bc` and `ab c` have the same letters, but only one of them is the pair. Compare token with token.",
     ("if word[place : place + 2] == pair:", 'if len(word[place : place + 2]) == 2 and b"".join(word[place : place + 2]) == pair[0] + pair[1]:'))

slip("merge", "last_token_lost", "The last token of the word is lost unless it is merged.",
     "Your loop ends one place too early. The last token has no right neighbour, but it still belongs to the word.",
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
     "Learning never saw two words together: split the text first, and merge in each word alone.",
     ("in split_words(text)", "in [text]"))

slip("encode", "last_merge_first", "The merges are applied in reverse order.",
     "Late merges are made of earlier ones. If they come first, their parts are not there yet.",
     ("for pair in merges:", "for pair in reversed(merges):"))

slip("encode", "single_bytes_only", "No merge is applied.",
     "Your ids are those of single bytes. The merges are what has been learned.",
     ("word = merge(word, pair)", "merge(word, pair)"))

slip("encode", "place_among_merges", "The ids of merged tokens begin with 0 instead of 256.",
     "In the vocabulary the single bytes come first, and then the merges. Use the list that `vocabulary_of` gives.",
     ("id_of = {token: number for number, token in enumerate(vocabulary_of(merges))}",
      "id_of = {token: number % 256 for number, token in enumerate(vocabulary_of(merges))}"))

slip("encode", "value_of_the_byte", "The id of a single byte is its value.",
     "The ids are places in `vocabulary_of(merges)`, and GPT-2 has put the bytes that print first there.",
     ("id_of[token]", "(token[0] if len(token) == 1 else id_of[token])"))

slip("encode", "spaces_lost", "The spaces between words are lost.",
     "Each word takes along the space in front of it. If it is stripped, `decode` cannot give it back.",
     ("single_bytes(piece)", "single_bytes(piece.strip())"))


@misconception("encode", "A merged token may be merged again: the list is gone through in order, and not just until something fits.")
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
     "*é* may be two tokens, and neither of them is a text. Put the bytes together first.",
     ('b"".join(vocabulary[number] for number in ids).decode(errors="replace")',
      '"".join(vocabulary[number].decode(errors="replace") for number in ids)'))

slip("decode", "broken_bytes_dropped", "Bytes that are no text are left out.",
     "Then nobody sees that something was broken. They should become the sign `�`.",
     ('decode(errors="replace")', 'decode(errors="ignore")'))

slip("decode", "latin_1", "Each byte is read as a letter of its own.",
     "In UTF-8 a letter may have up to four bytes. Your text has *Ã©* where *é* is meant.",
     ('decode(errors="replace")', 'decode("latin-1")'))

slip("decode", "spaces_between", "Spaces are put between the tokens.",
     "The space in front of a word is part of its first token. Nothing else is needed between tokens.",
     ('b"".join', 'b" ".join'))

slip("decode", "ends_stripped", "White space at both ends of the text is removed.",
     "A text may begin with a space. It should come back as it was.",
     ('.decode(errors="replace")', '.decode(errors="replace").strip()'))

slip("decode", "broken_bytes_raise", "Bytes that are no text raise an exception.",
     "A model may stop in the middle of a letter. `bytes.decode` has an option for that.",
     ('decode(errors="replace")', "decode()"))

# ---------------------------------------------------------------------------------- teacher_forcing_batch

slip("teacher_forcing_batch", "not_shifted", "The decoder reads the labels themselves.",
     "The decoder would read at each place what it should write there. It has to read what was written *before*.",
     ("decoder_ids[number, 1 : len(row)] = row[:-1]", "decoder_ids[number, : len(row)] = row"))

slip("teacher_forcing_batch", "end_missing", "The last id of each target is missing in the labels.",
     "The end of a text has to be learned like everything else; otherwise the model never stops.",
     ("labels[number, : len(row)] = row", "labels[number, : len(row) - 1] = row[:-1]"))

slip("teacher_forcing_batch", "padding_counted", "All places count, padding, too.",
     "Nobody needs a model that writes padding, and short targets would count as much as long ones.",
     ("counted[number, : len(row)] = True", "counted[number] = True"))

slip("teacher_forcing_batch", "end_not_counted", "The last id of each target does not count.",
     "The end of a text has to be learned, too.",
     ("counted[number, : len(row)] = True", "counted[number, : len(row) - 1] = True"))

slip("teacher_forcing_batch", "padded_in_front", "The labels are padded in front.",
     "All targets begin at the first place, and padding stands behind short ones.",
     ("labels[number, : len(row)] = row", "labels[number, longest - len(row) :] = row"))

slip("teacher_forcing_batch", "starts_with_zero", "The decoder starts with id 0.",
     "In front of the first label stands `pad_id`, as in T5. Id 0 is an ordinary token here.",
     ("decoder_ids[number, 1 : len(row)] = row[:-1]", "decoder_ids[number, 0] = 0\n        decoder_ids[number, 1 : len(row)] = row[:-1]"))

# ---------------------------------------------------------------------------------- mixture

slip("mixture", "temperature_multiplied", "The sizes are raised to the temperature, not to its reciprocal.",
     "A high temperature should make the shares more equal. With your exponent the largest task takes nearly everything.",
     ("** (1 / temperature)", "** temperature"))

slip("mixture", "temperature_ignored", "The temperature has no effect.",
     "The exponent 1/T belongs to each task's size.",
     ("** (1 / temperature)", "** 1"))

slip("mixture", "limit_ignored", "The limit has no effect.",
     "A task counts as if it had at most `limit` examples.",
     ("min(size, most)", "size"))

slip("mixture", "not_shares", "The weights are not divided by their sum.",
     "Shares add up to 1: divide by what all tasks have together.",
     ("weight / total", "weight"))

slip("mixture", "limit_last", "The limit is applied after the temperature.",
     "The limit is a number of examples, so it applies to the size, before the root is taken.",
     ("min(size, most) ** (1 / temperature)", "min(size ** (1 / temperature), most)"))

# ---------------------------------------------------------------------------------- as_text, from_text

slip("as_text", "tenths", "The number is rounded to 0.1, not to 0.2.",
     "Only every second tenth is used, so that there are 26 answers.",
     ("round(near * 5) / 5", "near"))

slip("as_text", "always_down", "The number is always rounded down.",
     "2.79 is nearer to 2.8 than to 2.6, and should become 2.8. The nearest step may lie above a number.",
     ("round(near * 5)", "int(near * 5)"))

slip("as_text", "not_limited", "Numbers below 0 and above 5 stay what they are.",
     "A similarity is between 0 and 5; whatever lies outside becomes the nearer end.",
     ("min(max(similarity, 0.0), 5.0)", "similarity"))

slip("as_text", "halves", "The number is rounded to 0.5.",
     "The steps are 0.2, so five of them make 1. How many steps make 1 in your code?",
     ("round(near * 5) / 5", "round(near * 2) / 2"))

slip("as_text", "two_decimals", "The number has two decimals.",
     "The same number has to be the same text every time: one decimal.",
     (":.1f", ":.2f"))

slip("from_text", "no_number_is_zero", "A text that is no number becomes 0.",
     "0 would be an answer: not similar at all. What is no answer is NaN.",
     ('ValueError:\n        return float("nan")', "ValueError:\n        return 0.0"))

slip("from_text", "range_ignored", "Any number is accepted.",
     "7.2 and infinity are no similarities, so they are no answer either.",
     ("number if 0 <= number <= 5 else", "number if True else"))

slip("from_text", "clipped", "Numbers below 0 and above 5 become the nearer end.",
     "A model that writes 17 has not understood what is asked. It has given no answer, and not a perfect one.",
     ('number if 0 <= number <= 5 else float("nan")', 'min(max(number, 0.0), 5.0)'))

slip("from_text", "rounded", "The number is rounded to a whole one.",
     "The way back should give the number that was written: 3.4 should come back as 3.4, not as 3.",
     ("number = float(text)", "number = float(round(float(text)))"), )

slip("from_text", "negative_accepted", "Numbers below 0 are accepted.",
     "A similarity lies between 0 and 5, so a number below 0 is no answer, and becomes NaN.",
     ("0 <= number <= 5", "number <= 5"))

slip("from_text", "too_large_accepted", "Numbers above 5 are accepted.",
     "A similarity lies between 0 and 5, so a number above 5 is no answer, and becomes NaN.",
     ("0 <= number <= 5", "0 <= number"))

# ---------------------------------------------------------------------------------- span_corruption

slip("span_corruption", "same_sentinel", "All spans have the same sentinel.",
     "Then nobody knows which gap a span belongs to. Each span gets the next sentinel.",
     ("first_sentinel + number", "first_sentinel"))

slip("span_corruption", "no_last_sentinel", "The target has no sentinel at its end.",
     "A last sentinel says that the last span is complete.",
     ("    target.append(first_sentinel + len(spans))\n", ""))

slip("span_corruption", "end_inclusive", "Each span reaches one token further.",
     "The end of a span is exclusive, as in a slice.",
     ("ids[begin:end]", "ids[begin : end + 1]"), ("place = end", "place = end + 1"))

slip("span_corruption", "spans_stay", "What is cut out stays in the source.",
     "The model would read the answer. In the source a sentinel stands in place of the span.",
     ("place = end", "place = begin"))

slip("span_corruption", "rest_lost", "What stands behind the last span is lost.",
     "The source goes on behind the last span, to the end of the text.",
     ("    source += ids[place:]\n", ""))

slip("span_corruption", "target_without_sentinels", "The target has no sentinels in front of the spans.",
     "Each span in the target begins with its sentinel: it tells which gap is filled.",
     ("target += [sentinel, *ids[begin:end]]", "target += ids[begin:end]"))

slip("span_corruption", "whole_text", "The target is the whole text.",
     "That is a good objective, too, but a longer one: the model would write what it has just read. Only what was cut out is written.",
     ("target.append(first_sentinel + len(spans))", "target = list(ids)"))

# ---------------------------------------------------------------------------------- select_pairs

slip("select_pairs", "names_begin_alike", "A module counts as held out if its name begins with a held-out name.",
     "*networkx_metis* is not in the package *networkx*, although its name begins with it. What stands between a package's name and the rest?",
     ('f"{pair.module}.".startswith(f"{name}.")', "pair.module.startswith(name)"))

slip("select_pairs", "package_not_seen", "A module counts as held out only if it has exactly a held-out name.",
     "Whoever holds out *networkx* holds out all that is in it, for example *networkx.drawing.layout*.",
     ('f"{pair.module}.".startswith(f"{name}.")', "pair.module == name"))

slip("select_pairs", "name_anywhere", "A module counts as held out if a held-out name is anywhere in its name.",
     "*sympy.stats* is not in the package *stats*. A package's name stands at the beginning.",
     ('f"{pair.module}.".startswith(f"{name}.")', 'f".{name}." in f".{pair.module}."'))

slip("select_pairs", "whole_package_held_out", "If a module is held out, all modules of its package are.",
     "Only the module itself, and what is in it, are for the test. Its neighbours may train.",
     ('f"{pair.module}.".startswith(f"{name}.")', 'pair.module.partition(".")[0] == name.partition(".")[0]'))

slip("select_pairs", "texts_leak", "A text of the test may also be in training.",
     "Documentation is copied from module to module. A model that has read a test text with its summary only has to remember it.",
     ("set(texts)", "set()"))

slip("select_pairs", "summaries_leak", "A summary of the test may also be in training.",
     "Two texts may differ in a word and have the same summary. Leave out of training what has a summary of the test, too.",
     ("pair.summary not in summaries", "True"))

slip("select_pairs", "twice_in_test", "A text that is there twice stays in the test twice.",
     "Then it counts double, and the interval looks narrower than it is.",
     ("if pair.text not in texts:", "if True:"))

slip("select_pairs", "twice_in_training", "A text that is there twice stays in training twice.",
     "Of several training pairs with the same text only the first one stays.",
     ("            known.add(pair.text)\n", ""))

slip("select_pairs", "exchanged", "Training and test are exchanged.",
     "The held-out modules are the test, which comes second.",
     ("return training, test", "return test, training"))


slip("select_pairs", "capitals_ignored", "Capital letters make no difference between summaries.",
     "Here the same means the same letter by letter. Whether *Sum* and *sum* should count as one is another decision.",
     ("{pair.summary for pair in test}", "{pair.summary.lower() for pair in test}"), ("pair.summary not in summaries", "pair.summary.lower() not in summaries"))


@misconception("select_pairs", "The test has to stay as it is, whatever is in training. What is in both is left out of training.")
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
     "A run that both texts have twice counts twice. Count how often each of them occurs.",
     ("(Counter(runs(text)) for text in (candidate, reference))", "(Counter(set(runs(text))) for text in (candidate, reference))"))

slip("rouge_n", "not_clipped", "Each run of the candidate counts if it is anywhere in the reference.",
     "*the the the* would get full marks for a reference with one *the*. A run counts at most as often as it is in the other text.",
     ("common = (ours & theirs).total()", "common = sum(count for run, count in ours.items() if run in theirs)"))

slip("rouge_n", "divided_by_words", "Precision and recall are divided by the number of words, not of runs.",
     "A text of m words has m - n + 1 runs of n. By what do you have to divide so that a text gets 1 beside itself?",
     ("common / ours.total(), common / theirs.total()", "common / len(candidate), common / len(reference)"))

slip("rouge_n", "runs_side_by_side", "The runs do not overlap.",
     "*a b c* has two runs of two words: *a b* and *b c*. With which words can a run begin?",
     ("range(len(text) - n + 1)", "range(0, len(text) - n + 1, n)"))

slip("rouge_n", "last_run_missing", "The last run of each text is left out.",
     "A text of n words has one run of n words: itself. How many does your code find there?",
     ("range(len(text) - n + 1)", "range(len(text) - n)"))

slip("rouge_n", "order_ignored", "The words of a run may be in any order.",
     "*of the* and *the of* are not the same run. The order is what runs of two add to single words.",
     ("tuple(text[place : place + n])", "tuple(sorted(text[place : place + n]))"))

slip("rouge_n", "n_ignored", "Single words are counted, whatever n is.",
     "With n = 2 what counts is two neighbouring words together.",
     ("text[place : place + n]", "text[place : place + 1]"), ("range(len(text) - n + 1)", "range(len(text))"))

slip("rouge_n", "swapped", "Precision and recall are exchanged.",
     "Precision is about what was *written*: the share of its runs that are wanted. Recall is about what was *wanted*.",
     ("common / ours.total(), common / theirs.total()", "common / theirs.total(), common / ours.total()"))

slip("rouge_n", "arithmetic_mean", "F1 is the plain mean of precision and recall.",
     "F1 is the *harmonic* mean, which is low as soon as one of the two is low.",
     ("2 * precision * recall / (precision + recall)", "(precision + recall) / 2"))

slip("rouge_n", "recall_only", "F1 is the recall.",
     "Recall alone rewards whoever writes much. F1 is the harmonic mean of precision and recall.",
     ("2 * precision * recall / (precision + recall)", "recall"))

slip("rouge_n", "nothing_in_common", "If nothing is in common, it divides by zero.",
     "With no run in common both shares are 0, and so is F1. What does the formula say then?",
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
