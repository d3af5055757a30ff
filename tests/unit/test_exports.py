"""Names that `import *` gives, read from source that is never run."""

from __future__ import annotations

import pytest

from assay_graders.exports import exported_names

MODULES = {"pkg": True, "pkg.core": False, "other": False}

CASES = {
    "def f(): pass\nclass C: pass\nasync def g(): pass\n": {"f", "C", "g"},
    "A = B = 1\nC: int = 2\n(D, [E, *F]) = [1, [2]]\n": {"A", "B", "C", "D", "E", "F"},
    "def f():\n    inner = 1\n    def deeper(): pass\n": {"f"},
    "_a = 1\n__version__ = '1'\n": set(),
    "import math\nfrom os import path as p\nx = 1\n": {"x"},
    "import pkg.core\nfrom pkg.core import y\nfrom .core import z as w\n": {"y", "w"},
    "from . import core\n": {"core"},
    "from math import isclose\nisclose = 1\n": set(),
    "pytest_plugins = []\nsorted = 1\nprint = 2\nx = 3\n": {"x"},
    "if 1:\n    a = 1\nelse:\n    b = 2\ntry:\n    c = 1\nexcept E:\n    d = 2\n": {
        *"abcd",
    },
    "with open('x') as f:\n    y = 1\nfor z in ():\n    w = 1\n": {"y", "w"},
    "__all__ = ['x', '_y', 'math', 'sorted', 'é b', 5]\nimport math\nz = 1\n": {"x"},
    "__all__ = ('x',)\ny = 1\n": {"x"},
    "__all__ = [n for n in 'ab']\ny = 1\n": {"y"},
    "from math import *\nx = 1\n": {"x"},
    "": set(),
}


@pytest.mark.parametrize("source", CASES)
def test_names_are_those_that_the_source_defines(source: str) -> None:
    assert exported_names(source.encode(), MODULES, "pkg") == CASES[source]


@pytest.mark.parametrize("source", [b"def", b"\xff", b"(" * 5_000, b"x = 1\0"])
def test_what_can_not_be_read_exports_nothing(source: bytes) -> None:
    assert exported_names(source, MODULES, "pkg") is None
