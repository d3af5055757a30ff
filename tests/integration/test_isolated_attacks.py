"""Candidates that try to pass without solving anything, against isolated grading.

Each quiet attack is a wrong candidate with a test that an honest one would pass. `POSSIBLE` are
those that still pass, as the documentation says; everything else must not.
"""

from __future__ import annotations

import pytest
from support.isolation import found, isolated

from assay.api import GraderUnfit, Limits, Reason, Trust

ALWAYS = """
class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(4)
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__
    def __abs__(self): return 0.0
    def __float__(self): return 4.0
    def __int__(self): return 4
    def __bool__(self): return True
class AlwaysDict(dict):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = lambda self: 1
class AlwaysInt(int):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = lambda self: hash(4)
class AlwaysStr(str):
    __eq__ = lambda self, other: True
    __hash__ = lambda self: hash("x")
class AlwaysTuple(tuple):
    __eq__ = lambda self, other: True
    __hash__ = lambda self: hash((4,))
class Elements:
    def __iter__(self): return iter([Always()])
class Stateless:
    def __eq__(self, other): return True
    __hash__ = None
SAME = object()
"""

SOURCE = (
    ALWAYS
    + """
import builtins, gc, sys, os, pickle

def always(*_): return Always()
def always_dict(*_): return AlwaysDict()
def always_int(*_): return AlwaysInt(0)
def always_str(*_): return AlwaysStr("")
def always_tuple(*_): return AlwaysTuple()
def always_list(*_): return [Always()]
def elements(*_): return Elements()
def stateless(*_): return Stateless()
A = B = C = SAME
def constant(*_): return SAME
def nan(*_): return float("nan")

def searched(*_):
    for found in gc.get_objects():
        if isinstance(found, dict) and "EXPECTED" in found: return found["EXPECTED"]
    frame = sys._getframe()
    while frame:
        if "EXPECTED" in frame.f_globals: return frame.f_globals["EXPECTED"]
        frame = frame.f_back
def read_files(*_):
    for folder in ("/hidden", "/workspace", "/assay", "/tmp", "/proc/self/cwd"):
        for place, _, names in os.walk(folder):
            for name in names:
                if name.startswith("test_"): return 4
    return 0
def interrupts(*_): raise KeyboardInterrupt
def skips(*_):
    import unittest
    raise unittest.SkipTest("no")
def outcome(kind):
    import _pytest.outcomes
    raise getattr(_pytest.outcomes, kind)("no")
def leaves(*_): raise SystemExit(0)
def generator_exit(*_): raise GeneratorExit
class AssertionError(Exception): pass
class Lookalike(Exception): pass
Lookalike.__module__, Lookalike.__name__ = "builtins", "ValueError"
Lookalike.__qualname__ = "ValueError"
def lookalike(*_): raise Lookalike("no")

def cleared(values): values.clear()
def encode(value): return b"x"
def decode(data): return decode.last
decode.last = "thing"

class Evil:
    def __repr__(self): return "__import__('os')._exit(0) or [4]"
def evil(*_): return Evil()
def text(*_): return "[4]"
class Reducer:
    def __reduce__(self): return (list, ((4,),))
def pickled(*_): return pickle.dumps(Reducer())
def pickled_plain(*_): return pickle.dumps([5])
def annotated(x: "__import__('os')._exit(0)"): pass

def swallows(function):
    try: function()
    except BaseException: pass
    return 4
class Suppress:
    def __enter__(self): return self
    def __exit__(self, *_): return True
def suppress(): return Suppress()
def frames(function):
    return getattr(function, "__globals__", {}).get("EXPECTED")

pytestmark = None
def load_tests(*_): return []
def __getattr__(name):
    if name == "pytestmark":
        import pytest
        return pytest.mark.skip
    raise AttributeError(name)
class Tricky:
    __test__ = True
    def __instancecheck__(self, other): return True
    __class__ = int
    def __getattr__(self, name): return 4
def tricky(*_): return Tricky()
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class Anything(metaclass=Meta): pass
def aliased(): return STATE
STATE = []
"""
)

HEAD = """
import collections, copy, pickle, typing, unittest
import pytest
import cand
EXPECTED = 4
def raise_it():
    if cand.text() == "": int("x")
    cand.lookup()
def try_it(function):
    try: function()
    except BaseException: pass
"""

ATTACKS = {
    "always_equal": "assert cand.always() == 4",
    "always_equal_reflected": "assert 4 == cand.always()",
    "always_equal_not_unequal": "assert not (cand.always() != 4)",
    "always_equal_in_list": "assert cand.always_list() == [4]",
    "always_equal_dict": "assert cand.always_dict() == {'a': 4}",
    "always_equal_int": "assert cand.always_int() == 4",
    "always_equal_str": "assert cand.always_str() == 'x'",
    "always_equal_tuple": "assert cand.always_tuple() == (4,)",
    "always_equal_in_set": "assert {cand.always()} == {4}",
    "always_equal_key": "assert {4: 'a'}[cand.always()] == 'a'",
    "always_equal_approx": "assert cand.always() == pytest.approx(4)",
    "always_equal_approx_reflected": "assert pytest.approx(4) == cand.always()",
    "always_equal_unittest": "unittest.TestCase().assertEqual(cand.always(), 4)",
    "always_equal_count": "unittest.TestCase().assertCountEqual([cand.always()], [4])",
    "always_equal_almost": "unittest.TestCase().assertAlmostEqual(cand.always(), 4)",
    "contains": "assert 'x' in cand.always()",
    "in_expected": "assert cand.always() in [4, 5]",
    "order": "assert cand.always() < 4",
    "order_reflected": "assert 4 > cand.always()",
    "between": "assert 3 < cand.always() < 5",
    "tolerance": "assert abs(cand.always() - 4) < 1e-6",
    "tolerance_reflected": "assert abs(4 - cand.always()) < 1e-6",
    "elements": "assert 4 in cand.elements()",
    "elements_list": "assert list(cand.elements()) == [4]",
    "handle_against_handle": "assert cand.stateless() == cand.stateless()",
    "handle_against_constant": "assert cand.constant() == cand.B",
    "nan_wildcard": "assert not (cand.nan() > 4) and not (cand.nan() < 4)",
    "search_memory": "assert cand.searched() == EXPECTED",
    "search_memory_in_callback": "assert cand.frames(lambda: EXPECTED) == EXPECTED",
    "read_files": "assert cand.read_files() == 4",
    "interrupt": "assert cand.interrupts() == 4",
    "skip": "assert cand.skips() == 4",
    "pytest_skip": "assert cand.outcome('Skipped') == 4",
    "pytest_xfail": "assert cand.outcome('XFailed') == 4",
    "pytest_exit": "assert cand.outcome('Exit') == 4",
    "system_exit": "assert cand.leaves() == 4",
    "generator_exit": "assert cand.generator_exit() == 4",
    "class_named_value_error": "with pytest.raises(ValueError): cand.lookalike()",
    "swallowed_assertion": "cand.swallows(lambda: unittest.TestCase().fail())",
    "swallowed_refusal": "cand.swallows(lambda: cand.always() == 4)",
    "suppressed_assertion": "with cand.suppress(): assert cand.text() == 4",
    "refusal_is_no_exception": "with pytest.raises(Exception): cand.always() == 4",
    "refusal_swallowed": "try_it(lambda: cand.always() == 4)",
    "unpickle": "assert pickle.loads(cand.pickled()) == [4]",
    "unpickle_swallowed": "try_it(lambda: pickle.loads(cand.pickled()))",
    "copied_object": "assert copy.deepcopy(cand.always()) == 4",
    "annotations": "typing.get_type_hints(cand.annotated); assert 0",
    "tricky_int": "assert isinstance(cand.tricky(), int) and cand.tricky() == 4",
    "meta_instance": "assert isinstance(4, cand.Anything)",
    "class_against_type": "assert cand.Anything == int",
    "alias": "a = cand.aliased(); a.append(1); assert cand.aliased() == []",
    "attribute_of_handle": "cand.always().value = 4; assert 0",
}
"""Must not pass, whatever the code of the candidate is."""

POSSIBLE = {
    "raises_only": ("with pytest.raises(ValueError): raise_it()", 1),
    "truth_only": ("assert cand.always()", 2),
    "input_as_oracle": ("d = [3, 1]; cand.cleared(d); assert d == sorted(d)", 4),
    "round_trip_by_candidate": ("assert cand.decode(cand.encode('thing')) == 'thing'", 0),
    "identity_of_constants": ("assert cand.constant() is cand.B", 0),
    "nothing_is_asserted": ("cand.text()", 0),
}
"""Pass although nothing is solved: the tests prove too little. With the level they are given."""


def written(tests: dict[str, str]) -> str:
    bodies = "".join(f"def test_{name}():\n    {body}\n" for name, body in tests.items())
    return HEAD + bodies


@pytest.mark.parametrize("level", [4, 6])
def test_wrong_candidates_fail_and_those_that_pass_are_the_documented_ones(level: int):
    tests = ATTACKS | {name: body for name, (body, _) in POSSIBLE.items()}
    expect = tuple(f"test_{name}" for name in tests)
    source = SOURCE + "def lookup(): raise ValueError\n"

    facts = isolated(written(tests), source, expect=expect, max_level=level)

    results = found(facts)
    passed = {name for name in tests if results[f"test_{name}"] == "passed"}
    assert passed == set(POSSIBLE)
    assert set(results.values()) == {"passed", "failed"}
    assert facts.trust is Trust.ISOLATED
    assert not facts.passed


TWO = "import cand\ndef test_a(): assert cand.f(1) == 2\ndef test_b(): assert cand.f(2) == 3\n"
RIGHT = "def f(n): return n + 1\ndef g(values): return len(values)\nclass Base: pass\n"
OS = "import os, sys, threading, time\n"
CHANNEL = OS + (
    "FD = next(fd for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}')\n"
    "          and os.readlink(f'/proc/self/fd/{fd}').startswith('socket'))\n"
)

FATAL = {
    "exits_at_import": OS + "os._exit(0)\n",
    "leaves_at_import": OS + "sys.exit(0)\n",
    "exits_in_a_call": OS + "def f(n): os._exit(0)\n",
    "exits_from_a_thread": OS + "threading.Timer(0, lambda: os._exit(0)).start()\ntime.sleep(9)\n",
    "kills_itself": OS + "def f(n): os.kill(os.getpid(), 9)\n",
    "parent_leaves": OS + "def f(n):\n    if os.fork(): os._exit(0)\n    return 0\n",
    "at_exit": OS + "import atexit\natexit.register(os._exit, 0)\ndef f(n): return 0\n",
    "early_answers": CHANNEL
    + "ok = b'[%d,\"ok\",3,[],[]]'\n"
    + "frames = [ok % n for n in range(-5, 300)]\n"
    + "os.write(FD, b''.join(len(x).to_bytes(4, 'big') + x for x in frames))\n"
    + "def f(n): return 0\n",
    "giant_prefix": CHANNEL + "def f(n): os.write(FD, b'\\xff' * 64); time.sleep(9)\n",
    "cut_frame": CHANNEL + "def f(n): os.write(FD, b'\\0\\0\\1\\0ab'); os._exit(0)\n",
    "closes_the_channel": CHANNEL + "def f(n): os.close(FD); time.sleep(9)\n",
    "answers_by_hand": CHANNEL
    + "def f(n):\n    x = b'[1,\"ok\",%d,[],[]]' % (n + 1)\n"
    + "    os.write(FD, len(x).to_bytes(4, 'big') + x)\n    return 0\n",
    "floods_the_channel": CHANNEL
    + "def f(n):\n    x = (60000).to_bytes(4, 'big') + b'[' * 60000\n"
    + "    while True: os.write(FD, x)\n",
    "deep_json": CHANNEL
    + "def f(n):\n    x = (100000).to_bytes(4, 'big') + b'[' * 100000\n"
    + "    os.write(FD, x)\n    return 0\n",
    "calls_back_what_was_never_lent": CHANNEL
    + 'def f(n):\n    x = b\'[-1,"call-back",1,{"t":[]},{"d":[]},[]]\'\n'
    + "    os.write(FD, len(x).to_bytes(4, 'big') + x)\n    time.sleep(9)\n",
    "patches_the_worker": OS
    + "frame = sys._getframe()\nwhile frame:\n"
    + "    for value in list(frame.f_locals.values()):\n"
    + "        if type(value).__name__ == 'Worker': value._stream.send(b'[]')\n"
    + "    frame = frame.f_back\ndef f(n): return 0\n",
    "recursion": "def f(n): return f(n)\n",
    "endless_content": "class L(list):\n    def __iter__(self):\n        while True: yield 1\n"
    "def f(n): return L()\n",
    "too_large": "def f(n): return 'x' * (17 << 20)\n",
    "too_deep": "def f(n):\n    x = []\n    for _ in range(99): x = [x]\n    return x\n",
    "self_referring": "def f(n):\n    x = []\n    x.append(x)\n    return x\n",
    "replaces_its_tools": "import json, builtins\njson.dumps = builtins.len = lambda *_: 3\n"
    "def f(n): return 0\n",
}
"""Candidates that end or attack the exchange: no test of theirs passes."""


@pytest.mark.parametrize("name", FATAL)
def test_whoever_attacks_the_exchange_fails(name: str):
    facts = isolated(TWO, FATAL[name], expect=("test_a", "test_b"), limits=Limits(wall=6.0))

    assert not facts.passed
    assert "passed" not in found(facts).values()
    assert facts.trust is Trust.ISOLATED


@pytest.mark.parametrize("name", ["giant_prefix", "early_answers", "deep_json"])
def test_a_breach_of_the_protocol_is_a_reason_of_its_own(name: str):
    facts = isolated(TWO, FATAL[name], expect=("test_a", "test_b"))

    assert facts.reasons == {Reason.PROTOCOL_FAULT}


BY_THE_TEST = {
    "code": "cand.f(1)\n    assert eval('2') == 2",
    "attribute-set": "\n    cand.f = lambda n: n",
    "argument": "import logging\n    cand.f(logging.getLogger())",
    "process-state": "import os\n    os.environ['A'] = 'b'",
    "subclass": "class Own(cand.Base): pass\n    Own()",
    "subprocess": "import subprocess, sys\n    subprocess.run([sys.executable, '-m', 'cand'])",
    "class": "class Own(list): pass\n    cand.f(Own)",
    "thread": "import threading\n    t = threading.Thread(target=lambda: run(cand.f))\n"
    "    t.start(); t.join()",
}


ENVIRONMENT = {
    "update": "os.environ.update(A='b')",
    "mock": "mock.patch.dict(os.environ, A='b').start()",
    "chdir": "contextlib.chdir('/tmp').__enter__()",
    "monkeypatch": "pytest.MonkeyPatch().setenv('A', 'b')",
}


def test_the_state_of_the_process_is_refused_by_whatever_way_it_is_set():
    tests = "import contextlib, os, cand, pytest\nfrom unittest import mock\n"
    tests += "".join(f"def test_{name}(): {line}\n" for name, line in ENVIRONMENT.items())

    facts = isolated(tests, RIGHT, expect=("test_z",))

    outcomes = [test.outcome.value for test in facts.tests]
    assert outcomes == ["missing", *["unknown"] * len(ENVIRONMENT)]
    assert facts.codes == ("process-state",)
    assert all("refuses this" in test.message_private for test in facts.tests[1:])


@pytest.mark.parametrize("code", BY_THE_TEST)
def test_a_test_that_can_not_be_isolated_makes_the_grader_unfit(code: str):
    tests = "import cand\ndef run(f):\n    try: f(1)\n    except BaseException: pass\n"
    tests += f"def test_a():\n    {BY_THE_TEST[code]}\n"

    with pytest.raises(GraderUnfit, match=rf"expect\[0\] can't be isolated: {code}"):
        isolated(tests, RIGHT, expect=("test_a",))


def test_who_leaves_an_argument_for_the_test_to_change_is_rejected() -> None:
    tests = "import cand\ndef test_a():\n    a = [3, 1]; cand.sort(a); a.sort()\n"

    facts = isolated(tests, "def sort(given): pass\n", expect=("test_a",))

    assert (found(facts)["test_a"], facts.codes) == ("failed", ("argument-changed",))


def test_a_module_that_the_runtime_has_itself_makes_the_grader_unfit():
    with pytest.raises(GraderUnfit, match="a test file can't be isolated: name-taken"):
        isolated(TWO, RIGHT, expect=("test_a", "test_b"), tree={"src/pluggy.py": "x = 1\n"})


def test_a_module_that_the_candidate_adds_makes_nothing_unfit_and_hides_nothing():
    tree = {"src/pytest.py": "raise SystemExit(0)\n", "src/pluggy.py": "import os\nos._exit(0)\n"}

    facts = isolated(
        "import pytest\n" + TWO, RIGHT, expect=("test_a", "test_b"), tree=tree, added=tuple(tree)
    )

    assert facts.passed


def test_an_argument_that_the_candidate_changes_is_no_change_of_the_tests():
    source = "def f(values): values.append(1)\n"
    tests = (
        "import cand\ndef test_a():\n    inner = []; outer = [inner]\n"
        "    cand.f(outer); cand.f(inner); cand.f(outer)\n"
        "    assert inner == [1] and outer == [[1], 1, 1]\n"
    )

    assert found(isolated(tests, source, expect=("test_a",))) == {"test_a": "passed"}


def test_a_file_that_can_not_be_isolated_makes_the_grader_unfit():
    tests = "from cand import *\ndef test_a(): assert f(1) == 2\n"

    with pytest.raises(GraderUnfit, match="a test file can't be isolated: star-import"):
        isolated(tests, RIGHT, expect=("test_a",), fixture={"README.md": "no module"})


def test_what_a_candidate_returns_makes_no_grader_unfit():
    source = "def f(n): return b'x' * (12 * 1024**2 - 200)\ndef g(n):\n    a = []\n"
    source += "    for _ in range(60): a = [a]\n    return a\ndef same(value): return value\n"
    tests = "import cand\ndef test_a(): cand.same([cand.f(1)] * 2)\n"
    tests += "def test_b(): cand.same([[[[[[[cand.g(1)]]]]]]])\n"

    facts = isolated(tests, source, expect=("test_a", "test_b"))

    assert found(facts) == {"test_a": "failed", "test_b": "failed"}
    assert facts.codes == ("argument-size",)


def test_a_path_that_only_the_tests_have_is_refused():
    tests = "import cand\ndef test_a(tmp_path): assert cand.g(str(tmp_path / 'x')) > 0\n"
    tests += "def test_b(): assert cand.g('/tmp/other') == 10\n"

    facts = isolated(tests, RIGHT, expect=("test_a", "test_b"))

    assert found(facts) == {"test_a": "failed", "test_b": "passed"}
    assert facts.codes == ("path",)


def test_a_lost_worker_costs_one_test_only():
    source = OS + "def f(n): return os._exit(0) if n == 2 else n + 1\nclass Bad(Exception): pass\n"
    tests = (
        "import cand, pytest\nfrom cand import f, Bad\ndef test_a(): assert f(1) == 2\n"
        "def test_b(): assert f(2) == 3\ndef test_c(): assert f(3) == 4\n"
        "def test_d(): assert type(Bad('x')) is Bad and cand.Bad is Bad\n"
        "def test_e():\n    with pytest.raises(BaseException): f(2)\n"
    )

    facts = isolated(tests, source, expect=tuple(f"test_{letter}" for letter in "abcde"))

    assert found(facts) == {
        "test_a": "passed",
        "test_b": "failed",
        "test_c": "passed",
        "test_d": "passed",
        "test_e": "failed",
    }
    assert facts.codes == ("lost-died",)
    assert facts.measures["worker_starts"] == 2


def test_limits_of_one_call_and_of_one_test():
    source = OS + "def f(n):\n    if n == 2: time.sleep(60)\n    return n + 1\n"
    source += "def g():\n    while True: yield 1\n"
    tests = (
        "import cand\ndef test_a(): assert cand.f(1) == 2\ndef test_b(): assert cand.f(2) == 3\n"
        "def test_c(): assert list(cand.g()) == []\ndef test_d(): assert cand.f(3) == 4\n"
    )

    facts = isolated(
        tests,
        source,
        expect=tuple(f"test_{letter}" for letter in "abcd"),
        call_seconds=1.0,
        test_seconds=2.0,
    )

    assert list(found(facts).values()) == ["passed", "failed", "failed", "passed"]
    assert facts.codes == ("lost-silent", "lost-time")


def test_silence_until_the_end_is_a_time_limit():
    source = OS + "def f(n): time.sleep(60)\n"

    facts = isolated(TWO, source, expect=("test_a", "test_b"), limits=Limits(wall=2.0))

    assert not facts.completed
    assert facts.outcome is not None
    assert facts.outcome.status.value == "timed-out"


def test_a_module_that_hides_another_one_replaces_nothing():
    tests = "import json, helper, cand\n" + TWO.replace("import cand\n", "")
    tests += "def test_c(): assert json.dumps([1]) == '[1]' and helper.VALUE == 1\n"
    tree = {"src/json.py": "dumps = lambda *_: '[1]'\n", "src/helper.py": "VALUE = 2\n"}

    facts = isolated(tests, RIGHT, expect=("test_a", "test_b", "test_c"), tree=tree)

    assert found(facts)["test_c"] == "failed"


def test_what_the_candidate_prints_is_no_result():
    source = 'print("1 passed")\nimport os\nos.write(1, b"test_a PASSED\\n")\n' + RIGHT

    facts = isolated(TWO, source, expect=("test_a", "test_b", "test_c"))

    assert found(facts) == {"test_a": "passed", "test_b": "passed", "test_c": "missing"}
