"""Correct versions of lab 12's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# exercises above it under their own names; in this file the plain versions below stand in for them.

import itertools
from collections import Counter

import numpy as np

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

    def merged(rest):
        for i in range(len(rest) - 1):
            if rest[i : i + 2] == tuple(pair):
                return (*rest[:i], b"".join(pair), *merged(rest[i + 2 :]))
        return tuple(rest)

    return merged(word)


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


# ---------------------------------------------------------------------------------- teacher_forcing_batch


@variant("teacher_forcing_batch")
def batch_by_lists(rows, pad_id):
    """Pads lists, and compares places with lengths."""
    lengths = np.array([len(row) for row in rows])
    most = lengths.max()
    labels = np.array([list(row) + [pad_id] * (most - len(row)) for row in rows])
    start = np.array([[pad_id] + list(row[:-1]) + [pad_id] * (most - len(row)) for row in rows])
    return start, labels, np.arange(most) < lengths[:, None]


@variant("teacher_forcing_batch")
def batch_by_roll(rows, pad_id):
    """Rolls the labels of all rows, then cleans up behind the end."""
    most = max(len(row) for row in rows)
    counted = np.zeros((len(rows), most), bool)
    labels = np.full(counted.shape, pad_id)
    for i, row in enumerate(rows):
        counted[i, : len(row)] = True
        labels[i][counted[i]] = row
    decoder = np.roll(labels, 1, axis=1)
    decoder[:, 0] = pad_id
    return np.where(counted, decoder, pad_id), labels, counted


@variant("teacher_forcing_batch")
def batch_by_numbers(targets, pad):
    """Place by place."""
    width = sorted(map(len, targets))[-1]
    a, b, c = [], [], []
    for t in targets:
        a.append([pad if j == 0 or j >= len(t) else t[j - 1] for j in range(width)])
        b.append([t[j] if j < len(t) else pad for j in range(width)])
        c.append([j < len(t) for j in range(width)])
    return np.array(a), np.array(b), np.array(c)


# ---------------------------------------------------------------------------------- mixture


@variant("mixture")
def mixture_in_numpy(sizes, temperature=1.0, limit=None):
    """Arrays, with np.minimum."""
    numbers = np.array(list(sizes.values()), dtype=float)
    if limit is not None:
        numbers = np.minimum(numbers, limit)
    numbers = np.power(numbers, 1.0 / temperature)
    return dict(zip(sizes, numbers / numbers.sum(), strict=True))


@variant("mixture")
def mixture_of_rates(sizes, temperature=1.0, limit=None):
    """Rates first, as in the paper, then their roots, normalised again."""
    cut = {name: size if limit is None or size < limit else limit for name, size in sizes.items()}
    whole = sum(cut.values())
    roots = {name: (size / whole) ** (1 / temperature) for name, size in cut.items()}
    return {name: root / sum(roots.values()) for name, root in roots.items()}


@variant("mixture")
def mixture_in_logarithms(sizes, temperature=1.0, limit=None):
    """A softmax of the logarithms divided by the temperature."""
    names = list(sizes)
    logs = np.log([min(sizes[name], limit or float("inf")) for name in names]) / temperature
    shares = np.exp(logs - logs.max())
    return {name: float(share) for name, share in zip(names, shares / shares.sum(), strict=True)}


# ---------------------------------------------------------------------------------- as_text, from_text


@variant("as_text")
def as_text_nearest(similarity):
    """The nearest of the 26 answers."""
    answers = [number / 5 for number in range(26)]
    return f"{min(answers, key=lambda answer: abs(answer - similarity)):.1f}"


@variant("as_text")
def as_text_numpy(similarity):
    """np.clip and np.rint."""
    return "%.1f" % (np.rint(np.clip(similarity, 0, 5) / 0.2) * 0.2)


@variant("as_text")
def as_text_whole_numbers(similarity):
    """Tenths as whole numbers, and a point between the digits."""
    tenths = max(0, min(50, 2 * round(similarity * 5)))
    return f"{tenths // 10}.{tenths % 10}"


@variant("from_text")
def from_text_in_range(text):
    """Raises for itself what is out of range."""
    try:
        value = float(text)
        if not (value >= 0 and value <= 5):
            raise ValueError
        return value
    except ValueError:
        return np.nan


@variant("from_text")
def from_text_or_nothing(text):
    """Decides at the beginning that there is no answer."""
    answer = float("nan")
    try:
        number = float(text.strip())
    except ValueError:
        return answer
    if 0 <= number <= 5:
        answer = number
    return answer


@variant("from_text")
def from_text_by_suppress(text):
    """contextlib.suppress, and a comparison that is False for NaN."""
    import contextlib

    with contextlib.suppress(ValueError):
        if abs(float(text) - 2.5) <= 2.5:
            return float(text)
    return float("nan")


# ---------------------------------------------------------------------------------- span_corruption


@variant("span_corruption")
def spans_by_places(ids, spans, first_sentinel):
    """Goes through all places and asks which span each is in."""
    source, target = [], []
    for place, token in enumerate(ids):
        inside = [number for number, (begin, end) in enumerate(spans) if begin <= place < end]
        if not inside:
            source.append(token)
            continue
        if place == spans[inside[0]][0]:
            source.append(first_sentinel + inside[0])
            target.append(first_sentinel + inside[0])
        target.append(token)
    return source, [*target, first_sentinel + len(spans)]


@variant("span_corruption")
def spans_from_the_back(ids, spans, first_sentinel):
    """Replaces slices from the last span on, so that places stay right."""
    source, target = list(ids), [first_sentinel + len(spans)]
    for number in range(len(spans) - 1, -1, -1):
        begin, end = spans[number]
        target = [first_sentinel + number, *source[begin:end], *target]
        source[begin:end] = [first_sentinel + number]
    return source, target


@variant("span_corruption")
def spans_with_edges(ids, spans, first_sentinel):
    """The stretches between the spans, put together with sentinels."""
    from itertools import chain, count

    edges = [0] + [edge for span in spans for edge in span] + [len(ids)]
    kept = [ids[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    source = list(kept[0])
    for number, part in enumerate(kept[1:]):
        source += [first_sentinel + number, *list(part)]
    marked = [[mark, *list(ids[a:b])] for mark, (a, b) in zip(count(first_sentinel), spans, strict=False)]
    return source, [*chain(*marked), first_sentinel + len(spans)]

# ---------------------------------------------------------------------------------- select_pairs


@variant("select_pairs")
def select_by_parents(pairs, held_out):
    """Asks whether a module's own name or one of its packages' names is held out; dicts remember the first of each text."""

    def is_held(module):
        parts = module.split(".")
        return any(".".join(parts[:number]) in held_out for number in range(1, len(parts) + 1))

    test, train = {}, {}
    for pair in pairs:
        if is_held(pair.module):
            test.setdefault(pair.text, pair)
    summaries = {pair.summary for pair in test.values()}
    for pair in pairs:
        if not is_held(pair.module) and pair.text not in test and pair.summary not in summaries:
            train.setdefault(pair.text, pair)
    return list(train.values()), list(test.values())


@variant("select_pairs")
def select_in_steps(pairs, held_out):
    """Divides first, then removes what is there twice, at last what leaks."""
    names = tuple(name + "." for name in held_out)
    inside = [(pair.module + ".").startswith(names) for pair in pairs]
    held = [pair for pair, yes in zip(pairs, inside, strict=True) if yes]
    free = [pair for pair, yes in zip(pairs, inside, strict=True) if not yes]
    test = [pair for place, pair in enumerate(held) if all(pair.text != one.text for one in held[:place])]
    texts = [pair.text for pair in test]
    summaries = [pair.summary for pair in test]
    clean = [pair for pair in free if pair.text not in texts and pair.summary not in summaries]
    training = []
    for pair in clean:
        if pair.text not in [one.text for one in training]:
            training.append(pair)
    return training, test


@variant("select_pairs")
def select_by_prefix_or_equal(items, modules):
    """Equal, or the held-out name and a dot in front."""

    def held(item):
        return item.module in modules or any(item.module.startswith(m + ".") for m in modules)

    def once(some):
        seen = set()
        return [x for x in some if not (x.text in seen or seen.add(x.text))]

    test = once(filter(held, items))
    banned = {x.text for x in test}, {x.summary for x in test}
    train = once(x for x in items if not held(x) and x.text not in banned[0] and x.summary not in banned[1])
    return train, test


# ---------------------------------------------------------------------------------- rouge_n


@variant("rouge_n")
def rouge_by_zip(candidate, reference, n):
    """zip of shifted texts; the smaller count of each run."""
    a = Counter(zip(*(candidate[i:] for i in range(n)), strict=False))
    b = Counter(zip(*(reference[i:] for i in range(n)), strict=False))
    overlap = sum(min(a[run], b[run]) for run in a)
    if not overlap:
        return 0.0, 0.0, 0.0
    p, r = overlap / sum(a.values()), overlap / sum(b.values())
    return p, r, 2 / (1 / p + 1 / r)


@variant("rouge_n")
def rouge_by_crossing_out(candidate, reference, n):
    """Crosses out in the reference what has been found."""

    def grams(words):
        return [tuple(words[i : i + n]) for i in range(len(words)) if i + n <= len(words)]

    left, wanted, hits = grams(reference), len(grams(reference)), 0
    written = grams(candidate)
    for gram in written:
        if gram in left:
            left.remove(gram)
            hits += 1
    precision = hits / len(written) if written else 0.0
    recall = hits / wanted if wanted else 0.0
    f1 = 2 * hits / (len(written) + wanted) if hits else 0.0
    return precision, recall, f1


@variant("rouge_n")
def rouge_by_sorted_runs(candidate, reference, n):
    """Goes through both sorted lists of runs side by side."""
    ours = sorted(tuple(candidate[k : k + n]) for k in range(max(len(candidate) - n + 1, 0)))
    theirs = sorted(tuple(reference[k : k + n]) for k in range(max(len(reference) - n + 1, 0)))
    i = j = same = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            same, i, j = same + 1, i + 1, j + 1
        elif ours[i] < theirs[j]:
            i += 1
        else:
            j += 1
    if same == 0:
        return (0.0,) * 3
    return same / len(ours), same / len(theirs), 2 * same / (len(ours) + len(theirs))


# ---------------------------------------------------------------------------------- length_penalty


@variant("length_penalty")
def penalty_one_by_one(totals, lengths, alpha):
    """Goes through the hypotheses, with the two powers of the paper."""
    scores = []
    for total, length in zip(totals, lengths, strict=True):
        scores.append(total / ((5 + length) ** alpha / (5 + 1) ** alpha))
    return np.array(scores)


@variant("length_penalty")
def penalty_in_logarithms(totals, lengths, alpha):
    """The power as an exponential."""
    return totals * np.exp(-alpha * (np.log(5 + lengths) - np.log(6)))


@variant("length_penalty")
def penalty_negative_power(log_probs, n, a):
    """Multiplies by a power with a negative exponent."""
    shrink = np.power((np.asarray(n, dtype=float) + 5.0) / 6.0, -a)
    return np.multiply(shrink, log_probs)
