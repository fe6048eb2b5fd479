"""Correct versions of lab 13's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# exercises above it under their own names; in this file the plain versions below stand in for them.

import itertools
from collections import Counter

from course_utils.data.byte_pairs import single_bytes, split_words, vocabulary_of
from grader.catalogue import variant


def merge(word, pair):
    done, i = (), 0
    while i < len(word):
        step = 1 + (tuple(word[i : i + 2]) == tuple(pair))
        done, i = (*done, b"".join(word[i : i + step])), i + step
    return done


# ---------------------------------------------------------------------------------- pair_counts


@variant("pair_counts")
def by_places(words):
    """Goes through places, with a plain dict."""
    found = {}
    for word in words:
        for i in range(len(word) - 1):
            key = (word[i], word[i + 1])
            found[key] = found.get(key, 0) + words[word]
    return found


@variant("pair_counts")
def by_repeating(words):
    """Counts the pairs of each word and multiplies."""
    total = Counter()
    for word, times in words.items():
        for pair, n in Counter(itertools.pairwise(word)).items():
            total[pair] += n * times
    return total


@variant("pair_counts")
def by_pairwise(vocab):
    """itertools.pairwise and a defaultdict."""
    from collections import defaultdict
    from itertools import pairwise

    table = defaultdict(int)
    for symbols, frequency in vocab.items():
        for both in pairwise(symbols):
            table[both] += frequency
    return table


# ---------------------------------------------------------------------------------- merge


@variant("merge")
def merge_with_iterator(word, pair):
    """Remembers the token before, and decides one step later."""
    result, waiting = [], None
    for token in word:
        if waiting is not None and (waiting, token) == pair:
            result.append(waiting + token)
            waiting = None
        else:
            if waiting is not None:
                result.append(waiting)
            waiting = token
    if waiting is not None:
        result.append(waiting)
    return tuple(result)


@variant("merge")
def merge_in_place(word, pair):
    """Deletes from a list while going through it."""
    tokens, i = list(word), 0
    while i < len(tokens) - 1:
        if tokens[i] == pair[0] and tokens[i + 1] == pair[1]:
            tokens[i] = tokens[i] + tokens.pop(i + 1)
        i += 1
    return tuple(tokens)


@variant("merge")
def merge_by_recursion(word, pair):
    """Splits at the first place where the pair stands."""
    for i in range(len(word) - 1):
        if word[i : i + 2] == tuple(pair):
            left = (*word[:i], b"".join(pair))
            return left + merge_by_recursion(word[i + 2 :], pair)
    return tuple(word)


# ---------------------------------------------------------------------------------- encode


@variant("encode")
def encode_by_rank(text, merges):
    """As long as a pair of the list is there, merges the one that was learned first."""
    ranks = {pair: number for number, pair in enumerate(merges)}
    vocabulary = vocabulary_of(merges)
    found = []
    for piece in split_words(text):
        word = single_bytes(piece)
        while True:
            there = [ranks[pair] for pair in itertools.pairwise(word) if pair in ranks]
            if not there:
                break
            word = merge(word, merges[min(there)])
        found += [vocabulary.index(token) for token in word]
    return found


@variant("encode")
def encode_all_words_at_once(text, merges):
    """Applies each merge to all words before the next one."""
    pieces = [single_bytes(piece) for piece in split_words(text)]
    for pair in merges:
        pieces = [merge(piece, pair) for piece in pieces]
    numbers = {token: place for place, token in enumerate(vocabulary_of(merges))}
    return [numbers[token] for piece in pieces for token in piece]


@variant("encode")
def encode_with_memory(text, merges):
    """Remembers words that it has met before."""
    place_of = dict(zip(vocabulary_of(merges), range(10**6), strict=False))
    memory, ids = {}, []
    for piece in split_words(text):
        if piece not in memory:
            tokens = tuple(bytes([byte]) for byte in piece.encode("utf-8"))
            for pair in merges:
                tokens = merge(tokens, pair)
            memory[piece] = list(map(place_of.get, tokens))
        ids = ids + memory[piece]
    return ids


# ---------------------------------------------------------------------------------- decode


@variant("decode")
def decode_into_bytearray(ids, merges):
    """Collects bytes in a bytearray."""
    table, found = vocabulary_of(merges), bytearray()
    for number in ids:
        found += table[number]
    return str(found, "utf-8", "replace")


@variant("decode")
def decode_from_numbers(ids, merges):
    """Flattens to numbers first."""
    tokens = vocabulary_of(merges)
    return bytes([byte for one in ids for byte in tokens[one]]).decode("utf-8", "replace")


@variant("decode")
def decode_by_adding(ids, merges):
    """Adds bytes up."""
    names, total = dict(enumerate(vocabulary_of(merges))), b""
    for i in ids:
        total = total + names[i]
    return total.decode(errors="replace")
