"""Ready-made things where something is to be built: found by reading the source, without false alarms."""

from __future__ import annotations

import pkgutil
import re
import sys
import textwrap
import time
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell
from project import LABS
from traitlets.config import Config

from course_utils import check, report_on
from course_utils.checking.bypass import Use, find_bypass, uses_of
from course_utils.checking.cells import MAX_PARSED, MAX_TOTAL
from course_utils.checking.check import CheckFailed
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, Case, Exercise, find_exercise
from course_utils.checking.expected import FILE_NAME, Expected, Misconception, save_expected
from course_utils.checking.outcome import Outcome, Problem, encode, try_exercise
from course_utils.checking.report import Report
from grader.grade.judge import judge
from grader.grade.results import earned, with_results
from grader.handout.demo import solved
from grader.reference.lab import checked_exercise

FUNCTION = "torch.nn.functional.scaled_dot_product_attention"
LAYER = "torch.nn.MultiheadAttention"
KERAS = "keras.layers.MultiHeadAttention"
BYPASSES = (FUNCTION, LAYER, KERAS)


def found(source: str, name: str = "attention", judged=()) -> list[str]:
    """Full names of the uses in a notebook, whose cells are parted by lines of dashes."""
    cells = textwrap.dedent(source).strip("\n").split("\n---\n")
    return [use.name for use in find_bypass(cells, name, BYPASSES, judged)]


HELPERS = """%%writefile helpers.py
import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention as ready
from tools import *
def honest(q):
    return q @ q.T
def layer(q):
    return nn.MultiheadAttention(8, 2)(q, q, q)
def through(q):
    return made(q)
---
%%writefile tools.py
import helpers
def made(q):
    return helpers.layer(q)
---
"""
LAYER_IN_FILE = {
    "name imported": "from helpers import layer\ndef attention(q): return layer(q)",
    "as the exercise": "from helpers import layer as attention",
    "star": "from helpers import *\ndef attention(q): return layer(q)",
    "attribute": "import helpers\ndef attention(q): return helpers.layer(q)",
    "under another name": "import helpers as h\nf = h.layer\ndef attention(q): return f(q)",
    "module in the file": "import helpers\ndef attention(q): return helpers.nn.MultiheadAttention(8, 2)",
    "through another file and back": "from helpers import through\ndef attention(q): return through(q)",
    "getattr": "import helpers\ndef attention(q): return getattr(helpers, 'layer')(q)",
    "computed name": "import helpers\ndef attention(q): return getattr(helpers, 'la' + 'yer')(q)",
    "import_module": "import importlib\ndef attention(q): return importlib.import_module('helpers').layer(q)",
    "inside": "def attention(q):\n    from helpers import layer\n    return layer(q)",
}


@pytest.mark.parametrize("source", LAYER_IN_FILE.values(), ids=LAYER_IN_FILE)
def test_uses_in_a_file_that_the_notebook_imports_are_found(source):
    assert LAYER in found(HELPERS + source)


@pytest.mark.parametrize(
    "source",
    [
        "from helpers import honest\ndef attention(q): return honest(q)",
        "import helpers\ndef attention(q): return helpers.honest(q)",
        "import helpers\nprint(helpers.layer(1))\ndef attention(q): return q",
        "def attention(q): return layer(q)",
    ],
)
def test_a_file_with_uses_that_the_exercise_does_not_reach_is_no_use(source):
    assert found(HELPERS + source) == []


def test_what_a_file_imports_under_a_name_of_its_own_is_found():
    assert found(HELPERS + "import helpers\ndef attention(q): return helpers.ready(q, q, q)") == [FUNCTION]
    assert found(HELPERS + "from helpers import ready\ndef attention(q): return ready(q, q, q)") == [FUNCTION]


def test_a_file_that_was_written_in_the_notebook_counts_as_ipython_s_history_keeps_it():
    body = "from torch.nn import MultiheadAttention as layer\n"
    wrote = f"get_ipython().run_cell_magic('writefile', 'helpers.py', {body!r})"
    assert find_bypass([wrote, "from helpers import layer as attention"], "attention", BYPASSES)


def test_very_many_files_and_stars_are_read_to_the_end():
    files = [f"%%writefile m{n}.py\nfrom m{n + 1} import *\nimport m0" for n in range(1500)]
    names = "%%writefile names.py\n" + "\n".join(f"a{n} = 1" for n in range(2500))
    stars = ["\n".join(["from names import *"] * 900)] * 20
    cells = [names, *files, *stars, "import m0\ndef attention(q): return m0\n# torch MultiheadAttention"]
    assert find_bypass(cells, "attention", BYPASSES) == ()


# ---------------------------------------------------------------------------------- what is found

USED = {
    "module by its full name": "import torch\ndef attention(q): return torch.nn.MultiheadAttention(8, 2)(q, q, q)",
    "submodule imported": "import torch.nn\ndef attention(q): return torch.nn.MultiheadAttention(8, 2)",
    "module under another name": "import torch.nn as nn\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "module from a package": "from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "name imported": "from torch.nn import MultiheadAttention\ndef attention(q): return MultiheadAttention(8, 2)",
    "name imported as another": "from torch.nn import MultiheadAttention as M\ndef attention(q): return M(8, 2)",
    "name imported as the exercise": "from torch.nn import MultiheadAttention as attention",
    "star": "from torch.nn import *\ndef attention(q): return MultiheadAttention(8, 2)",
    "star of a package": "from torch import *\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "functional": "import torch.nn.functional as F\ndef attention(q): return F.scaled_dot_product_attention(q, q, q)",
    "functional of nn": "from torch import nn\ndef attention(q):\n    return nn.functional.scaled_dot_product_attention(q, q, q)",
    "import inside": "def attention(q):\n    import torch\n    return torch.nn.functional.scaled_dot_product_attention(q, q, q)",
    "import of the name inside": f"def attention(q):\n    from {FUNCTION.rpartition('.')[0]} import scaled_dot_product_attention as s\n    return s(q, q, q)",
    "import in another cell": "import torch\n---\ndef attention(q): return torch.nn.MultiheadAttention(8, 2)",
    "import after the definition": "def attention(q): return torch.nn.MultiheadAttention(8, 2)\n---\nimport torch",
    "import that may fail": "try:\n    from torch import nn\nexcept ImportError:\n    nn = None\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "alias of the class": "from torch import nn\nAttn = nn.MultiheadAttention\ndef attention(q): return Attn(8, 2)",
    "alias of the module": "import torch\nlayers = torch.nn\ndef attention(q): return layers.MultiheadAttention(8, 2)",
    "alias of an alias": "import torch\na = torch.nn\nb = a\nc = b.MultiheadAttention\ndef attention(q): return c(8, 2)",
    "alias inside": "import torch.nn.functional as F\ndef attention(q):\n    f = F.scaled_dot_product_attention\n    return f(q, q, q)",
    "alias of a module inside": "import torch\ndef attention(q):\n    m = torch.nn\n    return m.MultiheadAttention(8, 2)",
    "the exercise is an alias": "import torch.nn.functional as F\nattention = F.scaled_dot_product_attention",
    "tuple assignment": "import torch\nn, attend = 3, torch.nn.functional.scaled_dot_product_attention\ndef attention(q): return attend(q, q, q)",
    "several targets": "import torch\na = b = torch.nn\ndef attention(q): return a.MultiheadAttention(8, 2)",
    "annotated assignment": "import torch\nattend: object = torch.nn.MultiheadAttention\ndef attention(q): return attend(8, 2)",
    "walrus": "import torch\ndef attention(q): return (m := torch.nn) and m.MultiheadAttention(8, 2)",
    "walrus at the top": "import torch\nprint(m := torch.nn)\ndef attention(q): return m.MultiheadAttention(8, 2)",
    "either of two": "import torch\nm = torch.nn if input() else None\ndef attention(q): return m.MultiheadAttention(8, 2)",
    "or": "import torch\nm = None or torch.nn\ndef attention(q): return m.MultiheadAttention(8, 2)",
    "getattr": "from torch import nn\ndef attention(q): return getattr(nn, 'MultiheadAttention')(8, 2)",
    "getattr of getattr": "import torch\ndef attention(q): return getattr(getattr(torch, 'nn'), 'MultiheadAttention', None)(8, 2)",
    "vars": "import torch\ndef attention(q): return vars(torch.nn)['MultiheadAttention'](8, 2)",
    "vars by another name": "from torch import nn\nnames = vars(nn)\ndef attention(q): return names['MultiheadAttention'](8, 2)",
    "vars of vars": "import torch\ndef attention(q): return vars(vars(torch)['nn'])['MultiheadAttention'](8, 2)",
    "__dict__": "import torch\ndef attention(q): return torch.nn.__dict__['MultiheadAttention'](8, 2)",
    "__dict__, get": "from torch import nn\ndef attention(q): return nn.__dict__.get('MultiheadAttention')(8, 2)",
    "__dict__, with an escape": "from torch import nn\ndef attention(q): return nn.__dict__['Multihead\\x41ttention'](8, 2)",
    "attrgetter": "import operator, torch\ndef attention(q): return operator.attrgetter('nn.MultiheadAttention')(torch)(8, 2)",
    "attrgetter, imported": "from operator import attrgetter as get\nfrom torch import nn\ndef attention(q): return get('MultiheadAttention')(nn)(8, 2)",
    "attrgetter, kept": "import operator, torch\nget = operator.attrgetter('Linear', 'MultiheadAttention')\ndef attention(q): return get(torch.nn)[1](8, 2)",
    "sys.modules": "import sys\ndef attention(q): return sys.modules['torch'].nn.MultiheadAttention(8, 2)",
    "sys.modules, submodule": "from sys import modules\nF = modules['torch.nn.functional']\ndef attention(q): return F.scaled_dot_product_attention(q, q, q)",
    "sys.modules, get": "import sys as s\ndef attention(q): return s.modules.get('torch.nn').MultiheadAttention(8, 2)",
    "torch.ops": "import torch\ndef attention(q): return torch.ops.aten.scaled_dot_product_attention(q, q, q)",
    "torch.ops, overload": "from torch import ops\ndef attention(q): return ops.aten.scaled_dot_product_attention.default(q, q, q)",
    "torch._C": "import torch\ndef attention(q): return torch._C._nn.scaled_dot_product_attention(q, q, q)",
    "import_module": "import importlib\ndef attention(q): return importlib.import_module('torch.nn').MultiheadAttention(8, 2)",
    "import_module by name": "from importlib import import_module as load\nm = load('torch.nn')\ndef attention(q): return m.MultiheadAttention(8, 2)",
    "__import__": "def attention(q): return __import__('torch').nn.MultiheadAttention(8, 2)",
    "__import__ of a submodule": "def attention(q): return __import__('torch.nn', fromlist=['x']).MultiheadAttention(8, 2)",
    "subclass": "from torch import nn\nclass attention(nn.MultiheadAttention):\n    pass",
    "subclass of a subclass": "from torch import nn\nclass Base(nn.MultiheadAttention): pass\n---\nclass attention(Base): pass",
    "method": "from torch import nn\nclass attention(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.attend = nn.MultiheadAttention(8, 2)",
    "class attribute": "from torch import nn\nclass attention:\n    attend = nn.MultiheadAttention",
    "method added afterwards": "from torch import nn\nclass attention: pass\n---\ndef forward(self, q): return nn.MultiheadAttention(8, 2)(q)\nattention.forward = forward",
    "method of the ready-made class": "from torch import nn\ndef attention(s, q): return nn.MultiheadAttention.forward(s, q, q, q)",
    "partial": "from functools import partial\nimport torch\nattention = partial(torch.nn.functional.scaled_dot_product_attention, is_causal=True)",
    "lambda": "import torch.nn.functional as F\nattention = lambda q: F.scaled_dot_product_attention(q, q, q)",
    "default": "import torch.nn.functional as F\ndef attention(q, attend=F.scaled_dot_product_attention): return attend(q, q, q)",
    "default that is a module": "import torch\ndef attention(q, *, m=torch.nn): return m.MultiheadAttention(8, 2)",
    "default of a lambda": "import torch\nattention = lambda q, m=torch.nn: m.MultiheadAttention(8, 2)",
    "decorator": "import torch.nn.functional as F\ndef replace(f): return F.scaled_dot_product_attention\n@replace\ndef attention(q): pass",
    "decorated by hand": "import torch\ndef attention(q): return torch.nn.MultiheadAttention(8, 2)\ndef loud(f):\n    def call(*a): return f(*a)\n    return call\nattention = loud(attention)",
    "nested function": "from torch import nn\ndef attention(q):\n    def inner(): return nn.MultiheadAttention(8, 2)\n    return inner()(q)",
    "module of the function around": "def attention(q):\n    from torch import nn\n    def inner(): return nn.MultiheadAttention(8, 2)\n    return inner()(q)",
    "helper": "from torch import nn\ndef helper(q): return nn.MultiheadAttention(8, 2)\n---\ndef attention(q): return helper(q)",
    "helper defined later": "def attention(q): return helper(q)\n---\nfrom torch import nn\ndef helper(q): return nn.MultiheadAttention(8, 2)",
    "helper of a helper": "from torch import nn\ndef a(q): return nn.MultiheadAttention(8, 2)\ndef b(q): return a(q)\ndef attention(q): return b(q)",
    "helper class": "from torch import nn\nclass Helper:\n    def run(self, q): return nn.MultiheadAttention(8, 2)\ndef attention(q): return Helper().run(q)",
    "variable": "from torch import nn\nlayer = nn.MultiheadAttention(8, 2)\ndef attention(q): return layer(q, q, q)",
    "variable of a loop": "import torch.nn.functional as F\nfor attend in [F.scaled_dot_product_attention]: pass\ndef attention(q): return attend(q, q, q)",
    "table": "import torch.nn.functional as F\nways = {}\nways['fast'] = F.scaled_dot_product_attention\ndef attention(q): return ways['fast'](q, q, q)",
    "comprehension": "from torch import nn\ndef attention(q): return [nn.MultiheadAttention(8, 2)(x, x, x) for x in q]",
    "walrus in a comprehension": "import torch\ndef attention(q):\n    [m := torch.nn for _ in q]\n    return m.MultiheadAttention(8, 2)",
    "name that is a comprehension's too": "from torch import nn\ndef attention(q):\n    print([nn for nn in q])\n    return nn.MultiheadAttention(8, 2)",
    "name that is the class's too": "from torch import nn\nclass attention:\n    nn = None\n    def run(self, q): return nn.MultiheadAttention(8, 2)",
    "async, with, try, match": "from torch import nn\nasync def attention(q):\n    with q:\n        try: pass\n        finally:\n            match q:\n                case 1: return nn.MultiheadAttention(8, 2)",
    "global": "import torch\ndef attention(q):\n    global m\n    m = torch.nn\n    return m.MultiheadAttention(8, 2)",
    "f-string": "from torch import nn\ndef attention(q): return f'{nn.MultiheadAttention(8, 2)}'",
    "last definition of two": "from torch import nn\ndef attention(q): return q\n---\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "place of the class in torch": "from torch.nn.modules.activation import MultiheadAttention\ndef attention(q): return MultiheadAttention(8, 2)",
    "tf.keras": "import tensorflow as tf\ndef attention(q): return tf.keras.layers.MultiHeadAttention(2, 8)(q, q)",
    "keras": "import keras\ndef attention(q): return keras.layers.MultiHeadAttention(2, 8)(q, q)",
    "keras of tensorflow": "from tensorflow import keras\nclass attention(keras.layers.MultiHeadAttention): pass",
    "layers of tensorflow's keras": "from tensorflow.keras import layers as L\ndef attention(q): return L.MultiHeadAttention(2, 8)(q, q)",
    "star of tensorflow's layers": "from tensorflow.keras.layers import *\ndef attention(q): return MultiHeadAttention(2, 8)(q, q)",
    "line magic": "%matplotlib inline\nfrom torch import nn\n!ls\nnn?\nfiles = !ls\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "magic inside": "if True:\n    %time\n    from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "magic and a modulo that begins a line": "%time\nfrom torch import nn\nx = (7\n     % 3)\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "cell magic": "%%time\nfrom torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "cell magic in the history": r"get_ipython().run_cell_magic('time', '', 'from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)\n')",
    "indented cell": "    from torch import nn\n    def attention(q): return nn.MultiheadAttention(8, 2)\n---\npass",
    "syntax error elsewhere": "def (:\n---\nfrom torch import nn\n---\ndef attention(q): return nn.MultiheadAttention(8, 2)\n---\n)",
}


@pytest.mark.parametrize("source", USED.values(), ids=USED.keys())
def test_a_use_is_found(source):
    assert len(found(source)) == 1


def test_several_uses_are_all_named_the_nearest_first():
    source = """
        import torch.nn.functional as F, tensorflow as tf
        def helper(q): return tf.keras.layers.MultiHeadAttention(2, 8)
        def attention(q): return helper(q) + F.scaled_dot_product_attention(q, q, q)
    """
    assert found(source) == [FUNCTION, f"tensorflow.{KERAS}"]


def test_the_use_is_quoted_with_the_line_of_its_cell():
    cells = [
        "import torch",
        "%%time\n\ndef attention(q):\n    a = 1\n    return torch.nn.MultiheadAttention(8, 2)",
    ]
    (use,) = find_bypass(cells, "attention", BYPASSES)
    assert use == Use(LAYER, 5, "return torch.nn.MultiheadAttention(8, 2)")
    body = "import torch\\ndef attention(q):\\n    return torch.nn.MultiheadAttention(8, 2)"
    (use,) = find_bypass([f"get_ipython().run_cell_magic('time', '', '{body}')"], "attention", BYPASSES)
    assert use == Use(LAYER, 4, "return torch.nn.MultiheadAttention(8, 2)")


# ---------------------------------------------------------------------------------- what is not

OWN = "def attention(q): return q @ q.T"
UNUSED = {
    "own work": OWN,
    "nothing": "",
    "not defined": "from torch import nn\nnn.MultiheadAttention(8, 2)",
    "import alone": f"from torch.nn import MultiheadAttention\n{OWN}",
    "import alone, inside": "def attention(q):\n    from torch.nn import MultiheadAttention\n    return q",
    "star import alone": f"from torch.nn import *\n{OWN}",
    "comment": "import torch\ndef attention(q):\n    # torch.nn.MultiheadAttention(8, 2) does the same\n    return q",
    "docstring": "import torch\ndef attention(q):\n    'As torch.nn.MultiheadAttention.'\n    return q",
    "string": "import torch\ndef attention(q):\n    print('torch.nn.MultiheadAttention(8, 2)')\n    return q",
    "f-string's text": "import torch\ndef attention(q):\n    print(f'torch.nn.MultiheadAttention {q}')\n    return q",
    "comparison below": f"{OWN}\n---\nimport torch\ntheirs = torch.nn.functional.scaled_dot_product_attention(q, q, q)\nprint(theirs - attention(q))",
    "comparison above": f"import torch\ntheirs = torch.nn.functional.scaled_dot_product_attention(q, q, q)\n---\n{OWN}",
    "comparison in the same cell": f"import torch\n{OWN}\nassert attention(q) == torch.nn.MultiheadAttention(8, 2)(q)",
    "argument of a comparison with numpy": "import numpy as np, torch\nnp.allclose(attention(q), torch.nn.MultiheadAttention(8, 2)(q))\ndef attention(q): return np.exp(q)",
    "comparison when run as a program": f"import torch\n{OWN}\nif __name__ == '__main__':\n    print(torch.nn.MultiheadAttention(8, 2))",
    "another function": f"from torch import nn\ndef theirs(q): return nn.MultiheadAttention(8, 2)\n{OWN}",
    "another function calls the exercise": f"from torch import nn\n{OWN}\ndef compare(q): return attention(q) - nn.MultiheadAttention(8, 2)(q)",
    "another class": f"from torch import nn\nclass Theirs(nn.MultiheadAttention): pass\n{OWN}",
    "method of another class with the same name": f"from torch import nn\nclass A:\n    def attention(self): return nn.MultiheadAttention(8, 2)\n---\n{OWN}",
    "function within another function with the same name": f"from torch import nn\n{OWN}\ndef other():\n    def attention(q): return nn.MultiheadAttention(8, 2)",
    "variable of another function": "from torch import nn\ndef other():\n    m = nn.MultiheadAttention\ndef attention(q): return m(q)",
    "import of another function": "def other():\n    from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "variable of the same name in another function": "from torch import nn\ndef helper(q): return q\ndef other():\n    helper = nn.MultiheadAttention(8, 2)\ndef attention(q): return helper(q)",
    "parameter": "from torch import nn\ndef attention(nn): return nn.MultiheadAttention(8, 2)",
    "parameter of a lambda": "import torch\nattention = lambda torch: torch.nn.MultiheadAttention(8, 2)",
    "star parameters": "import torch\nfrom torch import nn\ndef attention(*torch, **nn): return torch.nn, nn.MultiheadAttention",
    "keyword-only parameter": "from torch import nn\ndef attention(q, *, nn=None): return nn.MultiheadAttention(8, 2)",
    "parameter of the function around": "from torch import nn\ndef attention(nn):\n    def inner(): return nn.MultiheadAttention(8, 2)\n    return inner()",
    "local variable": "from torch import nn\ndef attention(q):\n    nn = MyOwn()\n    return nn.MultiheadAttention(8, 2)",
    "local variable of a loop": "from torch import nn\ndef attention(q):\n    for nn in q: print(nn.MultiheadAttention)",
    "local variable of with": "from torch import nn\ndef attention(q):\n    with q as nn: print(nn.MultiheadAttention)",
    "local variable of except": "from torch import nn\ndef attention(q):\n    try: pass\n    except E as nn: print(nn.MultiheadAttention)",
    "local variable of a match": "from torch import nn\ndef attention(q):\n    match q:\n        case [nn, *_]: print(nn.MultiheadAttention)",
    "local walrus": "from torch import nn\ndef attention(q): return (nn := q).MultiheadAttention",
    "local function": "import torch.nn.functional as F\ndef attention(q):\n    class F:\n        def scaled_dot_product_attention(q): return q\n    return F.scaled_dot_product_attention(q)",
    "local import": "from torch import nn\ndef attention(q):\n    import mine as nn\n    return nn.MultiheadAttention(8, 2)",
    "comprehension's variable": "from torch import nn\ndef attention(q): return [nn.MultiheadAttention for nn in q]",
    "redefined module": "from torch import nn\n---\nimport mine as nn\n---\ndef attention(q): return nn.MultiheadAttention(8, 2)",
    "redefined after the definition": "from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)\nnn = mine",
    "redefined class": "from torch.nn import MultiheadAttention\n---\nclass MultiheadAttention: pass\n---\ndef attention(q): return MultiheadAttention()",
    "own class after a star": "from torch.nn import *\nclass MultiheadAttention: pass\nclass attention(MultiheadAttention): pass",
    "deleted": "from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)\ndel nn",
    "redefined exercise": f"from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)\n---\n{OWN}",
    "redefined as a lambda": "from torch import nn\ndef attention(q): return nn.MultiheadAttention(8, 2)\n---\nattention = lambda q: q",
    "redefined by import": "from torch.nn import MultiheadAttention as attention\n---\nfrom mine import attention",
    "redefined helper": "from torch import nn\ndef helper(q): return nn.MultiheadAttention(8, 2)\ndef attention(q): return helper(q)\n---\ndef helper(q): return q",
    "own function of the ready-made's name": "def scaled_dot_product_attention(q): return q\ndef attention(q): return scaled_dot_product_attention(q)",
    "own package of the ready-made's name": "from mine import MultiheadAttention\ndef attention(q): return MultiheadAttention(8, 2)",
    "relative import": "from .torch.nn import MultiheadAttention\nfrom . import torch\ndef attention(q): return MultiheadAttention(8, 2) or torch.nn.MultiheadAttention",
    "attribute of something else": "def attention(q): return q.nn.MultiheadAttention(8, 2)",
    "attribute of the learner's": "class attention:\n    def __init__(self): self.MultiheadAttention = 3\n    def run(self): return self.MultiheadAttention",
    "neighbours in the same module": "from torch import nn\nimport torch.nn.functional as F\nclass attention(nn.Module):\n    def forward(self, q): return nn.Linear(8, 8)(F.softmax(F.dropout(q), dim=-1))",
    "softmax of everywhere": "import torch\ndef attention(q): return torch.softmax(q, -1) @ torch.nn.functional.softmax(q, -1) @ q.softmax(-1)",
    "class's name unresolved": "def attention(q): return MultiheadAttention(8, 2)",
    "annotations": "from torch import nn\nx: nn.MultiheadAttention\ndef attention(q: nn.MultiheadAttention) -> nn.MultiheadAttention:\n    r: nn.MultiheadAttention = q\n    return r",
    "isinstance": "from torch import nn\ndef attention(q):\n    assert not isinstance(q, nn.MultiheadAttention)\n    return q",
    "own getattr": "from torch import nn\ndef getattr(a, b): return b\ndef attention(q): return getattr(nn, 'MultiheadAttention')",
    "own table": "from torch import nn\nlayers = {'MultiheadAttention': 3}\ndef attention(q): return layers['MultiheadAttention']",
    "own table of modules": "import torch, sys\nmodules = {'torch': 3}\ndef attention(q): return modules['torch'].nn.MultiheadAttention",
    "own vars": "from torch import nn\ndef vars(x): return {}\ndef attention(q): return vars(nn)['MultiheadAttention']",
    "another of the module's names": "from torch import nn\ndef attention(q): return vars(nn)['Linear'](8, 2), nn.__dict__.get('Dropout')",
    "own attrgetter": "import torch\ndef attrgetter(name): return print\ndef attention(q): return attrgetter('nn.MultiheadAttention')(torch)",
    "attrgetter of something else": "import operator, torch\ndef attention(q): return operator.attrgetter('nn.MultiheadAttention')(q)",
    "state of a module": "from torch import nn\nclass attention(nn.Module):\n    def forward(self, q): return vars(self)['_modules']['MultiheadAttention']",
    "keyword argument": "def run(MultiheadAttention): pass\ndef attention(q): return run(MultiheadAttention=q)",
    "other cell magic": "%%html\nfrom torch.nn import MultiheadAttention as attention",
    "shell": f"{OWN}\n!pip install torch.nn.MultiheadAttention",
    "cell that fails to parse": f"{OWN}\n---\nfrom torch.nn import MultiheadAttention as attention\n(",
    "cell that stops": f"{OWN}\n---\nraise SystemExit\nfrom torch.nn import MultiheadAttention as attention",
    "text of a cell in the history": r"get_ipython().run_cell_magic('html', '', 'from torch.nn import MultiheadAttention as attention')",
}


@pytest.mark.parametrize("source", UNUSED.values(), ids=UNUSED.keys())
def test_there_is_no_false_alarm(source):
    assert found(source) == []


def test_an_exercise_that_is_judged_itself_is_not_looked_into():
    source = """
        import torch.nn.functional as F
        scores = F.scaled_dot_product_attention
        def attention(q): return scores(q)
        def twice(q): return attention(q) + scores(q, q, q)
    """
    assert found(source, judged={"scores"}) == []
    assert found(source, "twice", judged={"attention"}) == [FUNCTION]


# ---------------------------------------------------------------------------------- whatever is written

CODE = """import torch;from torch.nn import *;def attention;lambda q;class attention;nn.MultiheadAttention;torch
    attention;return;if x;else;for nn in;while x;try;except;with x as nn;match x;case nn;global nn;del nn;:=
    getattr(nn, 'x');vars(nn)['x'];sys.modules['torch'];%%time;%time;raise;'''"""
PIECES = [*"()[]{}:=.,@%!?*\n ", "\n    ", "\n        ", *re.split(r";|\n *", CODE)]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25).map("".join), max_size=4)
)
def test_no_text_makes_it_raise(cells):
    assert all(isinstance(use, Use) for use in find_bypass(cells, "attention", BYPASSES))


@given(st.sampled_from(sorted(USED)), st.sampled_from(["def", "class"]))
def test_what_is_used_inside_an_unrelated_definition_is_not_the_exercise_s(name, kind):
    cells = textwrap.dedent(USED[name]).split("\n---\n")
    head = "def unrelated():\n" if kind == "def" else "class Unrelated:\n"
    inside = [head + textwrap.indent(cell, "    ") for cell in cells]
    assert find_bypass([*inside, OWN], "attention", BYPASSES) == ()
    assert find_bypass([OWN, *inside], "attention", BYPASSES) == ()


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "x = " + "-" * 100_000 + "1",
        "x = " + "1+" * 50_000 + "1",
        "x" + ".y" * 50_000,
        "x" + "=x" * 90_000 + "=nn.MultiheadAttention",
        "if x: pass\n" + "elif y: pass\n" * 10_000,
        "if x: nn = nn or x\n" * 9_000 + "def attention(): return nn.y",
        "\n".join(f"def a{i}(): return a{i + 1}()" for i in range(5_000)) + "\nattention = a0",
        "\n".join(f"{' ' * i}def attention():" for i in range(98)) + f"\n{' ' * 98}return nn.x",
        "attention = [" + "lambda: nn.MultiheadAttention," * 6_000 + "]",
        "attention = " + "(nn.x or " * 60 + "nn" + ".y)" * 60,
        " " * 190_000 + "x\n%time",
        "%time\n" + "a ," * 60_000,
        "x = '''" + "\n%" * 90_000 + "'''",
        "\0", "\ud800", "\x0c\u2028 x",
    ],
    ids=lambda source: source[:12].encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_hostile_text_is_answered_soon(source):
    start = time.perf_counter()
    find_bypass(["from torch import nn", source], "attention", BYPASSES)
    assert time.perf_counter() - start < 10


def test_a_hostile_cell_hides_nothing_in_the_others():
    using = "from torch.nn import MultiheadAttention as attention"
    for hostile in ("(" * 100_000, "x = " + "-" * 100_000 + "1", "#" * (MAX_PARSED + 1), "\0"):
        assert len(find_bypass([hostile, using, hostile], "attention", BYPASSES)) == 1


def test_a_very_long_history_is_read_from_its_end():
    cells = ["from torch.nn import MultiheadAttention as attention", "#" * (MAX_PARSED - 1)]
    assert len(find_bypass([*cells, *cells[1:] * (MAX_TOTAL // MAX_PARSED - 1)], "attention", BYPASSES)) == 1
    assert find_bypass([cells[0], *cells[1:] * (MAX_TOTAL // MAX_PARSED + 1)], "other", BYPASSES) != ()


def test_padding_a_cell_beyond_what_is_parsed_hides_nothing():
    padding = "#" * (MAX_PARSED + 1)
    using = f"from torch.nn import MultiheadAttention as attention\n{padding}"
    (use,) = find_bypass([using], "attention", BYPASSES)
    assert (use.name, use.line) == ("torch.nn.MultiheadAttention", 1)
    comment = f"import torch\n# MultiheadAttention is not used\ndef attention(x):\n    return x\n{padding}"
    assert find_bypass([comment], "attention", BYPASSES) == ()


# ---------------------------------------------------------------------------------- declarations

CASES = (Case("2 by 3", lambda rng: {"x": rng.standard_normal((2, 3))}),)


@pytest.mark.parametrize("wrong", ["torch.nn.MultiheadAttention", ("softmax",), ("torch.nn.",), ("a b.c",)])
def test_a_bypass_that_is_no_full_name_is_refused(wrong):
    with pytest.raises(ValueError, match="double: '.*' is not a full dotted name. Declare bypasses"):
        Exercise("double", ("doubled",), CASES, bypasses=wrong)


def test_an_earlier_exercise_answers_for_itself_only_if_it_declares_the_same():
    sources = [
        "import torch\ndef first(x): return torch.nn.MultiheadAttention(8, 2)\ndef second(x): return first(x)"
    ]
    second = Exercise("second", ("y",), CASES, uses=("first",), bypasses=(LAYER,))
    for declared, uses in [((LAYER, KERAS), 0), ((KERAS,), 1), ((), 1)]:
        first = Exercise("first", ("y",), CASES, bypasses=declared)
        assert len(uses_of(second, [first, second], sources)) == uses


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_every_declared_bypass_exists(labs, name):
    declared = {full for exercise in labs[name].exercises.values() for full in exercise.bypasses}
    for full in declared:
        assert callable(pkgutil.resolve_name(full)), full


def test_places_that_count_as_the_same_are_the_same():
    import torch

    assert torch.nn.modules.activation.MultiheadAttention is torch.nn.MultiheadAttention
    assert torch._C._nn.scaled_dot_product_attention is torch.nn.functional.scaled_dot_product_attention
    assert torch._VF.rnn_tanh is torch.rnn_tanh
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(
        torch.ops.aten.scaled_dot_product_attention(x, x, x),
        torch._C._nn.scaled_dot_product_attention(x, x, x),
    )
    assert torch.equal(torch.ops.aten.layer_norm(x, [3]), torch.nn.functional.layer_norm(x, [3]))


# ---------------------------------------------------------------------------------- the verdict

USE = Use("torch.double", 3, "return torch.double(`x`) <b>")
DOUBLE = Exercise("double", ("doubled",), CASES * 3, bypasses=("torch.double", "torch.add"))
RIGHT = Outcome(({"doubled": np.ones(2)},))
WRONG = Outcome(({"doubled": np.zeros(2)},))
ZERO = Misconception("zero", "It is zero.", "Not zero.")
EXPECTED = Expected(([{"x": 0}],) * 3, (RIGHT,) * 3, {ZERO: (WRONG,) * 3})


def verdict(*outcomes: Outcome, bypass=(), exercise=DOUBLE):
    return compare(exercise, outcomes, EXPECTED, bypass)


def test_the_check_that_it_is_the_learner_s_own_work_comes_last_and_earns_nothing_itself():
    without = Exercise("double", ("doubled",), CASES * 3)
    for outcomes in [(RIGHT,) * 3, (RIGHT, RIGHT, WRONG), (WRONG,) * 3]:
        plain, own = verdict(*outcomes, exercise=without), verdict(*outcomes)
        assert own.score == plain.score and own.correct == plain.correct
        assert own.checks[:-1] == plain.checks and own.recognised == plain.recognised
        assert own.checks[-1].title == "Written by you, without calling `torch.double` or similar."
        assert own.checks[-1].passed
    alone = Exercise("double", ("doubled",), CASES * 3, bypasses=("torch.double",))
    title = verdict(*(RIGHT,) * 3, exercise=alone).checks[-1].title
    assert title == "Written by you, without calling `torch.double`."


def test_a_bypassed_exercise_earns_nothing_and_is_told_so_kindly():
    bypassed = verdict(RIGHT, RIGHT, RIGHT, bypass=[USE])
    assert bypassed.score == 0 and not bypassed.correct and earned(bypassed, 5) == 0
    assert bypassed.recognised == () and bypassed.next_step == ""
    assert bypassed.summary == (
        "double: everything else is right, but `torch.double` does the work. Build it from its parts here; "
        "compare with the ready-made one in an extra cell."
    )
    report = Report(bypassed, points=(0, 5))
    for shown in (repr(report), report._repr_html_()):
        assert "(0 of 5 points)" in shown and "line 3 of its cell" in shown and "is right, but" in shown
    assert "<code>return torch.double( x ) &lt;b&gt;</code>" in report._repr_html_()


def test_a_known_mistake_is_still_named_where_the_exercise_is_bypassed():
    bypassed = verdict(WRONG, WRONG, WRONG, bypass=[USE])
    assert [each.name for each in bypassed.recognised] == ["zero"]
    assert "1 of 5 checks passed, and `torch.double` does the work." in bypassed.summary


def test_without_any_output_nothing_is_said_to_be_the_learner_s_own():
    stub = Outcome(problem=Problem("stub", "A part is still to be written."))
    assert verdict(stub, stub, stub).passed == 0


# ---------------------------------------------------------------------------------- in a notebook

BYPASSED = "import torch\n\ndef double(x):\n    return torch.add(x, x)"
HONEST = "import numpy as np\n\ndef double(x):\n    return np.add(x, x)"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A lab of one exercise that must not call torch.add; the current folder is that of its notebook."""
    module = types.ModuleType("course_utils.exercises.small")
    module.double = Exercise("double", ("doubled",), CASES, bypasses=("torch.add",))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    inputs = (CASES[0].runs("small.double", PUBLIC_SEED),)
    reference = try_exercise(module.double, "small.double", lambda x: 2 * x, PUBLIC_SEED)
    save_expected(tmp_path / FILE_NAME, {"small.double": Expected(inputs, tuple(reference))}, {})


def run(namespace: dict, *cells: str) -> str:
    """Runs cells in a made-up notebook and then the check; returns the line that the check ends in."""
    for cell in cells:
        namespace["In"].append(cell)
        exec(cell.replace("torch.add", "numpy.add").replace("import torch", "import numpy"), namespace)
    try:
        exec("check('small.double')", namespace)
    except CheckFailed as error:
        return str(error)
    return ""


def test_the_check_reads_the_cells_that_ran_and_the_last_definition_counts(small, capsys):
    namespace = {"check": check, "In": [""]}
    assert "everything else is right, but `torch.add` does the work." in run(namespace, BYPASSED)
    assert "`torch.add` in line 4 of its cell: `return torch.add(x, x)`" in capsys.readouterr().out
    assert run(namespace, HONEST) == ""
    assert run(namespace, "import torch\nprint(torch.add(1, 2) == double(1))") == ""
    assert "`torch.add` does the work" in run(namespace, BYPASSED)


def test_a_report_on_an_attempt_says_it_too(small):
    namespace = {"report_on": report_on, "In": ["", BYPASSED.replace("double", "mine")]}
    exec("def mine(x): return 2 * x\nfirst = report_on('small.double', mine)", namespace)
    assert "`torch.add` does the work" in repr(namespace["first"])
    namespace["In"].append(BYPASSED)
    exec("second = report_on('small.double', lambda x: 2 * x)", namespace)  # not what is called `double` here
    exec("import functools, operator", namespace)
    exec("third = report_on('small.double', functools.partial(operator.mul, 2))", namespace)
    assert repr(namespace["second"]).startswith("[ok]") and repr(namespace["third"]).startswith("[ok]")


def double(x):
    import torch

    return torch.add(torch.tensor(x), torch.tensor(x))


def test_without_a_history_the_source_of_the_attempt_is_read(small):
    assert "`torch.add` does the work" in repr(report_on("small.double", double))
    namespace = {"report_on": report_on, "In": "no history"}
    exec("def double(x): return 2 * x\nreport = report_on('small.double', double)", namespace)
    assert repr(namespace["report"]).startswith("[ok]")  # no source is kept


def test_in_ipython_itself_magics_and_all(small, capsys):
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(config=config)
    try:
        assert shell.run_cell("from course_utils import check", store_history=True).success
        cells = [
            "%%time\n%pwd\n!true\n" + BYPASSED.replace("(x, x)", "(torch.tensor(x), torch.tensor(x))"),
            HONEST,
        ]
        errors = []
        for cell in cells:
            assert shell.run_cell(cell, store_history=True).success
            errors.append(shell.run_cell("check('small.double')", store_history=True).error_in_exec)
    finally:
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()
    assert "`torch.add` does the work" in str(errors[0]) and errors[1] is None
    assert "in line 7 of its cell" in capsys.readouterr().out


def test_a_file_that_was_imported_is_read_from_beside_the_notebook(small, monkeypatch):
    monkeypatch.syspath_prepend("")
    Path("own_helpers.py").write_text(BYPASSED)
    namespace = {"report_on": report_on, "In": ["", "import own_helpers\ndouble = own_helpers.double"]}
    exec(
        "import own_helpers\ndouble = own_helpers.double\nreport = report_on('small.double', double)",
        namespace,
    )
    del sys.modules["own_helpers"]
    assert "`torch.add` does the work" in repr(namespace["report"])


# ---------------------------------------------------------------------------------- in grading

ATTENTION = "self_attention.scaled_dot_product_attention"
READY = """
import torch
import torch.nn.functional as F

def scaled_dot_product_attention(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), None
"""


@pytest.fixture(scope="module")
def lab(labs):
    return labs["02_self_attention"]


@pytest.fixture(scope="module")
def expected(lab):
    return lab.expected(7)


@pytest.fixture(scope="module")
def payloads(lab, expected):
    """What the reference publishes."""
    return {key: encode(list(expected[key].reference)) for key in lab.exercises}


def test_the_judge_finds_a_bypass_in_the_notebook_whatever_it_computes(lab, expected, payloads):
    notebook = solved(lab, {"scaled_dot_product_attention": READY})
    verdicts = judge(lab, expected, payloads, notebook)
    assert [key for key, verdict in verdicts.items() if not verdict.correct] == [ATTENTION]
    assert verdicts[ATTENTION].score == 0
    graded = with_results(lab, notebook, lab.release(), verdicts, "graded", ())
    (output,) = next(cell for cell in graded.cells if checked_exercise(cell) == ATTENTION).outputs
    assert output.data["text/plain"] == "0.0"
    assert "Build it from its parts here" in output.data["text/html"]
    assert "line 6 of its cell" in output.data["text/html"]


def test_cells_of_the_lab_and_of_the_learner_may_compare(lab, expected, payloads):
    notebook = solved(lab)
    theirs = "import torch\ntheirs = torch.nn.functional.scaled_dot_product_attention"
    notebook.cells.insert(0, new_code_cell(theirs))
    notebook.cells.append(new_code_cell(theirs))
    assert all(verdict.correct for verdict in judge(lab, expected, payloads, notebook).values())


def test_what_counts_is_what_was_defined_when_the_check_ran(lab, expected, payloads):
    name = find_exercise(ATTENTION).name
    honest = next(cell.source for cell in solved(lab).cells if cell.id == name)
    notebook = solved(lab, {name: READY})
    notebook.cells.append(new_code_cell(honest))  # too late
    assert not judge(lab, expected, payloads, notebook)[ATTENTION].correct
    notebook = solved(lab)
    notebook.cells.append(new_code_cell(READY))  # after its own check; the others ran before, too
    assert judge(lab, expected, payloads, notebook)[ATTENTION].correct
    notebook = solved(lab)
    check_cell = next(i for i, cell in enumerate(notebook.cells) if checked_exercise(cell) == ATTENTION)
    notebook.cells.insert(check_cell, new_code_cell(READY, metadata={"tags": ["skip-grading"]}))  # never ran
    assert judge(lab, expected, payloads, notebook)[ATTENTION].correct
