"""Texts as numbers and back, by words, by characters or by pieces of words, all with the same methods.

:class:`Vocabulary` numbers the words or characters that it has seen; :class:`SubwordVocabulary` learns pieces by byte-pair
encoding (Sennrich et al. 2016, "Neural machine translation of rare words with subword units"), so that it can spell words
that it does not contain.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from course_utils.data.words import join_words, normalise, word_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")

Unit = Literal["word", "character"]


class VocabularyFileError(ValueError):
    """A file does not contain a vocabulary of this kind; the message says why."""


class Vocabulary:
    """The words or characters of some texts, numbered.

    Attributes:
        pad_id, bos_id, eos_id, unk_id: 0, 1, 2, 3: padding, begin and end of a sentence, and all unknown tokens.
        unit: what a token is.
    """

    pad_id, bos_id, eos_id, unk_id = range(4)

    def __init__(self, tokens: Sequence[str], unit: Unit = "word") -> None:
        """Numbers ``tokens`` in order, starting at 4. To collect them from texts, see :meth:`from_texts`.

        Raises:
            ValueError: a token occurs twice, or is a special one.
        """
        self.unit = unit
        self._tokens = (*SPECIAL, *tokens)
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        if len(self._ids) < len(self._tokens):
            repeated = [token for token, count in Counter(self._tokens).items() if count > 1]
            raise ValueError(
                f"Each token may occur only once, but these are repeated: {', '.join(repeated[:5])}."
            )

    @classmethod
    def from_texts(cls, texts: Iterable[str], unit: Unit = "word", max_size: int | None = None) -> Self:
        """The tokens of ``texts``, the most frequent first; equally frequent ones in alphabetical order.

        Args:
            max_size: the most tokens, including special ones. The rest will be unknown.
        """
        counts = Counter(token for text in texts for token in _split(text, unit))
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        room = None if max_size is None else max(max_size - len(SPECIAL), 0)
        return cls(ranked[:room], unit)

    def __len__(self) -> int:
        """How many tokens there are, with the special ones: the size of an embedding table."""
        return len(self._tokens)

    def encode(self, text: str) -> list[int]:
        """A text's ids, ending with ``eos_id``. ``bos_id`` is not added in front: a decoder is started with it."""
        return [*(self._ids.get(token, self.unk_id) for token in _split(text, self.unit)), self.eos_id]

    def decode(self, ids: Iterable[int]) -> str:
        """The text for these ids, up to the first ``eos_id``; ``bos_id`` and padding are dropped.

        Raises:
            IndexError: the vocabulary has no such id.
        """
        tokens = self.tokens(_content(ids))
        return join_words(tokens) if self.unit == "word" else "".join(tokens)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id, special ones too: labels for the axes of a heat map.

        Raises:
            IndexError: the vocabulary has no such id.
        """
        return [self._tokens[_known(number, len(self))] for number in ids]

    def save(self, path: Path | str) -> None:
        """Writes a JSON file that :meth:`load` reads."""
        content = {"unit": self.unit, "tokens": self._tokens[len(SPECIAL) :]}
        Path(path).write_text(json.dumps(content, ensure_ascii=False, indent=0), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The vocabulary that :meth:`save` wrote.

        Raises:
            VocabularyFileError: the file is missing, or contains something else.
        """
        try:
            content = json.loads(_read(path))
            unit, tokens = content["unit"], content["tokens"]
            if unit not in ("word", "character") or not all(isinstance(token, str) for token in tokens):
                raise TypeError
            return cls(tokens, unit)
        except (json.JSONDecodeError, KeyError, TypeError):
            raise VocabularyFileError(
                f"{path} is not a vocabulary: it should contain a JSON object with unit (word or character) and tokens (a list "
                "of strings). Make it with Vocabulary.save."
            ) from None
        except ValueError as error:
            if isinstance(error, VocabularyFileError):
                raise
            raise VocabularyFileError(f"{path} is not a vocabulary. {error}") from None


class SubwordVocabulary:
    """Pieces of words learned by byte-pair encoding. A piece that begins a word begins with ▁ (U+2581).

    Attributes:
        pad_id, bos_id, eos_id, unk_id: 0, 1, 2, 3, as in :class:`Vocabulary`; unknown are characters that occurred in no text.
    """

    pad_id, bos_id, eos_id, unk_id = range(4)

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Takes a trained tokenizer. To train one, see :meth:`from_texts`."""
        self._tokenizer = tokenizer

    @classmethod
    def from_texts(cls, texts: Iterable[str], size: int) -> Self:
        """Learns at most ``size`` pieces, the special tokens and single characters among them.

        An apostrophe ends a piece and a punctuation mark is a separate piece, so "l'Afrique ?" becomes l', Afrique and ?.
        """
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[cls.unk_id]))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(),
                pre_tokenizers.Split(Regex("'"), "merged_with_previous"),
                pre_tokenizers.Split(Regex(r"[\s]?[.,?!;:]"), "isolated"),
            ]
        )
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(SPECIAL), show_progress=False)
        tokenizer.train_from_iterator(map(normalise, texts), trainer)
        return cls(tokenizer)

    def __len__(self) -> int:
        """How many pieces there are, with the special tokens: the size of an embedding table."""
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """A text's ids, ending with ``eos_id``. ``bos_id`` is not added in front: a decoder is started with it."""
        return [*self._tokenizer.encode(normalise(text)).ids, self.eos_id]

    def decode(self, ids: Iterable[int]) -> str:
        """The text for these ids, up to the first ``eos_id``; ``bos_id`` and padding are dropped.

        Raises:
            IndexError: the vocabulary has no such id.
        """
        return self._tokenizer.decoder.decode(self.tokens(_content(ids)))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The piece of each id, special tokens too: labels for the axes of a heat map.

        Raises:
            IndexError: the vocabulary has no such id.
        """
        return [self._tokenizer.id_to_token(_known(number, len(self))) for number in ids]

    def save(self, path: Path | str) -> None:
        """Writes a JSON file that :meth:`load` reads, in the format of the tokenizers library."""
        Path(path).write_text(self._tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The vocabulary that :meth:`save` wrote.

        Raises:
            VocabularyFileError: the file is missing, or contains something else.
        """
        from tokenizers import Tokenizer

        text = _read(path)
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception:  # the library raises nothing more specific
            tokenizer = None
        if tokenizer is None or [tokenizer.id_to_token(number) for number in range(4)] != list(SPECIAL):
            raise VocabularyFileError(
                f"{path} is not a vocabulary of word pieces with the special tokens {', '.join(SPECIAL)}. "
                "Make it with SubwordVocabulary.save."
            )
        return cls(tokenizer)


TextEncoder = Vocabulary | SubwordVocabulary


def _split(text: str, unit: Unit) -> list[str]:
    return word_tokens(text) if unit == "word" else list(text)


def _content(ids: Iterable[int]) -> list[int]:
    """Ids before the first end of a sentence, without those that represent no text."""
    content = []
    for number in map(int, ids):
        if number == Vocabulary.eos_id:
            break
        if number not in (Vocabulary.pad_id, Vocabulary.bos_id):
            content.append(number)
    return content


def _known(number: int, size: int) -> int:
    if not 0 <= number < size:
        raise IndexError(f"There is no token with the id {number}; the vocabulary has ids 0 to {size - 1}.")
    return int(number)


def _read(path: Path | str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise VocabularyFileError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise VocabularyFileError(f"{path} is not a UTF-8 text file, so it is not a vocabulary.") from None
