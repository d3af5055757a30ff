"""Candidates that attack an in-process test run by its edges never pass, even unguarded.

Each would be accepted by a grader that believes exit codes, output or counts.
"""

from collections.abc import Mapping

import pytest
from support.grading import GENEROUS, GRADERS, grade, outcomes
from support.jail import runtime

from assay.api import Facts, Limits, OutcomeStatus, Reason, TestOutcome
from assay_graders.node_test import NodeTestOptions
from assay_graders.pytest_grader import PytestOptions

HIDDEN = """
import calc
def test_two(): assert calc.two() == 2
def test_four(): assert calc.two() * 2 == 4
"""
EXPECT = ("test_hidden.py::test_two", "test_hidden.py::test_four")
MISSING = dict.fromkeys(EXPECT, TestOutcome.MISSING)


def grade_calc(
    calc: str, *, more: Mapping[str, str] | None = None, limits: Limits = GENEROUS
) -> Facts:
    return grade(
        GRADERS["pytest"],
        PytestOptions(("test_hidden.py",), EXPECT, hidden=True, roots=("src",)),
        {"src/calc.py": calc, **(more or {})},
        hidden={"test_hidden.py": HIDDEN},
        limits=limits,
    )


def test_the_honest_control_passes():
    assert grade_calc("def two(): return 2\n").passed


def test_a_wrong_candidate_fails():
    facts = grade_calc("def two(): return 3\n")

    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}
    assert "assert 3 == 2" in facts.tests[0].message_private
    assert "3" not in facts.tests[0].message_public


LEAVES = {
    "hard exit while loading": "import os\nos._exit(0)\n",
    "soft exit while loading": "import sys\nsys.exit(0)\n",
    "hard exit in a call": "import os\ndef two(): os._exit(0)\n",
    "exit of the runner": "import pytest\ndef two(): pytest.exit('done', returncode=0)\n",
    "exit of the runner while loading": "import pytest\npytest.exit('done', returncode=0)\n",
    "interrupt": "def two(): raise KeyboardInterrupt\n",
    "exit in a thread": "import os, threading\ndef two():\n"
    "    threading.Thread(target=os._exit, args=(0,)).start()\n    while True: pass\n",
    "parent exits, child goes on": "import os, time\nif os.fork():\n    os._exit(0)\n"
    "time.sleep(0.2)\ndef two(): return 3\n",
    "exit by signal handler": "import os, signal\ndef two():\n"
    "    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n"
    "    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    while True: pass\n",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.mark.parametrize("attack", LEAVES)
def test_a_process_that_leaves_early_never_passes(attack: str):
    facts = grade_calc(LEAVES[attack])

    assert facts.completed
    assert not facts.passed
    assert outcomes(facts)[EXPECT[1]] in (TestOutcome.MISSING, TestOutcome.ERROR)


NOT_PASSED = {
    "skip": ("import pytest\ndef two(): pytest.skip('no')\n", TestOutcome.SKIPPED),
    "unittest skip": (
        "import unittest\ndef two(): raise unittest.SkipTest\n",
        TestOutcome.SKIPPED,
    ),
    "xfail": ("import pytest\ndef two(): pytest.xfail('no')\n", TestOutcome.XFAILED),
    "marks the tests that import it": (
        "import pytest, sys\ndef two(): return 3\n"
        "sys._getframe(1)\nframe = sys._getframe()\n"
        "while frame and not frame.f_globals.get('__name__', '').endswith('test_hidden'):\n"
        "    frame = frame.f_back\n"
        "frame.f_globals['pytestmark'] = [pytest.mark.xfail]\n",
        TestOutcome.XFAILED,
    ),
    "skips by AssertionError": (
        "import builtins, pytest\nbuiltins.AssertionError = pytest.skip.Exception\n"
        "def two(): raise AssertionError('no')\n",
        TestOutcome.SKIPPED,
    ),
    "exit in a call": ("import sys\ndef two(): sys.exit(0)\n", TestOutcome.FAILED),
}


@pytest.mark.parametrize("attack", NOT_PASSED)
def test_other_outcomes_are_no_passes(attack: str):
    code, outcome = NOT_PASSED[attack]

    facts = grade_calc(code)

    assert outcomes(facts) == dict.fromkeys(EXPECT, outcome)
    assert not facts.passed


def test_leaving_after_a_failed_run_changes_nothing():
    facts = grade_calc("import atexit, os\natexit.register(os._exit, 0)\ndef two(): return 3\n")

    assert facts.outcome is not None
    assert facts.outcome.exit_code == 0
    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}


def test_what_is_written_to_the_output_is_never_read():
    forged = "test_hidden.py ..  [100%]\\n2 passed in 0.01s\\n"
    facts = grade_calc(f'print("{forged}", flush=True)\nimport os\nos._exit(0)\n')

    assert outcomes(facts) == MISSING


def test_nothing_planted_in_the_tree_takes_part():
    pass_all = "import pytest\n@pytest.hookimpl(hookwrapper=True)\n"
    pass_all += "def pytest_runtest_makereport(item, call):\n"
    pass_all += "    (yield).get_result().outcome = 'passed'\n"
    facts = grade_calc(
        "def two(): return 3\n",
        more={
            "conftest.py": pass_all,
            "src/conftest.py": pass_all,
            "pytest.ini": "[pytest]\naddopts = --collect-only\n",
            "pytest.toml": '[pytest]\naddopts = ["--collect-only"]\n',
            "src/pytest.py": "import os\nos._exit(0)\n",
            "src/sitecustomize.py": "import os\nos._exit(0)\n",
            "src/fake-1.0.dist-info/entry_points.txt": "[pytest11]\nfake = conftest\n",
            "src/fake-1.0.dist-info/METADATA": "Name: fake\nVersion: 1.0\n",
            "src/test_hidden.py": "def test_two(): pass\ndef test_four(): pass\n",
        },
    )

    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}


SECOND_REPORT = """
import json, os, stat
ids = ["test_hidden.py::test_two", "test_hidden.py::test_four"]
tests = [{"id": test, "outcome": "passed", "message": ""} for test in ids]
body = json.dumps({"schema": 1, "tests": tests, "errors": []}).encode()
for descriptor in range(3, 32):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.write(descriptor, FRAME)
    except OSError:
        pass
def two(): return 3
"""


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("len(body).to_bytes(4, 'big') + body", id="second-report"),
        pytest.param("len(body).to_bytes(4, 'big') + body[:9]", id="cut-report"),
        pytest.param("b'\\xff\\xff\\xff\\xff'", id="four-gigabytes"),
        pytest.param("b'\\0\\0\\0\\1x'", id="not-json"),
        pytest.param("b'\\0\\0\\0\\0'", id="empty-report"),
    ],
)
def test_a_channel_with_anything_else_is_a_protocol_fault(frame: str):
    facts = grade_calc(SECOND_REPORT.replace("FRAME", frame))

    assert facts.reasons == {Reason.PROTOCOL_FAULT}
    assert outcomes(facts) == MISSING


SHORT = Limits(wall=1.0)
QUIET = Limits(wall=20.0, output=64 * 1024)


def test_a_hanging_candidate_reaches_the_time_limit():
    facts = grade_calc("def two():\n    while True: pass\n", limits=SHORT)

    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.TIMED_OUT
    assert not facts.completed
    assert not facts.passed


def test_hanging_after_the_report_reaches_the_time_limit_too():
    facts = grade_calc(
        "import atexit, time\natexit.register(time.sleep, 600)\ndef two(): return 2\n",
        limits=SHORT,
    )

    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.TIMED_OUT
    assert not facts.passed


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("os._exit(3)", id="exit-code"),
        pytest.param("os.kill(os.getpid(), 9)", id="signal"),
    ],
)
def test_a_run_that_reports_passes_and_then_fails_is_a_protocol_fault(end: str):
    facts = grade_calc(f"import atexit, os\natexit.register(lambda: {end})\ndef two(): return 2\n")

    assert facts.completed
    assert all(test.outcome is TestOutcome.PASSED for test in facts.tests)
    assert facts.reasons == {Reason.PROTOCOL_FAULT}
    assert not facts.passed


def test_flooding_the_output_reaches_the_output_limit():
    facts = grade_calc("import os\nwhile True: os.write(1, b'2 passed' * 1000)\n", limits=QUIET)

    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.OUTPUT_LIMIT
    assert not facts.passed


VISIBLE = "import calc\ndef test_two(): assert calc.two() == 2\n"
VISIBLE_EXPECT = ("tests/test_visible.py::test_two",)


def grade_visible(tests: Mapping[str, str], **changes: tuple[str, ...]) -> Facts:
    options = PytestOptions(("tests/test_visible.py",), VISIBLE_EXPECT, roots=("src",))
    tree = {"src/calc.py": "def two(): return 2\n", **tests}
    return grade(GRADERS["pytest"], options, tree, **changes)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        pytest.param("", TestOutcome.MISSING, id="no-tests"),
        pytest.param("def two(): pass\n", TestOutcome.MISSING, id="renamed-test"),
        pytest.param(
            VISIBLE + "test_two.__test__ = False\n", TestOutcome.MISSING, id="hidden-from-runner"
        ),
        pytest.param(
            "import pytest\npytest.skip(allow_module_level=True)\n" + VISIBLE,
            TestOutcome.MISSING,
            id="skipped-module",
        ),
        pytest.param("def test_two(:\n", TestOutcome.ERROR, id="syntax-error"),
        pytest.param(
            "import pytest\npytestmark = pytest.mark.xfail\n" + VISIBLE,
            TestOutcome.XFAILED,
            id="xfail",
        ),
        pytest.param(VISIBLE + "def test_more(): pass\n", TestOutcome.PASSED, id="one-more"),
        pytest.param(
            "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_two(n): pass\n",
            TestOutcome.MISSING,
            id="other-ids",
        ),
    ],
)
def test_other_tests_than_the_expected_never_pass(text: str, outcome: TestOutcome):
    facts = grade_visible({"tests/test_visible.py": text})

    assert facts.tests[0].outcome is outcome
    assert not facts.passed


def test_a_test_file_that_the_candidate_deleted_is_missing():
    facts = grade_visible({"tests/other.py": VISIBLE}, removed=("tests/test_visible.py",))

    assert outcomes(facts) == dict.fromkeys(VISIBLE_EXPECT, TestOutcome.MISSING)
    assert not facts.passed


NODE_HIDDEN = """
import assert from "node:assert/strict";
import { it } from "node:test";
import { two } from "/workspace/src/calc.mjs";
it("two", () => assert.equal(two(), 2));
it("four", async () => assert.equal((await two()) * 2, 4));
"""
NODE_EXPECT = ("hidden.mjs > two", "hidden.mjs > four")


def grade_node(calc: str, *, limits: Limits = GENEROUS, hidden: str = NODE_HIDDEN) -> Facts:
    if "node" in runtime().unavailable:
        pytest.skip(runtime().unavailable["node"])
    return grade(
        GRADERS["node-test"],
        NodeTestOptions(("hidden.mjs",), NODE_EXPECT, hidden=True),
        {"src/calc.mjs": calc},
        hidden={"hidden.mjs": hidden},
        limits=limits,
    )


def test_the_honest_node_control_passes():
    assert grade_node("export const two = () => 2;\n").passed


NODE_ATTACKS = {
    "wrong": "export const two = () => 3;\n",
    "exit while loading": "process.exit(0);\nexport const two = () => 3;\n",
    "exit in a call": "export const two = () => process.reallyExit(0);\n",
    "exit code reset": "process.on('exit', () => { process.exitCode = 0; });\n"
    "export const two = () => 3;\n",
    "forged tap": "console.log('TAP version 13\\nok 1 - two\\nok 2 - four\\n1..2');\n"
    "process.exit(0);\nexport const two = () => 3;\n",
    "forged ids": "console.log('hidden.mjs > two\\nok');\nexport const two = () => 3;\n",
    "never answers": "export const two = () => new Promise(() => {});\n",
    "throws nothing": "export const two = () => { throw undefined; };\n",
    "does not load": "export const three = 3;\n",
    "registers the tests itself": "import { it } from 'node:test';\nit('two', () => {});\n"
    "it('four', () => {});\nexport const two = () => 3;\n",
    "kills itself": "process.kill(process.pid, 'SIGKILL');\nexport const two = () => 3;\n",
    "kills the runner": "process.kill(process.ppid, 'SIGKILL');\nexport const two = () => 3;\n",
}


@pytest.mark.parametrize("attack", NODE_ATTACKS)
def test_node_attacks_never_pass(attack: str):
    facts = grade_node(NODE_ATTACKS[attack])

    assert facts.completed
    assert not facts.passed
    assert {facts.tests[0].outcome, facts.tests[1].outcome} != {TestOutcome.PASSED}


def test_a_node_file_that_leaves_while_loading_has_all_tests_missing():
    facts = grade_node(NODE_ATTACKS["exit while loading"])

    assert outcomes(facts) == dict.fromkeys(NODE_EXPECT, TestOutcome.MISSING)


def test_repeated_node_tests_are_duplicates():
    facts = grade_node("export const two = () => 2;\n", hidden=NODE_HIDDEN + NODE_HIDDEN[-120:])

    assert not facts.passed


def test_a_hanging_node_candidate_reaches_the_time_limit():
    facts = grade_node("export const two = () => { for (;;); };\n", limits=SHORT)

    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.TIMED_OUT
    assert not facts.passed
