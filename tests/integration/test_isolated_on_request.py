"""What isolated tests do only where the task asks for it: levels 5 and 6, and adapters."""

from __future__ import annotations

import pytest
from support.isolation import found, isolated, uses

from assay.api import GraderUnfit

SOURCE = """
import time
LIMIT = 5
def helper(n): return n + 1
def use(n): return helper(n) * LIMIT
def now(): return time.time()
class Shape:
    sides = 3
    def __init__(self, name): self.name = name
    def area(self): return self.side() ** 2
    def side(self): return 2
    @staticmethod
    def unit(): return "cm"
    @classmethod
    def make(cls): return cls(cls.unit())
    @property
    def label(self): return "<" + self.name + ">"
    def __len__(self): return self.sides
class Square(Shape): pass
"""

SETTING = """
from unittest import mock
import pytest
import cand

def test_module_value(monkeypatch):
    monkeypatch.setattr(cand, "LIMIT", 10)
    assert cand.use(1) == 20 and cand.LIMIT == 10
def test_module_function(monkeypatch):
    monkeypatch.setattr("cand.helper", lambda n: n + 100)
    assert cand.use(1) == 505
def test_module_deleted(monkeypatch):
    monkeypatch.delattr(cand, "LIMIT")
    with pytest.raises(NameError): cand.use(1)
def test_library_of_the_module(monkeypatch):
    monkeypatch.setattr(cand.time, "time", lambda: 7)
    assert cand.now() == 7
def test_class_method(monkeypatch):
    monkeypatch.setattr(cand.Shape, "side", lambda self: 5)
    assert cand.Shape("a").area() == 25 and cand.Square("a").area() == 25
def test_static_and_class_methods(monkeypatch):
    monkeypatch.setattr(cand.Shape, "unit", lambda: "mm")
    monkeypatch.setattr(cand.Shape, "make", lambda: 4)
    monkeypatch.setattr(cand.Square, "sides", 4)
    monkeypatch.setattr(cand.Shape, "__len__", lambda self: 9)
    monkeypatch.delattr(cand.Shape, "label")
    assert cand.Shape.unit() == "mm" and cand.Shape.make() == 4 and len(cand.Square("a")) == 9
    assert not hasattr(cand.Shape("a"), "label") and cand.Square("a").sides == 4
def test_instance(monkeypatch):
    shape = cand.Shape("a")
    shape.name = "b"
    monkeypatch.setattr(shape, "side", lambda: 3)
    assert shape.label == "<b>" and shape.area() == 9
    monkeypatch.undo()
    assert shape.area() == 4
    del shape.name
    assert not hasattr(shape, "name")
def test_mock_patch():
    with mock.patch("cand.helper", return_value=3) as helper: assert cand.use(1) == 15
    helper.assert_called_once_with(1)
    with mock.patch.object(cand.Shape, "side", return_value=7): assert cand.Shape("a").area() == 49
    with mock.patch.object(cand.Shape, "unit", return_value="m"):
        assert cand.Shape.make().name == "m"
    with mock.patch.object(cand, "LIMIT", 0): assert cand.use(1) == 0
def test_everything_is_undone():
    assert cand.use(1) == 10 and cand.now() > 7 and cand.Shape("a").area() == 4
    assert cand.Shape.unit() == "cm" and cand.Shape("a").unit() == "cm"
    assert cand.Shape.make().name == "cm" and cand.Square.make().label == "<cm>"
    assert len(cand.Square("a")) == 3 and isinstance(cand.Square.make(), cand.Square)
"""


def test_attributes_are_set_and_put_back() -> None:
    names = tuple(line.split("(")[0][4:] for line in SETTING.splitlines() if line[:4] == "def ")

    facts = isolated(SETTING, SOURCE, expect=names, max_level=5)

    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert set(found(facts).values()) == {"passed"}, private
    levels = {test: used["level"] for test, used in uses(facts).items()}
    assert levels.pop("test_everything_is_undone") == 2
    assert set(levels.values()) == {5}


def test_without_the_task_asking_nothing_is_set() -> None:
    tests = "import cand\ndef test_a(monkeypatch): monkeypatch.setattr(cand, 'LIMIT', 10)\n"
    with pytest.raises(GraderUnfit, match=r"can't be isolated: attribute-set"):
        isolated(tests, SOURCE, expect=("test_a",))

    tests = "import cand\ndef test_a():\n    try: cand.Shape('a').name = 'b'\n"
    tests += "    except BaseException: pass\n"
    assert isolated(tests, SOURCE, expect=("test_a",)).codes == ("attribute-set",)


def test_a_worker_that_dies_under_a_patch_leaves_no_patch_behind() -> None:
    source = SOURCE + "def leave():\n    import os\n    os._exit(0)\n"
    tests = (
        "import string, cand\nBEFORE = string.digits\n"
        "def test_a(monkeypatch):\n    monkeypatch.setattr(string, 'digits', '')\n"
        "    monkeypatch.setattr(cand, 'LIMIT', 10)\n"
        "    monkeypatch.setattr(cand.Shape, 'unit', lambda: 'x')\n    cand.leave()\n"
        "def test_b(): assert cand.LIMIT == 5 and string.digits is BEFORE\n"
        "def test_c(): assert cand.Shape.make().name == 'cm'\n"
    )

    facts = isolated(tests, source, expect=("test_a", "test_b", "test_c"), max_level=5)

    assert list(found(facts).values()) == ["failed", "passed", "passed"]


COMPARED = """
import dataclasses, enum

class Money:
    def __init__(self, amount): self.amount, self.tags = amount, ["x"]
    def __eq__(self, other): return isinstance(other, Money) and self.amount == other.amount
    def __hash__(self): return hash(self.amount)
@dataclasses.dataclass
class Point:
    x: int
    inner: object = None
class Slotted:
    __slots__ = ("a",)
    def __init__(self, a): self.a = a
    def __eq__(self, other): return self.a == other.a
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Node:
    def __init__(self): self.me = self
    def __eq__(self, other): return type(other) is Node
class Always:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return True
class Never(Always):
    def __eq__(self, other): return False
class Cached(Money):
    def warm(self): self.cache = 1; return self
class Empty:
    def __eq__(self, other): return True
class Plain: pass
class Bag(dict): pass
SAME = Money(1)
def money(n): return Money(n)
def same(n): return SAME
def plain(): return Plain()
"""

COMPARING = """
import cand
from unittest import TestCase
# these pass
def test_equal(): assert cand.Money(1) == cand.Money(1) and cand.Money(1) != cand.Money(2)
def test_nested():
    inner = cand.Point(1, [cand.Point(2)])
    assert inner == cand.Point(1, [cand.Point(2)]) and inner != cand.Point(1, [cand.Point(3)])
def test_slots(): assert cand.Slotted(1) == cand.Slotted(1) and cand.Slotted(1) != cand.Slotted(2)
def test_enum(): assert cand.Color.RED == cand.Color(1) and cand.Color.RED != cand.Color.BLUE
def test_cycle(): assert cand.Node() == cand.Node() and 1 != 2 and cand.Color.RED.value == 1
def test_in(): assert cand.Money(1) in [cand.Money(2), cand.Money(1)]
def test_identity(): assert cand.plain() != cand.plain()
def test_content(): assert cand.Bag(a=1) == cand.Bag(a=1) and cand.Bag(a=1) != cand.Bag(a=2)
def test_plain_value_too():
    money = cand.money(1)
    assert money == cand.Money(1)
    assert money.amount == 1
class TestCases(TestCase):
    def test_unittest(self):
        self.assertEqual(cand.money(1), cand.Money(1))
        self.assertNotEqual(cand.money(1), cand.Money(2))
# these don't
def test_alone(): assert cand.money(1) == cand.Money(1)
def test_alone_in_a_helper(): check(cand.same(1), cand.SAME)
def check(one, other): assert one == other
def test_always_equal(): assert cand.Always(1) == cand.Always(2) or cand.Money(1).amount == 2
def test_always_equal_unseen(): assert cand.Always(1) != cand.Always(2)
def test_never_equal(): assert cand.Never(1) != cand.Never(1)
def test_empty(): assert cand.Empty() == cand.Empty() and cand.Money(1).amount == 1
def test_cache(): assert cand.Cached(1).warm() == cand.Cached(1) and cand.Money(1).amount == 1
def test_classes(): assert cand.Point(1) == cand.Slotted(1)
def test_order(): assert not cand.Money(1) < cand.Money(2)
"""


def test_two_objects_are_compared_on_request_and_the_run_is_marked() -> None:
    names = [line.split("(")[0] for line in COMPARING.splitlines() if "def test_" in line]
    names = [name.strip()[4:] for name in names]
    expect = [f"TestCases::{name}" if name == "test_unittest" else name for name in names]
    right = expect[: expect.index("TestCases::test_unittest") + 1]

    facts = isolated(COMPARING, COMPARED, expect=tuple(expect), max_level=6)

    results = found(facts)
    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert {name for name in results if results[name] == "passed"} == set(right), private
    assert "self-compared" in facts.codes
    codes = {test: used["codes"] for test, used in uses(facts).items()}
    assert codes["test_alone"] == codes["test_alone_in_a_helper"] == ["self-compared-only"]
    assert codes["test_always_equal_unseen"] == ["equality-disagrees"]
    assert codes["test_never_equal"] == codes["test_cache"] == ["equality-disagrees"]
    assert codes["test_empty"] == ["equality-empty"]
    assert uses(facts)["test_equal"]["level"] == 6


def test_what_comparing_with_itself_leaves_possible_is_marked() -> None:
    """A constant object passes where a test has one more demand that does not reach it."""
    tests = (
        "import cand\ndef test_state(): assert cand.double(2) == cand.Money(4) and cand.ONE == 1\n"
        "def test_identity():\n    assert cand.double(2) is cand.FOUR\n"
    )
    source = (
        "ONE = 1\nclass Money:\n    def __init__(self, n): self.n = 0\n"
        "    def __eq__(self, other): return True\nFOUR = Money(4)\n"
        "def double(n): return FOUR\n"
    )

    facts = isolated(tests, source, expect=("test_state", "test_identity"), max_level=6)

    assert found(facts) == {"test_state": "passed", "test_identity": "passed"}
    assert facts.codes == ("self-compared",)
    levels = {test: used["level"] for test, used in uses(facts).items()}
    assert levels == {"test_state": 6, "test_identity": 0}


PAIRS = '''
class Pairs:
    """A dict that keeps several values for a key, compared as one by its own operators."""
    def __init__(self, *pairs): self._pairs = list(pairs)
    def items(self, multi=False): return iter(self._pairs if multi else dict(self._pairs).items())
    def __eq__(self, other):
        return self._pairs == (other._pairs if isinstance(other, Pairs) else list(other))
    def __lt__(self, other): return self._pairs < list(other)
    def __contains__(self, pair): return pair in self._pairs
    def __hash__(self): return 5
class Version:
    def __init__(self, text): self.text = text
    @property
    def parts(self): return tuple(int(part) for part in self.text.split("."))
    def __eq__(self, other): return self.parts == getattr(other, "parts", other)
    def __hash__(self): return 5
    def __lt__(self, other): return self.parts < getattr(other, "parts", other)
class Holder:
    def __init__(self, *versions): self.versions = versions
    def __eq__(self, other): return [v.parts for v in self.versions] == other
class Odd:
    value = 3
    def __eq__(self, other): return False
class Deep:
    @property
    def thing(self): return object()
    def __eq__(self, other): return True
'''
ADAPTED = """
import cand
def test_equal():
    pairs = cand.Pairs(("a", 1), ("a", 2))
    assert pairs == [("a", 1), ("a", 2)] and pairs != [("a", 1)] and [("a", 2)] != pairs
def test_in():
    pairs = cand.Pairs(("a", 1), ("a", 2))
    assert ("a", 1) in pairs and ("a", 3) not in pairs
def test_order():
    assert cand.Version("1.2") < (1, 3) and not cand.Version("1.2") < (1, 2)
def test_hash(): assert {cand.Version("1.2"): "x"}[(1, 2)] == "x"
def test_nested(): assert cand.Holder(cand.Version("1.2")) == [(1, 2)]
def test_wrong(): assert cand.Pairs(("a", 1)) == [("a", 2)]
def test_objects(): assert cand.Deep() == 4
def test_vetoed(): assert cand.Odd() == 3
def test_against_itself(): assert cand.Version("1") == cand.Version("1")
"""
KEYS = {
    "cand.Pairs": "items(multi=True)",
    "cand.Version": "parts",
    "cand.Holder": "versions.__class__",
    "cand.Odd": "value",
    "cand.Deep": "thing",
    "cand.Absent": "x",
}


def test_adapters_decide_by_the_key_of_the_task() -> None:
    names = [line.split("(")[0][4:] for line in ADAPTED.splitlines() if line[:4] == "def "]
    source = PAIRS.replace(
        "    def __eq__(self, other): return [v.",
        "    def list(self): return list(self.versions)\n    def __eq__(self, other): return [v.",
    ).replace("return False", "return other == 4")
    keys = KEYS | {"cand.Holder": "list()"}

    facts = isolated(ADAPTED, source, expect=tuple(names), adapters=keys)

    results = found(facts)
    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert [name for name in names if results[name] == "passed"] == names[:5], private
    codes = {test: used["codes"] for test, used in uses(facts).items()}
    assert codes["test_objects"] == ["adapter"]
    assert codes["test_vetoed"] == ["equality-disagrees"]
    assert codes["test_against_itself"] == ["self-compare"]
    assert codes["test_wrong"] == []
    assert uses(facts)["test_order"]["level"] == 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_level": 3}, "max_level must be one of 4, 5, 6"),
        ({"max_level": 7}, "max_level must be one of 4, 5, 6"),
        ({"adapters": {"Pairs": "items()"}}, "no dotted name of a class"),
        ({"adapters": {"cand.Pairs": "items("}}, "a key is not an expression"),
        ({"adapters": {"cand.Pairs": "_private"}}, "starts with an underscore"),
        ({"adapters": {"cand.Pairs": "versions.__class__"}}, "starts with an underscore"),
        ({"adapters": {"cand.Pairs": "f(x)"}}, "an argument that is no literal"),
        ({"adapters": {"cand.Pairs": "f(**{})"}}, "an argument that is no literal"),
        ({"adapters": {"cand.Pairs": "a + b"}}, "not a chain of names and calls"),
        ({"adapters": {"cand.Pairs": "lambda h: h"}}, "not a chain of names and calls"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_when_the_task_is_loaded(
    options: dict[str, object], problem: str
) -> None:
    with pytest.raises(GraderUnfit, match=problem):
        isolated("def test_a(): pass\n", "", expect=("test_a",), **options)
