"""Asks SmolLM2 the questions about the course's own texts, and keeps what it answered; see docs/data-questions.md.

.venv/bin/python solutions/10_question_answering_pytorch/ask_language_model.py

writes course_utils/data/paragraphs_asked.json. The development part chooses how many texts it sees with their answers, and when
it says nothing. The questions of the test part are asked once. It takes about a quarter of an hour of one core.
"""

from __future__ import annotations

import json
import random
import time
from itertools import groupby

import numpy as np
import torch
from train_weights import defined

from course_utils.data.paragraphs import ASKED, NOTHING, load_paragraphs
from course_utils.data.questions import QuestionExample
from course_utils.models import smollm
from course_utils.models.smollm_lines import lines_after, shares_after

SHOWN = (1, 2, 4)
"""Numbers of texts that are tried, each with two questions that it answers and one that it does not."""

LONGEST = 24
TASK = f"Answer each question with words from its text. If the text does not say it, the answer is: {NOTHING}\n\n"


def asked(one: QuestionExample) -> str:
    return f"Text: {one.context}\nQuestion: {one.question}\nAnswer:"


def shown(examples: tuple[QuestionExample, ...], seed: int = 0) -> list[str]:
    """Texts with three questions and their answers, in an order that is drawn."""
    drawn = random.Random(seed)
    texts = []
    for _, questions in groupby(examples, key=lambda one: one.document):
        kinds: dict[bool, list[QuestionExample]] = {True: [], False: []}
        for one in questions:
            kinds[bool(one.answers)].append(one)
        if kinds[False] and len(kinds[True]) > 1:
            three = drawn.sample([*drawn.sample(kinds[True], 2), kinds[False][0]], 3)
            texts.append(
                "".join(f"{asked(one)} {next(iter(one.answer_texts), NOTHING)}\n\n" for one in three)
            )
    return drawn.sample(texts, max(SHOWN))


def main() -> None:
    f1 = defined()["f1"]
    texts = shown(load_paragraphs("training"))
    model = smollm.library_model(dict(smollm.read_weights()))
    tokenizer = smollm.load_tokenizer()

    def answers(number: int, examples: tuple[QuestionExample, ...]) -> tuple[list[str], np.ndarray]:
        """Its lines, and the logarithm of the probability of saying nothing."""
        questions = [asked(one) for one in examples]
        prefix = TASK + "".join(texts[:number])
        lines = lines_after(model, tokenizer, prefix, questions, "", LONGEST)
        return lines, shares_after(model, tokenizer, prefix, questions, "", [NOTHING])[:, 0].numpy()

    development = load_paragraphs("development")
    tried = {}
    for number in SHOWN:
        lines, nothing = answers(number, development)
        spoken = [f1("" if line == NOTHING else line, one.answer_texts) for line, one in zip(lines, development, strict=True)]  # fmt: skip
        silent = [f1("", one.answer_texts) for one in development]
        found = {
            limit: float(np.where(nothing >= limit, silent, spoken).mean())
            for limit in [*nothing.tolist(), 1.0]
        }
        limit = max(found, key=found.__getitem__)
        tried[number] = {
            "without": round(float(np.mean(spoken)), 3),
            "f1": round(found[limit], 3),
            "limit": limit,
        }
        print(f"{number} texts: {tried[number]}", flush=True)
    best = max(tried, key=lambda number: tried[number]["f1"])
    kept = {"tried": tried, "shown": best}
    # Every third question of development: the notebook compares on these.
    for part, examples in {"development": development[::3], "test": load_paragraphs("test")}.items():
        begun = time.process_time()
        lines, nothing = answers(best, examples)
        said = {one.id: [line, round(float(share), 3)] for one, line, share in zip(examples, lines, nothing, strict=True)}  # fmt: skip
        kept[part] = {"seconds": round(time.process_time() - begun), "said": said}
    ASKED.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
