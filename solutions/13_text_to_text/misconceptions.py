"""Wrong ways to write lab 13's exercises. Each must lose points and be recognised as itself."""

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
