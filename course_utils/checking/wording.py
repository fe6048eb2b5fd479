"""An exception's words in one form, whichever Python, library or machine has written them.

CPython says the same in other words from version to version: 3.13 has "too many values to unpack (expected 2)", 3.15 "too many
values to unpack (expected 2, got 3)". Messages are brought to one form before they are stored or compared, so that a mistake is
recognised everywhere. Where one version says less than another, that is the form; else it is Python 3.11's. What is shown to a learner stays as it was.
"""

from __future__ import annotations

import re
from functools import lru_cache

_REWORDED = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        # Python 3.14 adds what it got, if it can count it
        (r"^(ValueError: too many values to unpack \(expected \d+), got \d+\)", r"\1)"),
        (r"^(TypeError: not enough arguments for format string) \(got \d+\)$", r"\1"),
        (r"^(TypeError: not all arguments converted during string formatting) \(required \d+, got \d+\)$", r"\1"),
        # 3.15 no longer says what was done
        (r"^ZeroDivisionError: (?:float |integer |complex )?(?:floor )?(?:division|modulo|divmod\(\))(?: or modulo)?(?: by zero)?$",
         "ZeroDivisionError: division by zero"),
        (r"^ZeroDivisionError: (?:0\.0 cannot be raised to a negative power|zero to a negative power)$",
         "ZeroDivisionError: 0.0 cannot be raised to a negative power"),
        (r"^ZeroDivisionError: (?:0\.0|zero) to a negative or complex power$", "ZeroDivisionError: 0.0 to a negative or complex power"),
        # 3.14 says which numbers a function of `math` takes
        (r"^ValueError: (?:expected an? (?:positive input|nonnegative input|finite input|noninteger or positive integer|number (?:between|in range) ).*|expected argument value .*)$",
         "ValueError: math domain error"),
        (r"^OverflowError: \(\d+, '[\w ]+'\)$", "OverflowError: (34, 'Numerical result out of range')"),  # in the C library's words
        (r"^RecursionError: (?:maximum recursion depth exceeded|Stack overflow).*", "RecursionError: maximum recursion depth exceeded"),
        # 3.14 says where the value was used
        (r"^TypeError: cannot use '[^']*' as a (?:dict key|set element|frozenset element) \((unhashable type: .*)\)$", r"TypeError: \1"),
        # 3.14 leaves the function's name out
        (r"^TypeError: .* argument after (\*\*?) must be ", r"TypeError: Value after \1 must be "),
        (r"^(TypeError: argument of type '[^']*' is not) a container or iterable$", r"\1 iterable"),
        (r"^(TypeError: slice indices must be integers or) (?!None)", r"\1 None or "),
        (r"^TypeError: cannot convert dictionary update sequence element #\d+ to a sequence$", "TypeError: object is not iterable"),
        (r"^TypeError: format argument(?: \S+)?: %[eEfFgG] requires a (real number), not (\w+)$", r"TypeError: must be \1, not \2"),
        (r"^TypeError: format argument(?: \S+)?: (%\w) requires (an integer|a real number), not (\w+)$", r"TypeError: \1 format: \2 is required, not \3"),
        (r"^TypeError: format argument(?: \S+)?: %c requires .*", "TypeError: %c requires int or char"),
        (r"^(TypeError: format requires a mapping), not \w+$", r"\1"),
        (r"^TypeError: complex\(\) (?:first )?argument must be a string or a number, not '?(\w+)'?$",
         r"TypeError: complex() argument must be a string or a number, not \1"),
        (r"^(TypeError: '[^']*' object does not support the (?:asynchronous )?context manager protocol) \(.*\)$", r"\1"),
        (r"^TypeError: expected str, bytes or os\.PathLike object, not (\w+)$|^TypeError: argument should be a str or an os\.PathLike object where __fspath__ returns a str, not '(\w+)'$",
         r"TypeError: expected str, bytes or os.PathLike object, not \1\2"),
        (r"^(TypeError: Can't instantiate abstract class \w+) (?:with|without an implementation for) abstract methods? (.*)$",
         lambda found: f"{found[1]} with abstract methods {found[2].replace(chr(39), '')}"),
        # functions of C: two ways to count arguments, and they change from one to the other
        (r"^TypeError: (\w+)(?:\(\))? (?:takes|expected) (at least|at most|exactly) (\d+) (?:positional )?arguments?,? \(?(?:got )?(\d+)(?: given\))?$",
         r"TypeError: \1() takes \2 \3 arguments (\4 given)"),
        (r"^(TypeError: .*? got an unexpected keyword argument '[^']*')\. Did you mean .*", r"\1"),
        (r"^TypeError: '(\w+)' is an invalid keyword argument for (\w+)\(\)$", r"TypeError: \2() got an unexpected keyword argument '\1'"),
        (r"^TypeError: (?:[\w.]+\.)?(__\w+__)(?: returned non-(\w+) \(type (\w+)\)|\(\) must return an? (\w+), not (\w+))$",
         lambda found: f"TypeError: {found[1]} returned non-{_IN_FULL.get(found[2] or found[4], found[2] or found[4])} (type {found[3] or found[5]})"),
        (r"^TypeError: (?:__bool__ should return bool, returned|__bool__ returned non-bool \(type) (\w+)\)?$", r"TypeError: __bool__ should return bool, returned \1"),
        (r"^TypeError: (?:iter\(\) returned non-iterator of type '(\w+)'|__iter__ returned non-iterator \(type (\w+)\))$",
         r"TypeError: iter() returned non-iterator of type '\1\2'"),
        (r"^TypeError: (?:can only assign an iterable|must assign iterable to extended slice)$", "TypeError: can only assign an iterable"),
        (r"^(TypeError: non-default argument '\w+' follows default argument) '\w+'$", r"\1"),
        (r"^(AttributeError: .*? has no attribute '[^']*') and no __dict__ for setting new attributes$", r"\1"),
        (r"^(AttributeError: module '[^']*' has no attribute '[^']*') \(consider renaming .*", r"\1"),
        (r"^ValueError: (max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)$", r"ValueError: \1() arg is an empty sequence"),
        (r"^ValueError: (?:.* is not in (?:list|deque|range)|(?:list|deque|range)\.(?:index|remove)\(x\): x not in (?:list|deque|range))$", "ValueError: x not in list"),
        (r"^ValueError: empty range (?:for|in) rand(?:range|int)\(.*", "ValueError: empty range for randrange()"),
        (r"^ValueError: (\w+ must be in \d+\.\.\d+), not .*", r"ValueError: \1"),
        (r"^ValueError: day .*(?:is out of|must be in) range.*", "ValueError: day is out of range for month"),
        (r"^(ImportError: cannot import name '[^']*' from (?:partially initialized module )?'[^']*')(?: \(.*\))?$", r"\1"),  # a path of the machine
        (r"^(\w+Error: )\[Errno -?\d+\] ", r"\1"),  # errors have other numbers on other systems
        (r"^(?:PatternError|error): ", "error: "),  # of `re`
        (r"^JSONDecodeError: Illegal trailing comma before end of array", "JSONDecodeError: Expecting value"),
        (r"^JSONDecodeError: Illegal trailing comma before end of object",
         "JSONDecodeError: Expecting property name enclosed in double quotes"),
    )
)  # fmt: skip
"""What is said in several ways, and the one form of it. Each pattern begins at the start: with what kind of error it is."""


_IN_FULL = {"str": "string"}
"""What Python calls a type where it does not use its name."""


@lru_cache(maxsize=4096)
def in_one_form(message: str) -> str:
    """The message of a :class:`~course_utils.checking.outcome.Problem` in the form that is the same everywhere. To do it again changes nothing."""
    for pattern, form in _REWORDED:
        message = pattern.sub(form, message, count=1)
    return message


OWN_WORDS = re.compile(
    r"(?:TypeError|ValueError|AssertionError|LookupError|Wrong\w+): "
    r"(?=(?:it|its|the|there|an?|no|in|two|gone|with|when|afterwards)\b|`)(.)",
    re.IGNORECASE,
)
"""How an error begins that a check raises about what a function returned."""


def said_by_a_check(message: str, where: str) -> bool:
    """Whether a check says what is wrong: no line of the learner's raised it."""
    return not where and (OWN_WORDS.match(message) is not None or message.startswith("Wrong"))


_LED_THERE = re.compile(r'\n\s*File "[^"\n]*", line \d+[^\n]*\n')
_NODE = re.compile(r"(?s)\s*\[\[\{\{node .*")
_FIRST_OF_SEVERAL = re.compile(r"^\d+ root error\(s\) found\.\s*\(0\) \w+:\s*")


def reason_in_a_graph(text: str) -> str:
    """What is wrong, of an error in a compiled model. TensorFlow lists before it every line of every file that led there, with its path."""
    if not text.startswith("Graph execution error:"):
        return text
    reason = _NODE.sub("", _LED_THERE.split(text)[-1]).strip()
    return _FIRST_OF_SEVERAL.sub("", reason) or text
