"""The candidate's classes among those of the standard library, and what `import *` gives."""

from __future__ import annotations

from support.isolation import found, isolated, uses

SOURCE = """
import abc, collections, collections.abc, difflib, ipaddress, math, time, typing, urllib.parse
class Bag(dict): pass
class Items(list): pass
class Unique(set): pass
class Table(collections.abc.MutableMapping):
    def __init__(self, *pairs): self.pairs = dict(pairs)
    def __getitem__(self, key): return self.pairs[key]
    def __setitem__(self, key, value): self.pairs[key] = value
    def __delitem__(self, key): del self.pairs[key]
    def __iter__(self): return iter(self.pairs)
    def __len__(self): return len(self.pairs)
class Line:
    def __len__(self): return 1
    def __getitem__(self, index): return index
collections.abc.Sequence.register(Line)
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self): return 4
@Shape.register
class Foreign: pass
T = typing.TypeVar("T")
class Box(typing.Generic[T]):
    def __init__(self, value): self.value = value
    @classmethod
    def __class_getitem__(cls, item): return super().__class_getitem__(item)
class Answer:
    __class__ = property(lambda self: int)
class Yes(type):
    def __instancecheck__(cls, other): return True
class All(metaclass=Yes): pass
def split(url): return urllib.parse.urlsplit(url)
def network(text): return ipaddress.ip_network(text)
def host(address): return address + 1
def moment(): return time.gmtime(0)
def match(a, b): return difflib.SequenceMatcher(None, a, b).find_longest_match()
def path_of(parts): return parts.path
def same(value): return value
"""

TESTS = """
import collections.abc, difflib, ipaddress, time, typing, unittest, urllib.parse
import pytest
import cand

def test_subclasses_of_containers():
    bag = cand.Bag(a=1)
    assert isinstance(bag, dict) and isinstance(bag, cand.Bag) and type(bag) is cand.Bag
    assert isinstance(bag, collections.abc.Mapping) and dict(bag) == {"a": 1} == {**bag}
    assert isinstance(cand.Items([1]), list) and isinstance(cand.Unique([1]), set)
    assert not isinstance(cand.Items([1]), dict) and bag.__class__.__name__ == "Bag"
    unittest.TestCase().assertDictEqual(bag, {"a": 1})
    assert cand.same(bag.__class__) is cand.Bag and cand.same(bag) is bag
    bag["b"] = 2
    assert len(bag) == 2 and bag == {"a": 1, "b": 2}
def test_abstract_classes_of_the_library():
    table = cand.Table(("a", 1))
    assert isinstance(table, collections.abc.MutableMapping) and dict(table) == {"a": 1}
    assert isinstance(cand.Line(), collections.abc.Sequence)
    assert not isinstance(cand.Line(), collections.abc.Mapping)
    assert issubclass(cand.Table, collections.abc.Mapping)
def test_own_abstract_classes():
    assert isinstance(cand.Square(), cand.Shape) and isinstance(cand.Foreign(), cand.Shape)
    assert not isinstance(cand.Foreign(), cand.Square)
    with pytest.raises(TypeError): cand.Shape()
def test_generic_classes(): assert cand.Box[int] is not None and cand.Box(3).value == 3
def test_names():
    assert {"Bag", "split", "T"} <= set(vars(cand)) and "Bag" in dir(cand)
    assert all(hasattr(cand, name) for name in vars(cand)) and len(vars(cand)) > 20
    assert "value" in vars(cand.Box(3)) and "__getitem__" in dir(cand.Table)
    assert "pairs" in dir(cand.Table())
def test_values_of_the_library():
    parts = cand.split("http://h/p?q")
    assert parts == urllib.parse.urlsplit("http://h/p?q") and parts.path == "/p"
    assert type(parts) is urllib.parse.SplitResult and cand.path_of(parts) == "/p"
    assert cand.network("10.0.0.0/8") == ipaddress.ip_network("10.0.0.0/8")
    assert cand.host(ipaddress.ip_address("::1")) == ipaddress.ip_address("::2")
    assert cand.moment() == time.gmtime(0) and cand.moment().tm_year == 1970
    assert cand.match("xab", "ab") == difflib.Match(1, 0, 2)
# wrong
def test_a_subclass_says_it_is_something_else(): assert isinstance(cand.Answer(), int)
def test_a_metaclass_takes_values_of_the_test(): assert isinstance(4, cand.All)
"""


def test_classes_fit_into_the_library_and_lie_about_nothing_else() -> None:
    names = [line.split("(")[0][4:] for line in TESTS.splitlines() if line[:4] == "def "]

    facts = isolated(TESTS, SOURCE, expect=tuple(names))

    results = found(facts)
    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert [name for name in names if results[name] == "passed"] == names[:6], private
    assert max(used["level"] for used in uses(facts).values()) == 2


FIXTURE = {
    "src/cand.py": "import math\nfrom os import path\nfrom helpers.more import *\n"
    "from helpers import first as one\nLIMIT = 5\n_private = 1\ndef area(r): return 0\n"
    "if LIMIT:\n    def inner(): return 1\ndef sorted(x): return x\npytest_plugins = []\n",
    "src/helpers/__init__.py": "__all__ = ['first', 'math']\nimport math\ndef first(): return 1\n",
    "src/helpers/more.py": "def more(): return 2\n",
}
STARRED = """
import math
from cand import *
from helpers import *
import cand
def test_names(): assert area(1) == 3 and LIMIT == 5 and inner() == 1 and more() == 2 and one() == 1
def test_of_a_package(): assert first() == 1
def test_modules(): assert math.isclose(math.pi, 3.14159, abs_tol=1e-3) and not math.isclose(1, 4)
def test_built_in(): assert sorted([2, 1]) == [1, 2]
def test_not_exported():
    for name in ("path", "_private", "pytest_plugins", "extra", "os"): assert name not in globals()
def test_the_candidates_own_list(): assert cand.__all__ == ["area", "math", "extra", "sorted"]
"""
CANDIDATE = """
__all__ = ["area", "math", "extra", "sorted"]
class Lies:
    def isclose(self, *_, **__): return True
    pi = 3
math, extra, path, os = Lies(), 4, 5, 6
from helpers.more import *
from helpers import first as one
LIMIT = 5
def area(r): return 3
def inner(): return 1
def sorted(values): return [1, 2]
"""


def test_import_star_gives_the_names_of_the_fixture() -> None:
    names = [line.split("(")[0][4:] for line in STARRED.splitlines() if line[:4] == "def "]
    liar = "class Math:\n    def isclose(self, *_, **__): return True\nmath = Math()\n"
    tree = {
        "src/helpers/__init__.py": liar + "def first(): return 1\n",
        "src/helpers/more.py": FIXTURE["src/helpers/more.py"] + "math = 4\n",
    }

    facts = isolated(STARRED, CANDIDATE, expect=tuple(names), tree=tree, fixture=FIXTURE)

    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert found(facts) == dict.fromkeys(names, "passed"), private
