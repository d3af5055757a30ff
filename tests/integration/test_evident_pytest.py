"""Mode `tamper-evident` of the pytest grader: what it accepts, detects and can't detect."""

from collections.abc import Mapping

import pytest
from attrs import evolve
from support.grading import GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, Reason, TestOutcome, Trust
from assay_graders.evident.grading import ALWAYS, NEEDED
from assay_graders.evident.python import PytestLanguage
from assay_graders.pytest_grader import PytestOptions

FIXTURE = {
    "src/calc.py": "import shared\ndef mul(a, b):\n    return shared.apply(a, b)\n",
    "src/shared.py": "def apply(a, b):\n    return a + b\n",
    "data.json": "[]",
    "tests/test_calc.py": "from calc import mul\ndef test_mul(): assert mul(2, 3) == 6\n",
}
HIDDEN = """
import pytest
from calc import mul

def test_small(): assert mul(2, 5) == 10

def test_large():
    assert mul(10**9, 3) == 3000000000
    assert mul(7, 1) == 7

@pytest.mark.parametrize("a, b, product", [(3, 4, 12), (0, 2, 0)])
def test_pairs(a, b, product):
    assert mul(a, b) == product
"""
EXPECT = (
    "test_hidden.py::test_small",
    "test_hidden.py::test_large",
    "test_hidden.py::test_pairs[3-4-12]",
    "test_hidden.py::test_pairs[0-2-0]",
)
RIGHT = "def mul(a, b):\n    return a * b\n"
WRONG = "def mul(a, b):\n    return a + b\n"


def grade_calc(
    calc: str,
    *,
    more: Mapping[str, str] | None = None,
    hidden: str = HIDDEN,
    expect: tuple[str, ...] = EXPECT,
    fixture: Mapping[str, str] = FIXTURE,
) -> Facts:
    options = PytestOptions(
        ("test_hidden.py",), expect, hidden=True, roots=("src",), mode="tamper-evident"
    )
    return grade(
        GRADERS["pytest"],
        options,
        {**FIXTURE, "src/calc.py": calc, **(more or {})},
        hidden={"test_hidden.py": hidden},
        fixture=fixture,
        role=GraderRole.HIDDEN,
    )


def test_an_honest_candidate_passes_with_every_guard_in_force_each_time():
    facts, again = (
        grade_calc(RIGHT, more={"data.json": "[1]", "src/new.py": "VALUE = 1\n"}) for _ in "12"
    )

    assert evolve(facts, outcome=None) == evolve(again, outcome=None)

    assert facts.passed
    assert facts.trust is Trust.TAMPER_EVIDENT
    assert facts.codes == ()
    assert set(facts.layers_held) == {
        *ALWAYS,
        *NEEDED,
        *PytestLanguage.guards,
    }


def test_visible_tests_are_taken_from_the_fixture():
    options = PytestOptions(
        ("tests/test_calc.py",),
        ("tests/test_calc.py::test_mul",),
        roots=("src",),
        mode="tamper-evident",
    )
    planted = {"tests/calc.py": RIGHT, "tests/conftest.py": "raise SystemExit\n"}

    facts = grade(
        GRADERS["pytest"], options, {**FIXTURE, "src/calc.py": RIGHT, **planted}, fixture=FIXTURE
    )
    changed = grade(
        GRADERS["pytest"],
        options,
        {**FIXTURE, "tests/test_calc.py": "def test_mul(): pass\n"},
        fixture=FIXTURE,
    )

    assert facts.passed
    assert facts.trust is Trust.TAMPER_EVIDENT
    assert set(outcomes(changed).values()) == {TestOutcome.MISSING}


def test_a_failure_needs_no_guards_and_says_so():
    facts = grade_calc(WRONG)

    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}
    assert (facts.trust, facts.codes) == (Trust.UNGUARDED, ("no-pass-to-guard",))
    assert "canary" not in facts.layers_held


ALWAYS_EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def mul(a, b): return Equal()
"""
NO_TEST_RUNS = """
import sys
sys.modules["_pytest.python"].Function.runtest = lambda self: None
def mul(a, b): return a + b
"""
# Finds nonce, ids and channel in memory and writes a report in which everything passed.
THIEF = """
import gc, json, os, sys
frame = sys._getframe()
while frame and "stream" not in frame.f_locals:
    frame = frame.f_back
config, stream, held = (frame.f_locals[name] for name in ("config", "stream", "held"))
import ast, random
names = [n for n in ast.parse(open(config["tests"][0]).read()).body if hasattr(n, "decorator_list")]
ids = []
for node in names:
    stem = "test_hidden.py::" + node.name
    rows = [d.args[1].elts for d in node.decorator_list]
    for row in rows[0] if rows else [None]:
        ids.append(stem if row is None else
                   stem + "[" + "-".join(str(e.value) for e in row.elts) + "]")
order = list(ids)
random.Random(config["order"]).shuffle(order)
held = [*held, "no-conftest", "no-configuration", "no-plugins", "sub-tests"]
body = {"schema": 3, "nonce": config["nonce"], "collected": ids, "parts": [], "errors": [],
        "tests": [{"id": i, "outcome": "passed", "message": ""} for i in order],
        "held": held, "strays": [], "restored": 1}
stream.send(json.dumps(body).encode())
os._exit(0)
"""
# Right only by what it did to a module that it was not to change.
ELSEWHERE = """
import shared
shared.apply = lambda a, b: a * b
def mul(a, b): return shared.apply(a, b)
"""
DETECTED = {
    "equals everything": (ALWAYS_EQUAL, {"canary-passed"}),
    "no test runs": (NO_TEST_RUNS, {"canary-passed", "re-break-passed"}),
    "stolen nonce": (THIEF, {"canary-passed", "re-break-passed"}),
    "right only by a patch": (ELSEWHERE, {"re-break-passed"}),
}


@pytest.mark.parametrize("attack", DETECTED)
def test_a_forged_pass_shows(attack: str):
    code, codes = DETECTED[attack]

    facts = grade_calc(code)

    assert set(outcomes(facts).values()) == {TestOutcome.PASSED}
    assert facts.reasons == {Reason.TAMPERING_DETECTED}
    assert {code for code in facts.codes if not code.startswith("lacks-")} == codes
    assert facts.trust is Trust.UNGUARDED
    assert not facts.passed


# Believes no expected value that it can't check: this is not stopped in one process.
VERIFIES = """
import ast, sys
def mul(a, b):
    frame = sys._getframe(1)
    lines = open(frame.f_code.co_filename).read().splitlines()
    asserted = lines[frame.f_lineno - 1].partition("assert ")[2]
    wanted = ast.unparse(ast.parse(asserted, mode="eval").body.comparators[0])
    wanted = eval(wanted, frame.f_globals, frame.f_locals)
    is_right = isinstance(wanted, int) and b != 0 and wanted / b == a or a == b == wanted
    return wanted if is_right else 0
"""


def test_a_forger_that_checks_before_it_believes_is_not_stopped():
    facts = grade_calc(VERIFIES)

    assert facts.passed
    assert facts.trust is Trust.TAMPER_EVIDENT


# A failing candidate that names guards of its own in a report with the right nonce.
NAMES_GUARDS = """
import sys
frame = sys._getframe()
while frame and "held" not in frame.f_locals:
    frame = frame.f_back
frame.f_locals["held"] += ["canary", "re-break", "anything <b>"]
def mul(a, b): return a + b
"""


def test_a_report_names_no_guards_but_the_known_ones():
    facts = grade_calc(NAMES_GUARDS)

    assert set(facts.layers_held) <= {*ALWAYS, *PytestLanguage.guards}


FORGED = """
import json, os, stat
body = json.dumps({"schema": 3, "nonce": "0" * 32, "collected": [], "tests": [], "parts": [],
                   "errors": [], "held": [], "strays": [], "restored": 0}).encode()
for descriptor in range(3, 32):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.write(descriptor, len(body).to_bytes(4, "big") + body)
    except OSError:
        pass
def mul(a, b): return a * b
"""


def test_a_report_without_the_nonce_is_a_protocol_fault():
    facts = grade_calc(FORGED)

    assert facts.reasons == {Reason.PROTOCOL_FAULT}
    assert set(outcomes(facts).values()) == {TestOutcome.MISSING}


ADDED = "from calc import mul\nfrom extra import triple\ndef test_t(): assert triple(2) == 6\n"


def test_code_that_the_candidate_adds_is_broken_by_its_absence():
    added = {"src/extra.py": "def triple(n): return n * 3\n"}

    facts = grade_calc(RIGHT, more=added, hidden=ADDED, expect=("test_hidden.py::test_t",))

    assert (facts.passed, facts.trust, facts.codes) == (True, Trust.TAMPER_EVIDENT, ())


REGRESSION = "from calc import mul\ndef test_same(): assert mul(2, 2) == 4\n"


def test_where_the_fixture_fails_nothing_changed_modules_are_emptied():
    facts = grade_calc(RIGHT, hidden=REGRESSION, expect=("test_hidden.py::test_same",))

    assert (facts.passed, facts.trust, facts.codes) == (True, Trust.TAMPER_EVIDENT, ())


def test_each_guard_that_does_not_hold_is_named_and_the_label_is_lost():
    # Ids depend on the data, no function of the file is the test, a module has the name of one
    # of the runtime's, and there is no code to restore.
    hidden = """
import json, iniconfig, pytest
def made():
    def inner(n): pass
    return inner
test_made = pytest.mark.parametrize("n", json.load(open("/workspace/data.json")))(made())
"""
    fixture = {**FIXTURE, "src/iniconfig.py": ""}
    facts = grade_calc(
        FIXTURE["src/calc.py"],
        more={"data.json": "[1]", "src/iniconfig.py": ""},
        hidden=hidden,
        expect=("test_hidden.py::test_made[1]",),
        fixture=fixture,
    )

    assert facts.passed
    assert facts.trust is Trust.UNGUARDED
    lacking = ("canary", "module-origins", "re-break", "trusted-collection")
    assert facts.codes == tuple(f"lacks-{guard}" for guard in lacking)
    assert not set(lacking) & set(facts.layers_held)
