"""Unmodified tests against a candidate in another process: what works, at which level."""

from __future__ import annotations

import pytest
from support.grading import GRADERS, grade, outcomes
from support.isolation import isolated

from assay.api import TestOutcome, Trust

SOURCE = '''
import collections, enum, sys, warnings

LIMIT = 5
NAMES = ["a", "b"]

class Shape:
    """A shape."""
    sides = 0
    def __init__(self, name): self.name = name
    def area(self, scale=1): return 2 * scale
    def rename(self, name): self.name = name; return self
    @property
    def label(self): return f"<{self.name}>"
    @classmethod
    def square(cls): return Square("square")
    def __len__(self): return 3
    def __getitem__(self, index): return [10, 20, 30][index]
    def __setitem__(self, index, value): self.name = (index, value)
    def __bool__(self): return self.name != ""
    def __repr__(self): return f"Shape({self.name!r})"
    def __call__(self, value): return value * 2
    def __hash__(self): return 77
    def __enter__(self): self.name = "entered"; return self
    def __exit__(self, *error): self.name = "left"; return error[0] is KeyError

class Square(Shape):
    sides = 4

class Broken(ValueError):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Level(enum.IntEnum):
    LOW = 1

class Bag(dict):
    pass

class Items(list):
    pass

class Loud(str):
    def upper(self): return "LOUD"
    def title(self): return "Title"

Point = collections.namedtuple("Point", "x y")

def add(a, b):
    "Add."
    return a + b
def about(function):
    import inspect
    return function.__name__, function.__doc__, str(inspect.signature(function))
def fail(kind): raise {"value": ValueError, "key": KeyError, "os": OSError}[kind](2, "no")
def broken(): raise Broken("bad", 7)
def count(n):
    for i in range(n):
        yield i
def endless():
    while True:
        yield 1
def shape(name): return Shape(name)
def pairs(): return [Shape("a"), 1]
def point(): return Point(1, 2)
def bag(**kw): return Bag(kw)
def items(*args): return Items(args)
def loud(): return Loud("loud")
def draw(source): return source()
def level(): return Level.LOW
def apply(function, values): return [function(value) for value in values]
def total(values): return sum(values)
def swallow(function):
    try:
        function()
    except Exception as error:
        return type(error).__name__
def say(text): print(text); print(text.upper(), file=sys.stderr)
def warn(): warnings.warn("old", DeprecationWarning); return 1
def sort(values): values.sort()
def deep(values): values["list"].append(1)
def make_counter():
    state = {"n": 0}
    def counter():
        state["n"] += 1
        return state["n"]
    return counter
def decorated(function):
    def inner(*args): return ("wrapped", function(*args))
    return inner
def same(value): return value
def identity(error): raise error
'''

TESTS = """
import collections.abc, operator
import pytest
import cand as shapes
from cand import Broken, Color, Shape, Square, add, shape
from unittest import TestCase

# level 0
def test_plain(): assert add(2, 3) == 5 and add("a", "b") == "ab" and add([1], [2]) == [1, 2]
def test_keywords(): assert add(a=1, b=2) == 3
def test_constant(): assert shapes.LIMIT == 5 and shapes.NAMES == ["a", "b"]
def test_wrong(): assert add(2, 3) == 6
# level 1
def test_builtin_error():
    with pytest.raises(ValueError): shapes.fail("value")
    with pytest.raises(KeyError, match="no"): shapes.fail("key")
    with pytest.raises(OSError) as caught: shapes.fail("os")
    assert caught.value.errno == 2
def test_generator():
    assert list(shapes.count(3)) == [0, 1, 2]
    assert sum(shapes.count(4)) == 6 and next(shapes.endless()) == 1
def test_wrong_error():
    with pytest.raises(TypeError): shapes.fail("value")
# level 2
def test_attributes():
    s = shape("x")
    assert s.name == "x" and s.label == "<x>" and s.sides == 0 and s.area(scale=3) == 6
    assert s.rename("y") is s and s.name == "y"
    assert not hasattr(s, "absent")
    with pytest.raises(AttributeError): s.absent
def test_classes():
    s = Square("q")
    assert isinstance(s, Square) and isinstance(s, Shape) and type(s) is Square
    assert issubclass(Square, Shape) and not isinstance(shape("x"), Square)
    assert Shape.square().sides == 4 and Square.sides == 4 and Square.__name__ == "Square"
def test_own_error():
    with pytest.raises(Broken, match="bad") as caught: shapes.broken()
    assert caught.value.code == 7 and str(caught.value) == "bad"
    assert isinstance(caught.value, ValueError)
    try: shapes.broken()
    except Broken as error: assert error.args == ("bad",)
def test_special_methods():
    s = shape("x")
    assert len(s) == 3 and s[1] == 20 and list(s) == [10, 20, 30] and repr(s) == "Shape('x')"
    assert s and not shape("") and s(4) == 8 and hash(s) == 77 and {s: 1}[s] == 1
    assert str(s) == "Shape('x')" and f"{s}" == "Shape('x')"
    s[0] = 5
    assert s.name == (0, 5)
    assert callable(s) and not isinstance(s, collections.abc.Iterator)
    with pytest.raises(IndexError): s[9]
def test_contexts():
    s = shape("x")
    with s as inner: assert inner.name == "entered"
    assert s.name == "left"
    with s: raise KeyError("held back")
    with pytest.raises(ValueError):
        with s: raise ValueError("not held back")
def test_enum():
    assert Color.RED is Color.RED and Color.RED.value == 1 and Color["BLUE"] is Color.BLUE
    assert [c.name for c in Color] == ["RED", "BLUE"] and Color(2) is Color.BLUE
    assert len(Color) == 2
def test_content_of_subclasses():
    assert shapes.point() == (1, 2) and shapes.point().x == 1 and shapes.point() != (1, 3)
    assert isinstance(shapes.point(), tuple)
    assert shapes.bag(a=1) == {"a": 1} and shapes.bag(a=1) != {"a": 2} and "a" in shapes.bag(a=1)
    assert shapes.items(1, 2) == [1, 2] and 2 in shapes.items(1, 2) and 3 not in shapes.items(1)
    assert shapes.loud() == "loud" and shapes.loud().upper() == "LOUD"
    assert shapes.loud().strip() == "loud" and shapes.loud().title() == "Title"
    assert shapes.level() == 1 and shapes.level() + 1 == 2
def test_nested():
    first, second = shapes.pairs()
    assert first.name == "a" and second == 1
def test_output(capsys):
    shapes.say("hi")
    assert capsys.readouterr() == ("hi\\n", "HI\\n")
def test_warning():
    with pytest.warns(DeprecationWarning, match="old"): assert shapes.warn() == 1
def test_state():
    counter = shapes.make_counter()
    assert [counter(), counter()] == [1, 2]
def test_unequal_to_plain(): assert (shapes.make_counter() == 4) is False
class TestCases(TestCase):
    def test_unittest(self):
        self.assertEqual(add(1, 2), 3)
        with self.assertRaises(Broken): shapes.broken()
# level 3
def test_functions():
    assert shapes.apply(lambda value: value + 1, [1, 2]) == [2, 3]
    assert shapes.apply(str, [1]) == ["1"] and shapes.apply(str.upper, ["a"]) == ["A"]
    assert shapes.apply(operator.neg, [1]) == [-1]
    assert shapes.decorated(lambda a: a * 2)(4) == ("wrapped", 8)
def test_state_of_a_library_function():
    import random
    random.seed(5)
    first = random.random()
    random.seed(5)
    assert shapes.draw(random.random) == first
def test_paths():
    assert shapes.same("/tmp/nothing") == "/tmp/nothing"
    assert shapes.apply([].append, [1]) == [None]
def test_iterators():
    assert shapes.total(iter([1, 2])) == 3 and shapes.total(n for n in (3, 4)) == 7
def test_error_in_function():
    class Mine(Exception): pass
    def fails(): raise Mine("secret")
    assert shapes.swallow(fails) == "Mine"
    with pytest.raises(Mine, match="secret"): shapes.apply(lambda _: fails(), [1])
    error = KeyError("k")
    with pytest.raises(KeyError) as caught: shapes.identity(error)
    assert caught.value is error
def test_functions_say_what_they_are():
    def function(a, *, b=2): "A text."
    assert shapes.about(function) == ("function", "A text.", "(a, *, b=Ellipsis)")
    assert add.__name__ == "add" and add.__module__ == "cand" and add.__doc__ == "Add."
    assert Shape.__doc__ == "A shape." and shape("x").__doc__ == "A shape."
    class Holder:
        method = add
    with pytest.raises(TypeError): Holder.method(1)
    assert Holder.method(1, 2) == 3
def test_function_comes_back():
    def function(): pass
    assert shapes.same(function) is function
def test_nested_calls():
    assert shapes.apply(lambda n: add(n, shapes.apply(lambda m: m, [1])[0]), [1]) == [2]
# level 4
def test_written_back():
    values = [3, 1, 2]
    assert shapes.sort(values) is None and values == [1, 2, 3]
    inner = []
    shapes.deep({"list": inner})
    assert inner == [1]
"""

LEVELS = {
    "plain keywords constant": 0,
    "builtin_error generator": 1,
    "attributes classes own_error special_methods enum content_of_subclasses nested": 2,
    "output warning state unequal_to_plain": 2,
    "contexts functions iterators error_in_function function_comes_back nested_calls": 3,
    "state_of_a_library_function paths functions_say_what_they_are": 3,
    "written_back": 4,
}
FAILING = ("test_wrong", "test_wrong_error")


def test_what_each_level_needs_works_and_wrong_code_still_fails():
    names = [f"test_{name}" for group in LEVELS for name in group.split()]
    names += [*FAILING, "TestCases::test_unittest"]

    facts = isolated(TESTS, SOURCE, expect=tuple(names))

    wanted = {
        f"test_h.py::{name}": TestOutcome.FAILED if name in FAILING else TestOutcome.PASSED
        for name in names
    }
    private = {test.id: test.message_private for test in facts.tests}
    found = outcomes(facts)
    assert {test: found[test] for test in found if found[test] is not wanted.get(test)} == {}, (
        private
    )
    assert found == wanted
    assert facts.trust is Trust.ISOLATED
    assert facts.completed
    assert not facts.reasons
    counts = {int(key[-1]): facts.measures[key] for key in facts.measures if "level" in key}
    assert counts[4] == 1
    assert counts[3] == 9


VISIBLE = "import cand\ndef test_a(): assert cand.f(1) == 2\n"


@pytest.mark.parametrize("roots", [("src",), ("src", ".")], ids=str)
def test_tests_of_the_tree_run_unless_the_candidate_changed_them(roots: tuple[str, ...]):
    grader = GRADERS["pytest"]
    options = grader.Options(
        tests=("tests/test_v.py",),
        expect=("tests/test_v.py::test_a",),
        roots=roots,
        mode="isolated",
    )
    tree = {"src/cand.py": "def f(n): return n + 1\n", "tests/test_v.py": VISIBLE}

    assert grade(grader, options, tree).passed
    changed = grade(grader, options, tree, modified=("tests/test_v.py",))
    assert outcomes(changed) == {"tests/test_v.py::test_a": TestOutcome.MISSING}
    assert changed.trust is Trust.ISOLATED


def test_threads_of_the_candidate_call_back_one_after_the_other():
    source = """
import concurrent.futures, threading
def pooled(function, values):
    with concurrent.futures.ThreadPoolExecutor(4) as pool: return list(pool.map(function, values))
def started(function, value):
    thread = threading.Thread(target=function, args=(value,))
    thread.start()
    return thread
def count(n): return sum(range(n))
"""
    tests = """
import threading
import cand, pytest
def test_pool():
    seen = []
    def take(value): seen.append(value); return cand.count(value)
    assert cand.pooled(take, list(range(50))) == [sum(range(n)) for n in range(50)]
    assert sorted(seen) == list(range(50))
def test_later():
    seen = []
    thread = cand.started(seen.append, 1)
    thread.join()
    assert seen == [1]
def test_raises():
    def fail(value): raise KeyError(value)
    with pytest.raises(KeyError): cand.pooled(fail, [1, 2, 3])
"""
    names = ("test_pool", "test_later", "test_raises")
    facts = isolated(tests, source, expect=names)
    assert set(outcomes(facts).values()) == {TestOutcome.PASSED}, facts
