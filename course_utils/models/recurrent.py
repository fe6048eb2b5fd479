"""A recurrent translator to compare a Transformer with: LSTM encoder and decoder with attention, in PyTorch.

It is called like lab 05's Transformer and trained in the same steps, so that only the architecture differs.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class RecurrentTranslator(nn.Module):
    """Encoder-decoder of LSTMs with Luong's attention (Luong et al. 2015, sections 3 and 3.1, the *general* score).

    The encoder reads the source in both directions. The decoder reads the target's words so far, attends to the
    encoder's states with each of its own, and scores the next word from both.

    Args:
        source_vocab_size, target_vocab_size: sizes of the two vocabularies.
        embedding_dim: width of the embeddings.
        hidden_size: width of the states, an even number: each direction of the encoder has half of it.
        dropout_rate: for the embeddings and for the input of the final layer.
        pad_id: the id of padding.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        embedding_dim: int,
        hidden_size: int,
        dropout_rate: float = 0.1,
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.source_embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.target_embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.reader = nn.LSTM(embedding_dim, hidden_size // 2, batch_first=True, bidirectional=True)
        self.writer = nn.LSTM(embedding_dim, hidden_size, batch_first=True)
        self.general = nn.Linear(hidden_size, hidden_size, bias=False)
        self.combine = nn.Linear(2 * hidden_size, hidden_size)
        self.to_words = nn.Linear(hidden_size, target_vocab_size)
        self.drop = nn.Dropout(dropout_rate)

    @classmethod
    def of_size(
        cls, parameters: int, source_vocab_size: int, target_vocab_size: int, embedding_dim: int, **options
    ) -> Self:
        """The translator whose number of parameters comes closest to ``parameters``."""

        def size(hidden_size: int) -> int:
            with torch.device("meta"):  # counts without allocating anything
                model = cls(source_vocab_size, target_vocab_size, embedding_dim, hidden_size)
            return sum(parameter.numel() for parameter in model.parameters())

        best = min(range(16, 1025, 2), key=lambda hidden_size: abs(size(hidden_size) - parameters))
        return cls(source_vocab_size, target_vocab_size, embedding_dim, best, **options)

    def forward(
        self, source_ids: torch.Tensor, target_ids: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Scores for the next word at each position of the target.

        Args:
            source_ids: (batch, src_len), padded at the end.
            target_ids: (batch, tgt_len), what the decoder has read so far.

        Returns:
            logits (batch, tgt_len, target_vocab_size); a list with one entry, the attention weights of shape
            (batch, 1, tgt_len, src_len).
        """
        real = source_ids.ne(self.pad_id)
        packed = pack_padded_sequence(
            self.drop(self.source_embedding(source_ids)),
            real.sum(1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        states, (last, cell) = self.reader(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=source_ids.size(1))
        start = tuple(torch.cat(tuple(both), -1)[None] for both in (last, cell))  # (1, batch, hidden_size)
        asking, _ = self.writer(self.drop(self.target_embedding(target_ids)), start)
        fits = torch.bmm(self.general(asking), memory.mT)  # (batch, tgt_len, src_len)
        shares = fits.masked_fill(~real.unsqueeze(1), float("-inf")).softmax(-1)  # (batch, tgt_len, src_len)
        found = torch.cat((torch.bmm(shares, memory), asking), dim=-1)  # (batch, tgt_len, 2 * hidden_size)
        return self.to_words(self.drop(self.combine(found).tanh())), [shares.unsqueeze(1)]
