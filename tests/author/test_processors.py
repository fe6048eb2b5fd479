"""A class has the same verdicts, points and names on other processors, with what is committed from this one."""

from __future__ import annotations

import json

import processors
import pytest
from project import turn_of

CLASSES = (
    "02_self_attention",
    "05_transformer_pytorch",
    "06_transformer_tensorflow",
    "08_language_model_and_summarizer",
    "13_your_own_dataset",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_gets_the_same_verdicts_points_and_names_on_every_processor(labs, name, tmp_path, request):
    """A lab has its turn for as many days as there are processors. What a build judges, it judges on them, too
    (test_all_builds.py); here are also points, parts of checks, and what is only possible.
    """
    every = request.config.getoption("--every-lab")
    if not every and name != CLASSES[turn_of(len(CLASSES), len(processors.ROWS))]:
        pytest.skip("it takes turns with other labs, and it is another's day; --every-lab runs all of them")
    here = json.loads(json.dumps(processors.verdicts(labs[name])))
    for row in processors.in_turn(every):
        file = tmp_path / f"{row.name}.json"
        assert not processors.in_row(row, processors.__file__, name, file), row.name
        there = json.loads(file.read_text("utf-8"))
        assert there.keys() == here.keys()
        different = {who: (here[who], there[who]) for who in here if here[who] != there[who]}
        assert not different, row.name


SEEN = """
import json, sys, numpy, torch
from numpy._core._multiarray_umath import __cpu_features__ as features
from threadpoolctl import threadpool_info
cores = {each["architecture"] for each in threadpool_info() if each["internal_api"] == "openblas"}
seen = [torch.get_num_threads(), torch.backends.cpu.get_cpu_capability().lower(), *cores]
with open(sys.argv[1], "w") as file:
    json.dump([seen, [name for name, there in features.items() if there]], file)
"""


@pytest.mark.slow
def test_the_libraries_do_what_a_row_says(tmp_path, request):
    for row in processors.in_turn(every=request.config.getoption("--every-lab")):
        assert not processors.in_row(row, "-c", SEEN, tmp_path / "seen.json"), row.name
        seen, features = json.loads((tmp_path / "seen.json").read_text("utf-8"))
        assert seen == [row.threads, row.torch, row.openblas], row.name
        assert not set(features) & set(row.numpy_without.split()), row.name
