"""What the checks of question answering share in both frameworks: texts whose tokens are known, a scripted reader, weights, batches."""

from __future__ import annotations

import operator
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from course_utils.cases.properties import f32, normal, together
from course_utils.checking.exercise import Case, Inputs, Outputs

SEP, PAD = 102, 0  # as in the pretrained encoder's vocabulary

BLOCKED = -1e4  # a logit that is not above this one stands for "never"

_LETTERS = "barbokcasdoldumfenfirgimgolhulhevjatjorkaskiblemlurmonmignornuvpelpodquarusritsabseltivtokurmvopwexyadzanzib"

_BEGINNINGS = [_LETTERS[place : place + 3] for place in range(0, len(_LETTERS), 3)]

_ENDINGS = ("ast", "est", "ist", "ost", "ust")


def new_words(rng: np.random.Generator, count: int) -> list[str]:
    """Invented words of two pieces; three letters each, no two begin with the same."""
    return [f"{beginning}{rng.choice(_ENDINGS)}" for beginning in rng.permutation(_BEGINNINGS)[:count]]


def written(words: Sequence[str]) -> list[str]:
    """Every second word with a capital, and all others with the sign of the unit angstrom.

    So a text in lower case, without accents, or in any normal form of Unicode has other tokens, some of them at other places.
    """
    return [word.title() if place % 2 else f"{word[:3]}\u212b{word[3:]}" for place, word in enumerate(words)]


class PieceTokenizer:
    """``tokenize(text)`` gives (ids, offsets): a word's first three letters, the rest of it, and marks are tokens."""

    def __call__(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens' ids, and where each stands: ``text[start:end]``."""
        offsets = [found.span() for found in re.finditer(r"\b\w{1,3}|\w+|[^\w\s]", text)]
        return [self.id_of(text[start:end]) for start, end in offsets], offsets

    @staticmethod
    def id_of(piece: str) -> int:
        """The same piece has always the same id, from 1,000 on; another one if a letter is a capital or has an accent."""
        return 1000 + zlib.crc32(piece.encode()) % 30_000


class CharacterTokenizer:
    """Called like the other one. Every character is a token, white space too."""

    def __call__(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        return [1000 + ord(character) for character in text], [
            (place, place + 1) for place in range(len(text))
        ]


def spaced(rng: np.random.Generator) -> tuple[str, str, str]:
    """A question, a text, and the text's second word, in capitals.

    No white space at an edge stands anywhere else, and the question has no mark at its end: whatever is cleaned away is missed.
    """
    *asked_for, first, second, third = new_words(rng, 5)
    question = "\t{}\n {}\u2003".format(*asked_for)
    return question, f"\u2002{first}  {second.upper()}.\n{third}\u00a0", second.upper()


def place_of(context: str, words: str, mention: int = 0) -> tuple[int, int]:
    """Where the words stand in the context, ``end`` exclusive; mentions are counted from 0."""
    start = [found.start() for found in re.finditer(re.escape(words), context)][mention]
    return start, start + len(words)


def index(found: Any, name: str) -> int:
    """A whole number that a list can be indexed with, of whatever type.

    Raises:
        TypeError: it is none. The number 3.0 is none, either: ``offsets[3.0]`` fails.
    """
    try:
        return operator.index(found)
    except TypeError:
        raise TypeError(f"{name} is {found!r}; expected a whole number, to index with.") from None


BATCH, LENGTH, WIDTH = 3, 9, 5  # no two sizes are equal, and none is 2


def allowed_places(batch: int = BATCH, length: int = LENGTH) -> np.ndarray:
    """(batch, length): [CLS], and in each row another stretch of the text."""
    place = np.arange(length)
    begins, ends = 3 + np.arange(batch) % 3, length - 1 - np.arange(batch) % 2
    return (place == 0) | ((place >= begins[:, None]) & (place < ends[:, None]))


def readable_logits(found: Sequence[np.ndarray], allowed: np.ndarray) -> dict[str, np.ndarray]:
    """Logits with 0 where no answer may be; and apart from them what stands there, where -10,000 is low enough.

    Raises:
        TypeError: they have another shape than the mask.
    """
    for name, logits in zip(("start_logits", "end_logits"), found, strict=True):
        if logits.shape != allowed.shape:
            raise TypeError(f"{name} has shape {logits.shape}; expected (batch, seq_len) = {allowed.shape}.")
    start, end = found
    return {
        "start_logits": np.where(allowed, start, 0),
        "end_logits": np.where(allowed, end, 0),
        "logits where nothing is allowed": np.stack(
            [np.where(allowed, BLOCKED, np.maximum(logits, BLOCKED)) for logits in found]
        ),
    }


def every_other_place_is_blocked(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """A logit is -10,000 or less at every place that is not allowed."""
    return outputs["logits where nothing is allowed"] <= BLOCKED


WINDOW = 12  # [CLS], three tokens of the question, [SEP], six of the context (5 to 10), [SEP]

IN_CONTEXT = (np.arange(WINDOW) >= 5) & (np.arange(WINDOW) <= 10)

Planted = Mapping[int, float]

SPANS: dict[str, tuple[Planted, Planted, int, float]] = {  # title: starts, ends, max_answer_length, shift
    "the best start and the best end fit together": ({6: 5}, {8: 5}, 6, 0.0),
    "the best start stands behind the best end": ({9: 6, 5: 3}, {6: 6, 10: 4.5}, 6, 0.0),
    "the best start has no good end": ({9: 6, 6: 5}, {7: 6, 10: 2}, 6, 0.0),
    "the best pair is longer than allowed": ({5: 7, 7: 5}, {10: 7, 8: 5}, 3, 0.0),
    "four tokens are one too many, three are not": ({5: 7, 6: 5}, {8: 7}, 3, 0.0),
    "the question looks better than the context": ({2: 9, 7: 5}, {3: 9, 8: 5}, 5, 0.0),
    "[CLS] looks better than the context": (  # by so much that no share of the context is above 0
        {0: 900, 6: 5},
        {0: 900, 7: 5},
        5,
        0.0,
    ),
    "a single token": ({8: 6}, {8: 6, 9: 2}, 4, 0.0),
    "the last token of the context; [SEP] looks better": ({10: 6, 11: 9}, {10: 6, 11: 9}, 4, 0.0),
    "all logits are below -30,000": ({7: 5}, {9: 5}, 5, -3e4),
}


def first_of_equals(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    in_context: np.ndarray,
    longest: int,
    first: int,
    last: int,
) -> tuple[int, int]:
    """Among the possible spans with exactly the score of this one, the first: of several that are equally good, any will do.

    A span that is not possible stays what it is.
    """
    place = np.arange(len(in_context))
    far = place - place[:, None]
    possible = in_context[:, None] & in_context & (far >= 0) & (far < longest)
    if not (0 <= first < len(place) and 0 <= last < len(place) and possible[first, last]):
        return first, last
    sums = start_logits.astype(float)[:, None] + end_logits.astype(float)
    same = np.argwhere(possible & (sums == sums[first, last]))
    return int(same[0, 0]), int(same[0, 1])


def equally_good(rng: np.random.Generator) -> Inputs:
    """Two pairs have the best score, and a third one has a token too many for it."""
    start, end = rng.integers(-8, 1, (2, WINDOW)) / 4
    start[[5, 9]] = rng.integers(8, 40) / 4
    end[[6, 10]] = rng.integers(8, 40) / 4
    return {
        "start_logits": f32(start),
        "end_logits": f32(end),
        "in_context": IN_CONTEXT.copy(),
        "max_answer_length": 4,
    }


def best_score_of_0(rng: np.random.Generator) -> Inputs:
    """A window in which the scores of all other pairs are below 0, and that of the best one is exactly 0."""
    starts, ends = f32(rng.uniform(-6, -5, (2, WINDOW)))
    starts[6], ends[8] = -3, 3
    return {
        "start_logits": starts,
        "end_logits": ends,
        "in_context": IN_CONTEXT.copy(),
        "max_answer_length": 6,
    }


def smallest_window(rng: np.random.Generator) -> Inputs:
    """A window of one token, whose logits are below 0, and answers of one token."""
    start, end = f32(rng.uniform(-9, -1, (2, 1)))
    return {
        "start_logits": start,
        "end_logits": end,
        "in_context": np.ones(1, dtype=bool),
        "max_answer_length": 1,
    }


VOCABULARY, FEATURES = 17, 4


def reader_weights(rng: np.random.Generator, scale: float) -> dict[str, np.ndarray]:
    """Of the tiny reader: embeddings of tokens and of the two segments, and the head."""
    return {
        "embedding": f32(normal(rng, VOCABULARY, FEATURES, scale=0.5)),
        "kind": f32(normal(rng, 2, FEATURES)),
        "output": f32(normal(rng, FEATURES, 2, scale=scale)),
    }


def reader_batch(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Made windows with a question of 2 tokens, a context, and padding at different places."""
    ends = length - 1 - np.arange(batch) % 3  # of each row's context: there stands [SEP]
    place = np.arange(length)
    context = (place >= 4) & (place < ends[:, None])
    start = 4 + np.arange(batch) % 2
    ids = rng.integers(1, VOCABULARY, (batch, length)) * (place <= ends[:, None])
    return {  # in no order: what is wanted is found by its name
        "end_positions": start + 1,
        "allowed": context | (place == 0),
        "attention_mask": (place <= ends[:, None]).astype(np.int64),
        "start_positions": start,
        "token_type_ids": ((place >= 4) & (place <= ends[:, None])).astype(np.int64),
        "input_ids": ids,
    }


class ScriptedReader:
    """Called like the lab's reader. What it thinks of a token is written down, by the token and the one before it.

    Attributes:
        starts, ends: (id before, id) -> logit; for all others about 0, a little different for every id.
        nothing: id -> what the logits of [CLS] gain if this token is in the window.
        leaning: id -> what the start logit of [CLS] gains, and its end logit loses, if this token is in the window.
        plain: if it is not None, all that is not planted is 0, and both logits of [CLS] are this number.
        shares: its logits are to be logarithms of shares, so that they depend on where an answer is allowed.
        masks: its logits are -1e9 wherever no answer is allowed; else it is up to who asks.
    """

    plain: float | None = None
    shares = False
    masks = True

    def __init__(self) -> None:
        self.starts: dict[tuple[int, int], float] = {}
        self.ends: dict[tuple[int, int], float] = {}
        self.nothing: dict[int, float] = {}
        self.leaning: dict[int, float] = {}
        self.training = True
        self.careless = False  # it was asked in training mode, or with gradients
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the model of this check has no `{name}`. It can be called, and it has `train()`, `eval()` and `training`"
        )

    def train(self, mode: bool = True) -> ScriptedReader:
        self.training = mode
        return self

    def eval(self) -> ScriptedReader:
        return self.train(False)

    def logits(self, ids: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
        """(2, batch, seq_len)."""
        before = np.concatenate([np.zeros_like(ids[:, :1]), ids[:, :-1]], axis=1)
        found = np.zeros((2, *ids.shape))
        for row, column in np.ndindex(*ids.shape):
            pair = int(before[row, column]), int(ids[row, column])
            small = 0.2 * np.sin(np.array([3.0, 5.0]) * pair[1] + pair[0]) * (self.plain is None)
            found[:, row, column] = small + np.array([self.starts.get(pair, 0), self.ends.get(pair, 0)])
        for row, tokens in enumerate(ids.tolist()):
            nothing, leaning = (
                sum(weights.get(token, 0) for token in set(tokens))
                for weights in (self.nothing, self.leaning)
            )
            found[:, row, 0] = (
                0.5 + nothing / 2 + np.array([leaning, -leaning]) if self.plain is None else self.plain
            )
        if allowed is not None and self.masks:
            found = np.where(np.asarray(allowed, dtype=bool), found, -1e9)
        return f32(found)

    def __call__(
        self, input_ids: Any, attention_mask: Any = None, token_type_ids: Any = None, allowed: Any = None
    ):
        import torch

        self.careless |= self.training or torch.is_grad_enabled()
        for name, given in {"input_ids": input_ids, "allowed": allowed}.items():
            if given is not None and (not isinstance(given, torch.Tensor) or given.ndim != 2):
                raise TypeError(f"`{name}` must be a tensor (batch, seq_len).")
        if allowed is not None and allowed.dtype != torch.bool:
            raise TypeError(f"`allowed` is of {allowed.dtype}; expected booleans, which `~` inverts.")
        self.rows += len(input_ids)
        found = self.logits(input_ids.numpy(), None if allowed is None else allowed.numpy())
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])


def asked(
    words: int,
    says: tuple[int, int],
    mention: int = 0,
    space: str = "",
    strength: float = 4.0,
    nothing: Mapping[int, float] | None = None,
    twice: bool = False,
    threshold: float | None = 0.0,
    decoy: int | None = None,
    plain: float | None = None,
    mark: str = "?",
    new_reader: Callable[[], ScriptedReader] = ScriptedReader,
) -> Callable[[np.random.Generator], Inputs]:
    """A text of so many words, and a reader that finds those from one word to before another in it.

    ``nothing``: number of a word -> how much it speaks for no answer. ``decoy``: a word of the text that the reader
    finds, too, but less: its start is better, its end far worse. ``twice``: the answer's words stand at the beginning of the text as well. ``threshold``: None
    leaves this and the other settings to the function's defaults. ``plain``: see the reader, which ``new_reader`` makes.
    ``mark``: what the question ends with; a question mark would speak for no answer.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        known = written(new_words(rng, words + 3))
        text, question = known[:words], known[words:]
        if twice:
            text[1 : 1 + says[1] - says[0]] = text[slice(*says)]
            before = text[says[0] - 1][
                3:
            ]  # what stands in front of the mentions tells the reader which is which
            text[0] = text[0][:3] + next(ending for ending in _ENDINGS if ending != before)
        tokenize, reader = PieceTokenizer(), new_reader()
        reader.plain = plain
        # so the question may not be changed
        reader.nothing = dict.fromkeys(tokenize(" ".join(question) + mark + "?")[0], 0.05)
        context = space + " ".join(text) + "."
        ids, offsets = tokenize(context)
        starts = [start for start, _ in offsets]

        def plant(first_word: int, last_word: int, start: float, end: float, occurrence: int) -> None:
            first = starts.index(place_of(context, text[first_word], occurrence)[0])
            last = (
                starts.index(place_of(context, text[last_word], occurrence)[0]) + 1
            )  # a word has two pieces
            reader.starts[ids[first - 1] if first else SEP, ids[first]] = start
            reader.ends[ids[last - 1], ids[last]] = end

        plant(says[0], says[1] - 1, strength, strength, int(twice))
        if decoy is not None:
            plant(decoy, decoy, strength + 0.5, strength - 3.5, 0)
        for word, weight in (nothing or {}).items():
            reader.nothing[tokenize.id_of(text[word][:3])] = weight
        settings = {"max_length": 26, "overlap": 6, "max_answer_length": 8, "threshold": threshold}
        return {
            "question": " ".join(question) + mark,
            "context": context,
            "model": reader,
            "tokenize": tokenize,
            **({} if threshold is None else settings),
        }

    return inputs


def long_text(new_reader: Callable[[], ScriptedReader]) -> Callable[[np.random.Generator], Inputs]:
    """A text of 242 tokens, for a function that is called with its defaults: two windows, the second begins with token 102.

    The best answer has 16 tokens; one token more in front of it would make it better. The lowest no-answer score is that of the
    second window, and it is another one if this window begins earlier or later.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        *known, early, in_front, first = written(new_words(rng, 24))
        question, special, others = known[:3], known[3:13], known[13:]
        text = [others[place] for place in rng.integers(0, len(others), 112)]
        text[10] = early
        text[50:50] = [".", in_front[:3], first[:3]]  # a token each, 100 to 102; all others have two
        text[80:80] = special  # tokens 157 to 176
        tokenize, reader = PieceTokenizer(), new_reader()
        context = " ".join(text) + "."
        ids, _ = tokenize(context)
        reader.nothing = dict.fromkeys(tokenize(" ".join(question) + "?")[0], 0.05)
        reader.nothing |= {ids[20]: 9.0, ids[101]: 2.0, ids[102]: 3.0}
        reader.starts = {(ids[157], ids[158]): 5.5, (ids[158], ids[159]): 4.0}
        reader.ends = {(ids[173], ids[174]): 4.0}
        return {
            "question": " ".join(question) + "?",
            "context": context,
            "model": reader,
            "tokenize": tokenize,
        }

    return inputs


def readable_answer(found: Any, reader: ScriptedReader) -> dict[str, np.ndarray]:
    """What ``answer`` returned, as arrays.

    Raises:
        TypeError: it is no (start, end, margin).
    """
    if not isinstance(found, (tuple, list)) or len(found) != 3 or any(part is None for part in found):
        raise TypeError(f"it returned {found!r}; expected (start, end, margin).")
    if any(isinstance(part, str) for part in found):
        raise TypeError(f"it returned {found!r}; expected numbers: where the answer stands, not its text.")
    start, end, margin = found
    return {
        "start": np.array(index(start, "start")),
        "end": np.array(index(end, "end")),
        "margin": np.array(float(margin)),
        "called as in an evaluation": np.array(reader.rows > 0 and not reader.careless),
    }


def no_answer_is_nowhere(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """There is an answer if and only if the margin is above the threshold."""
    return (outputs["end"] > outputs["start"]) == (outputs["margin"] > inputs.get("threshold", 0.0))


_ANSWERS: dict[str, Mapping[str, Any]] = {  # title -> what `asked` is called with
    "a short context": {"words": 6, "says": (2, 4)},
    "one word, the last one of the context; the question ends with a full stop": {
        "words": 6,
        "says": (5, 6),
        "mark": ".",
    },
    "white space in front of the context": {"words": 6, "says": (1, 3), "space": " \n  "},
    "the answer's words stand there twice": {"words": 7, "says": (4, 6), "twice": True},
    # One window, not the one with the answer, has by far the lowest no-answer score: which of the scores is taken then shows at every seed.
    "a context of several windows, the answer in the last": {
        "words": 21,
        "says": (18, 20),
        "nothing": {1: 6.0, 13: 9.0, 19: 3.0},
    },
    "the answer in the first window, something like it in the last": {  # which is short, and has the best margin of its own
        "words": 18,
        "says": (3, 5),
        "decoy": 16,
        "nothing": {1: 6.0, 8: 3.0, 13: 9.0},
    },
    "no answer: [CLS] has the best score": {"words": 6, "says": (2, 4), "nothing": {4: 15.0}},
    "no answer in the first window, one in the last": {
        "words": 21,
        "says": (18, 20),
        "nothing": {1: 15.0, 8: 6.0, 19: 3.0},
    },
    "a threshold of 9, a margin below": {"words": 6, "says": (2, 4), "threshold": 9.0},
    "a threshold of -9, a margin above": {
        "words": 6,
        "says": (2, 4),
        "nothing": {4: 9.0},
        "threshold": -9.0,
    },
}


def answer_cases(new_reader: Callable[[], ScriptedReader]) -> tuple[Case, ...]:
    """What ``answer`` is tried on in both frameworks."""

    def no_answer_scores_apart(rng: np.random.Generator) -> Inputs:
        """The lowest sum at [CLS] is in the third of four windows, the lowest start logit there in the first."""
        made = asked(21, (8, 10), nothing={1: 6.0, 8: 3.0, 19: 9.0}, new_reader=new_reader)(rng)
        ids, _ = made["tokenize"](made["context"])
        made["model"].leaning[ids[2]] = -5.0  # word 1, which only the first window has
        return made

    def temptations_elsewhere(rng: np.random.Generator) -> Inputs:
        """The question and the last [SEP] look better than the answer, in three windows without padding. Only the second has the answer; the
        first has by far the lowest no-answer score: the shares of one window say nothing of another's.
        """
        nothing = {8: 9.4, 14: 5.0}  # words of the second and of the third window alone
        made = asked(16, (8, 9), nothing=nothing, threshold=-3.0, new_reader=new_reader)(rng)
        made["max_length"] = 25
        reader = made["model"]
        reader.shares = True
        asked_ids, ids = (made["tokenize"](made[text])[0] for text in ("question", "context"))
        for pair in ((asked_ids[1], asked_ids[2]), (ids[-1], SEP)):
            reader.starts[pair] = reader.ends[pair] = 7.0
        return made

    def unmasked_temptations(rng: np.random.Generator) -> Inputs:
        """The same of a reader that leaves it to who asks where an answer may stand."""
        made = temptations_elsewhere(rng)
        made["model"].shares = made["model"].masks = False
        return made

    def white_space_counts(rng: np.random.Generator) -> Inputs:
        """Every character is a token; the reader finds the second word, and each white space at an edge speaks a little against it."""
        question, context, word = spaced(rng)
        tokenize, reader = CharacterTokenizer(), new_reader()
        (asked_ids, _), (ids, _) = tokenize(question), tokenize(context)
        start, end = place_of(context, word)
        reader.nothing = dict.fromkeys([*asked_ids, ids[0], ids[-1]], 0.1)
        reader.starts = {(ids[start - 1], ids[start]): 5.0}
        reader.ends = {(ids[end - 2], ids[end - 1]): 5.0}
        return {
            "question": question,
            "context": context,
            "model": reader,
            "tokenize": tokenize,
            "max_length": 64,
            "overlap": 6,
        }

    def at_the_threshold(above: float) -> Callable[[np.random.Generator], Inputs]:
        def inputs(rng: np.random.Generator) -> Inputs:
            strength = int(rng.integers(16, 60)) / 8  # sums and differences of eighths are exact
            at = 2 * strength - 3 - above
            return asked(6, (2, 4), strength=strength, threshold=at, plain=1.5, new_reader=new_reader)(rng)

        return inputs

    return (
        *(Case(title, asked(**each, new_reader=new_reader)) for title, each in _ANSWERS.items()),
        Case("four windows, the lowest no-answer score not where the answer is", no_answer_scores_apart),
        Case(
            "the question and [SEP] look better than the context; then to a model that does not mask its logits",
            together(temptations_elsewhere, unmasked_temptations),
        ),
        Case("every character is a token, white space too", white_space_counts),
        Case(
            "a margin that is equal to the threshold, and one just above it",
            together(*map(at_the_threshold, (0, 0.125))),
        ),
        Case(
            "called with the defaults: a long text; a margin just above 0; one just below",
            together(
                long_text(new_reader),
                *(asked(6, (2, 4), threshold=None, plain=at, new_reader=new_reader) for at in (3.97, 4.03)),
            ),
        ),
    )
