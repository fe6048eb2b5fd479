"""Misconceptions as they are written down: functions, classes, and slips on the reference's text."""

from __future__ import annotations

import inspect

import pytest

from grader.catalogue import Entry, load_entries
from grader.course import CourseError

HEAD = "from grader.catalogue import misconception, slip, stand_in\n\n"

DOUBLE = '''def half_of(x):
    return x / 2


def double(x):
    """Doubles x."""
    twice = x + x
    return twice
'''

LAYER = '''class Layer:
    """Adds one, then doubles."""

    def __init__(self, step=1):
        self.step = step

    def call(self, x):
        x = x + self.step
        return double(x) + 0 * self.step
'''

TEXTS = {"double": DOUBLE, "Layer": LAYER}


def reference() -> dict:
    names: dict = {"__name__": "reference"}
    for text in TEXTS.values():
        exec(text, names)
    return names


@pytest.fixture
def written(tmp_path):
    """Loads a catalogue of this text."""

    def load(text: str) -> dict[str, list[Entry]]:
        path = tmp_path / "00_tiny" / "misconceptions.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + text)
        return load_entries(path, lambda: TEXTS, reference)

    load.path = tmp_path / "00_tiny" / "misconceptions.py"
    return load


def refusal(written, text: str) -> str:
    """What is said about a catalogue, without the folder of its file."""
    with pytest.raises(CourseError) as error:
        for entries in written(text).values():
            for entry in entries:
                _ = entry.value
    return str(error.value).replace(f"{written.path.parent}/", "")


def test_a_slip_is_the_reference_with_other_words(written):
    ((entry,),) = written(
        'slip("double", "trebled", "Trebles.", "Look again.", ("x + x", "x + x + x"))'
    ).values()
    assert (entry.exercise, entry.name, entry.title, entry.hint) == (
        "double",
        "trebled",
        "Trebles.",
        "Look again.",
    )
    assert entry.source == DOUBLE.replace("x + x", "x + x + x")
    assert entry.value(5) == 15
    assert inspect.getsource(entry.value) == entry.source.partition("\n\n\n")[2]
    assert entry.value is entry.value


def test_a_slip_in_a_class_sees_what_the_notebook_has(written):
    ((entry,),) = written(
        'slip("Layer", "twice", "Adds twice.", "", ("x + self.step", "x + 2 * self.step"))'
    ).values()
    assert entry.value(3).call(1) == 14
    assert "x + 2 * self.step" in inspect.getsource(entry.value.call)


def test_several_replacements_are_made_in_the_text_as_it_is_there(written):
    ((entry,),) = written(
        'slip("double", "exchanged", "So.", "", ("x / 2", "x + x"), ("x + x", "half_of(x)"), ("twice", "result", 2))'
    ).values()
    assert entry.value(6) == 12
    assert entry.source.count("result") == 2 and "twice" not in entry.source


def test_a_replacement_may_be_made_as_often_as_it_says(written):
    ((entry,),) = written('slip("Layer", "fixed", "So.", "", ("self.step", "self.steps", 3))').values()
    assert entry.source.count("self.steps") == 3
    assert entry.value(3).call(1) == 8


def test_a_slip_leaves_the_reference_alone(written):
    names = reference()
    written.path.parent.mkdir()
    written.path.write_text(HEAD + 'slip("double", "halved", "So.", "", ("x + x", "half_of(x)"))')
    ((entry,),) = load_entries(written.path, lambda: TEXTS, lambda: names).values()
    assert entry.value(6) == 3 and names["double"](6) == 12


def test_the_reference_is_asked_only_by_who_needs_it(written):
    def nobody():
        raise AssertionError

    function = '@misconception("double", "")\ndef added_two(x):\n    """Adds two."""\n    return x + 2\n'
    written(function)
    ((entry,),) = load_entries(written.path, nobody, nobody).values()
    assert entry.value(5) == 7
    written('slip("double", "halved", "Halves.", "", ("x + x", "half_of(x)"))')
    ((entry,),) = load_entries(written.path, lambda: TEXTS, nobody).values()
    assert entry.title == "Halves."


def test_functions_and_slips_keep_the_order_in_which_they_are_written(written):
    entries = written(
        'slip("double", "first", "So.", "", ("x + x", "x"))\n\n'
        '@misconception("double", "A hint.")\ndef second(x):\n    """Gives back x. And more."""\n    return x\n\n\n'
        'slip("Layer", "other", "So.", "", ("+ 0", "- 0"))\n'
        'slip("double", "third", "So.", "", ("x + x", "x * x"))\n\n'
        '@misconception("double", "")\nclass fourth:\n    """A class."""\n'
    )
    assert [entry.name for entry in entries["double"]] == ["first", "second", "third", "fourth"]
    second = entries["double"][1]
    assert second.source == 'def double(x):\n    """Gives back x. And more."""\n    return x\n'
    assert (second.title, second.hint) == ("Gives back x. And more.", "A hint.")
    assert entries["double"][3].source.startswith("class double:")


def test_one_name_may_stand_for_mistakes_of_two_exercises(written):
    entries = written(
        '@misconception("double", "")\ndef same(x):\n    """One."""\n    return 1\n\n'
        '@misconception("Layer", "")\ndef same(x):\n    """Two."""\n    return 2\n'
    )
    assert [entries[name][0].value(0) for name in ("double", "Layer")] == [1, 2]
    assert "return 1" in entries["double"][0].source and "return 2" in entries["Layer"][0].source


def test_a_stand_in_takes_the_place_of_its_exercise_for_other_slips_only(written):
    entries = written(
        "@stand_in\ndef double(x):\n    return 1000 * x\n\n\n"
        'slip("Layer", "twice", "So.", "", ("x + self.step", "x + 2 * self.step"))\n'
        'slip("double", "alone", "So.", "", ("return twice", "return twice + 1"))\n'
    )
    assert entries["Layer"][0].value(3).call(1) == 7000
    assert entries["double"][0].value(5) == 11


SLIP = 'slip("double", "wrong", "So.", "",'
ONE = '@misconception("double", "")\ndef wrong(x):\n    """One."""\n'


@pytest.mark.parametrize(
    "text, said",
    [
        (
            f'\n{SLIP}\n     ("x - x", "x"))',
            "misconceptions.py:4: the slip wrong replaces 'x - x', which is in the solution cell of double 0 times, not once.",
        ),
        (
            f'{SLIP} ("twice", "x"))',
            "misconceptions.py:3: the slip wrong replaces 'twice', which is in the solution cell of double 2 times, not once.",
        ),
        (
            f'{SLIP} ("x + x", "x", 3))',
            "misconceptions.py:3: the slip wrong replaces 'x + x', which is in the solution cell of double once, not 3 times.",
        ),
        (
            f'{SLIP} ("x + x", "x"), ("= x + x", "= 1"))',
            "misconceptions.py:3: the slip wrong replaces texts that overlap in the solution cell of double.",
        ),
        (
            f'{SLIP} ("x + x", "x +"))',
            "misconceptions.py:3: the solution cell of double with the slip wrong cannot be run: "
            "SyntaxError: invalid syntax (<00_tiny: double, wrong>, line 7)",
        ),
        (
            f'{SLIP} ("def double", "missing\\ndef double"))',
            "misconceptions.py:3: the solution cell of double with the slip wrong cannot be run: "
            "NameError: name 'missing' is not defined",
        ),
        (
            'slip("treble", "wrong", "So.", "", ("x", "y"))',
            "misconceptions.py:3 names an exercise that the lab does not have: treble.",
        ),
        (
            f'{SLIP} ("x + x", "x"))\n{SLIP} ("x + x", "1"))',
            "misconceptions.py:4: double already has an entry wrong.",
        ),
        (
            'slip("double", "wrong", " ", "", ("x + x", "x"))',
            "misconceptions.py:3: wrong needs a title: one sentence that says what its code does.",
        ),
        (
            'slip("double", "wrong", "So.", 5, ("x + x", "x"))',
            "misconceptions.py:3: it cannot be imported: TypeError: its hint is a text in quotes, not 5",
        ),
        (
            'slip("double", "wrong", "So.", "", ("x + x", 5))',
            "misconceptions.py:3: it cannot be imported: TypeError: what it replaces is (old, new) or (old, new, count), with texts in quotes, "
            "not ('x + x', 5)",
        ),
        (
            ONE.replace('""', "5", 1),
            "misconceptions.py:3: it cannot be imported: TypeError: its hint is a text in quotes, not 5",
        ),
        (
            ONE.replace('"double"', "None"),
            "misconceptions.py:3: it cannot be imported: TypeError: its exercise is a text in quotes, not None",
        ),
        (f"{ONE}\n\n{ONE}", "misconceptions.py:8: double already has an entry wrong."),
        (
            f'{SLIP} ("x + x", "x"))\n\n{ONE}',
            "misconceptions.py:5: double already has an entry wrong.",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence_with_its_line(written, text, said):
    assert refusal(written, text) == said
