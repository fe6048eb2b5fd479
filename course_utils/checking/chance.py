"""Makes random numbers depend on a seed, even if the code that draws them forgot to set one.

Two runs of the same code must give the same arrays, so everything that draws without a seed of its own is given one:
Python's ``random``, NumPy (its old functions and its new generators), PyTorch, TensorFlow and Keras, if they are loaded.
Out of reach are the addresses of objects, the time, and random bytes from the operating system.
"""

from __future__ import annotations

import contextlib
import random
import sys
import zlib
from collections.abc import Iterator

import numpy as np


def fix(*seed: int | str) -> None:
    """From now on, all numbers drawn without a seed depend on ``seed`` alone."""
    number = zlib.crc32(repr(seed).encode())
    with contextlib.suppress(Exception):  # in a library that a learner has tampered with
        random.seed(number)
        np.random.seed(number)
        # where NumPy gets the seeds for generators that are made without one
        np.random.bit_generator.randbits = random.Random(number).getrandbits
    with contextlib.suppress(Exception):
        if torch := sys.modules.get("torch"):
            torch.default_generator.manual_seed(number)
    with contextlib.suppress(Exception):
        if keras := sys.modules.get("keras"):
            keras.utils.set_random_seed(number)
        elif tensorflow := sys.modules.get("tensorflow"):
            tensorflow.random.set_seed(number)


@contextlib.contextmanager
def fixed(*seed: int | str) -> Iterator[None]:
    """Like :func:`fix`, inside a ``with`` block.

    Afterwards the generators of Python, NumPy and PyTorch go on as if nothing had been drawn. TensorFlow's cannot be turned back:
    it goes on from the seed.
    """
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(Exception):
            stack.callback(random.setstate, random.getstate())
            stack.callback(np.random.set_state, np.random.get_state())
            entropy = np.random.bit_generator.randbits
            stack.callback(setattr, np.random.bit_generator, "randbits", entropy)
            if torch:
                stack.callback(torch.default_generator.set_state, torch.default_generator.get_state())
        fix(*seed)
        yield
