"""Candidates that forge results never pass the `call` grader, and never make a trial invalid.

Each attack would be accepted by a grader that shares a process with the code it judges, or that
believes an exit code, an output, or the first answer that comes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.grading import GENEROUS, GRADERS, grade

from assay.api import Facts, GraderRole, Limits, OutcomeStatus, Reason, TestOutcome, Trust
from assay_graders.call import CallOptions

HIDDEN = {
    "cases.json": json.dumps(
        {
            "schema": 1,
            "cases": [
                {"id": "two", "call": "calc:two", "args": [], "expect": 2},
                {"id": "half", "call": "calc:half", "args": [3.0], "expect": 1.5},
                {"id": "near", "call": "calc:half", "args": [1], "expect": 0.5},
                {
                    "id": "near-tolerated",
                    "call": "calc:half",
                    "args": [1.0],
                    "expect": 0.5,
                    "tolerance": {"abs": 1e-6},
                },
                {"id": "names", "call": "calc:names", "args": [["b", "a"]], "expect": ["a", "b"]},
                {
                    "id": "sorts",
                    "call": "calc:names",
                    "args": [["c", "a"]],
                    "property": "checks.py:is_sorted",
                },
            ],
        }
    ),
    "checks.py": "def is_sorted(result, items):\n    return result == sorted(items)\n",
}
HONEST = """
def two(): return 2
def half(n): return n / 2
def names(items): return sorted(items)
"""


def grade_calc(calc: str, *, workers: str = "case", limits: Limits = GENEROUS) -> Facts:
    return grade(
        GRADERS["call"],
        CallOptions("cases.json", roots=("src",), workers=workers),
        {"src/calc.py": calc, "tests/test_calc.py": "from calc import two\nassert two() == 2\n"},
        hidden=HIDDEN,
        role=GraderRole.HIDDEN,
        limits=limits,
    )


def returning(value: str, before: str = "") -> str:
    """All three functions return this expression."""
    return (
        f"{before}\ndef two(): return {value}\ndef half(n): return {value}\n"
        f"def names(items): return {value}\n"
    )


LIAR = """
class {name}({base}):
    def __new__(cls, *args): return {base}.__new__(cls{seed})
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, other): return 0.0
    __rsub__ = __abs__ = __sub__
    def __abs__(self): return 0.0
    def __bool__(self): return True
    def __float__(self): return 0.5
    def __repr__(self): return "2"
    def __reduce__(self): return (int, (2,))
    def __array_ufunc__(self, *args, **kwargs): return True
    @property
    def __class__(self): return int
"""


def liar(base: str, seed: str = "") -> str:
    return returning("Liar()", LIAR.format(name="Liar", base=base, seed=seed))


FINDS = """
import ast, gc, glob, os, sys
def search():
    frame, seen = sys._getframe(), []
    while frame:
        seen += list(frame.f_globals.values()) + list(frame.f_locals.values())
        frame = frame.f_back
    for value in [*seen, *gc.get_objects()]:
        if type(value) is dict and "expect" in value: return value["expect"]
    for folder in ("/hidden", "/workspace", os.getcwd(), "/proc/1/root/hidden", "/assay"):
        for path in glob.glob(folder + "/**/*.json", recursive=True):
            return open(path).read()
    return None
"""
SPEAKS = """
import json, os, stat, struct
def say(body):
    for fd in range(1, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, struct.pack(">I", len(body)) + body)
        except OSError:
            pass
"""
ATTACKS = {
    # Leaving.
    "A18 hard exit while loading": "import os\nos._exit(0)\n",
    "A18 hard exit in a call": returning("os._exit(0)", "import os"),
    "A19 exit handler": returning("3", "import atexit, os\natexit.register(os._exit, 0)"),
    "A20 soft exit while loading": "import sys\nsys.exit(0)\n",
    "A20 soft exit in a call": returning("sys.exit(0)", "import sys"),
    "A21 exit of a runner": "import pytest\npytest.exit('done', returncode=0)\n",
    "killed": returning("os.kill(os.getpid(), 9)", "import os"),
    # The child that carries on is too late whatever it does: it dies with its parent.
    "parent exits": "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(600)\n" + HONEST,
    # Lying values.
    "A22 equal to everything": liar("object"),
    "A23 lying int": liar("int", ", 7"),
    "A23 lying float": liar("float", ", 7.0"),
    "A23 lying text": liar("str", ", 'x'"),
    "A23 lying list": liar("list"),
    "A23 lying dict": liar("dict"),
    "A23 lying tuple": liar("tuple"),
    "A24 lies inside a list": returning(
        "[Liar()]", LIAR.format(name="Liar", base="object", seed="")
    ),
    "not a number": returning("float('nan')"),
    "infinite": returning("float('inf')"),
    "None": returning("None"),
    "True": returning("True"),
    "empty": returning("[]"),
    "not implemented": returning("NotImplemented"),
    "a coroutine": "async def two(): return 2\nasync def half(n): return 0\n"
    "async def names(i): return i\n",
    "a generator": "def two(): yield 2\ndef half(n): yield n\ndef names(i): yield from i\n",
    # Looking for what is expected.
    "A29 searches memory": returning("search()", FINDS),
    "A30 reads the caller's source": returning(
        "open(sys._getframe(1).f_code.co_filename).read()", "import sys"
    ),
    "A31 takes the caller's constants": returning(
        "list(sys._getframe(1).f_code.co_consts)", "import sys"
    ),
    "A32 reads hidden files": returning("open('/hidden/cases.json').read()"),
    "A32 reads tests": returning("2", "open('/workspace/tests/test_calc.py')"),
    "A33 marks its importer": returning(
        "3", "import sys\nsys._getframe(1).f_globals['pytestmark'] = 1"
    ),
    "A25 replaces the runner": returning(
        "3",
        "import sys\nfor m in list(sys.modules.values()):\n"
        "    for n in ('matches', 'dumps', 'answer'):\n"
        "        if hasattr(m, n): setattr(m, n, lambda *a, **k: True)",
    ),
    # Speaking out of turn.
    "E08 forged report": returning("3", SPEAKS + 'say(b\'{"schema":1,"tests":[],"errors":[]}\')'),
    "E11 early answers": returning(
        "3",
        SPEAKS + "for n in range(50): say(json.dumps([str(n), 'returned', 2, None]).encode())",
    ),
    "E11 early answer and exit": SPEAKS
    + "say(json.dumps(['0' * 32, 'returned', 2, None]).encode())\nos._exit(0)\n",
    "E11 raw bytes": returning("3", SPEAKS + "say(b'[' * 5000)"),
    "a pattern that takes long": returning("re.compile('a')", "import re"),
    # Unlike Python's own answers.
    "text instead of a number": returning("'2'"),
    "a number of another type": returning("2.0 if False else 2.5"),
    "raises what it likes": returning("(_ for _ in ()).throw(AssertionError)"),
}


def test_the_honest_control_passes():
    facts = grade_calc(HONEST)

    assert facts.passed
    assert facts.trust is Trust.ISOLATED


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_never_passes_and_is_never_invalid(attack: str):
    facts = grade_calc(ATTACKS[attack], workers="group")

    assert facts.completed
    assert not facts.passed
    assert all(test.outcome is not TestOutcome.PASSED for test in facts.tests), facts.tests
    assert facts.outcome is not None
    assert facts.outcome.status not in (OutcomeStatus.CANCELLED, OutcomeStatus.SETUP_FAILED)


TWICE = (
    SPEAKS
    + """
import sys
def two():
    nonce = sys._getframe(1).f_locals["nonce"]
    for guess in range(4):
        say(json.dumps([nonce, "returned", guess, None]).encode())
    return 2
def half(n): return n / 2
def names(items): return sorted(items)
"""
)


def test_a_second_answer_to_one_question_is_a_breach():
    facts = grade_calc(TWICE, workers="group")

    assert not facts.passed
    assert Reason.PROTOCOL_FAULT in facts.reasons or facts.tests[0].outcome is TestOutcome.FAILED


SHORT = Limits(wall=1.0)


@pytest.mark.parametrize(
    ("code", "status", "limits"),
    [
        pytest.param(
            returning("3", "while True: pass"), OutcomeStatus.TIMED_OUT, SHORT, id="F01-import"
        ),
        pytest.param(
            "import time\ndef two(): time.sleep(600)\nhalf = names = two\n",
            OutcomeStatus.TIMED_OUT,
            SHORT,
            id="F01-call",
        ),
        pytest.param(
            returning("3", "import os\nwhile True: os.write(1, b'ok' * 9999)"),
            OutcomeStatus.OUTPUT_LIMIT,
            GENEROUS,
            id="F02-flood",
        ),
        pytest.param(
            "import os, threading\nos._exit = lambda code: threading.Event().wait()\n"
            "def two(): return 2\nhalf = names = two\n",
            OutcomeStatus.EXITED,
            GENEROUS,
            id="keeps-the-worker-from-leaving",
        ),
    ],
)
def test_a_limit_is_never_a_pass(code: str, status: OutcomeStatus, limits: Limits):
    facts = grade_calc(code, limits=limits)

    assert facts.outcome is not None
    assert facts.outcome.status is status
    assert not facts.passed


def test_state_that_a_candidate_keeps_does_not_outlive_its_process():
    code = "seen = []\ndef two():\n    seen.append(1)\n    return 1 + len(seen)\n"
    cases: list[dict[str, Any]] = [
        {"id": name, "call": "calc:two", "args": [], "expect": 2} for name in ("a", "b", "c")
    ]
    facts = grade(
        GRADERS["call"],
        CallOptions("cases.json", roots=("src",)),
        {"src/calc.py": code},
        hidden={"cases.json": json.dumps({"schema": 1, "cases": cases})},
    )

    assert facts.passed
