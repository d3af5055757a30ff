"""The `stdio` grader on honest, wrong and hostile programs, in real jails."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.grading import GENEROUS, GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, GraderUnfit, Limits, OutcomeStatus, TestOutcome, Trust
from assay_graders.stdio import StdioOptions

ADD = "import sys\nprint(sum(int(word) for word in sys.stdin.read().split() + sys.argv[1:]))\n"
CASES: list[dict[str, Any]] = [
    {"id": "input", "stdin": "1 2\n", "stdout": "3\n"},
    {"id": "arguments", "argv": ["4", "5"], "stdout": "9\n"},
]


def grade_program(
    program: str,
    cases: list[dict[str, Any]] | None = None,
    *,
    hidden: Mapping[str, str] | None = None,
    limits: Limits = GENEROUS,
    **options: Any,
) -> Facts:
    document = {"schema": 1, "cases": CASES if cases is None else cases}
    return grade(
        GRADERS["stdio"],
        StdioOptions("cases.json", ("python", "main.py"), **options),
        {"main.py": program, "tests/expected.txt": "3\n"},
        hidden={"cases.json": json.dumps(document), **(hidden or {})},
        role=GraderRole.HIDDEN,
        limits=limits,
    )


def test_the_honest_control_passes():
    facts = grade_program(ADD)

    assert facts.passed
    assert facts.trust is Trust.ISOLATED
    assert outcomes(facts) == dict.fromkeys(("input", "arguments"), TestOutcome.PASSED)


@pytest.mark.parametrize(
    "program",
    [
        "print(4)\n",
        "pass\n",
        "print(3, end='')\n",
        "print('3\\n3')\n",
        "import sys\nsys.stderr.write('3\\n9\\n')\n",
        "import os\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "import os\nos.write(1, b'3\\n\\0')\n",
        "print(open('/hidden/cases.json').read())\n",
        "print(open('tests/expected.txt').read(), end='')\n",
        "import os\nos.kill(os.getpid(), 9)\n",
        "print(3)\nraise SystemExit(1)\n",
        "def broken(:\n",
    ],
)
def test_a_wrong_program_fails(program: str):
    facts = grade_program(program)

    assert facts.completed
    assert not facts.passed
    assert all(test.outcome is TestOutcome.FAILED for test in facts.tests)
    assert facts.tests[0].message_public == "failed: input"


SAY = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"


@pytest.mark.parametrize(
    ("written", "stdout", "compare", "passes"),
    [
        ("a b\n", "a b\n", "exact", True),
        ("a b\n", "a b", "exact", False),
        ("a  b \r\n\n", "a b", "whitespace", True),
        ("a\nb", "a b", "whitespace", False),
        ("a b", "ab", "whitespace", False),
        ("0.333 x", "0.3333333 x\n", {"abs": 0.001}, True),
        ("0.34 x", "0.3333333 x", {"abs": 0.001}, False),
        ("1001", "1000", {"rel": 0.01}, True),
        ("nan", "1", {"abs": 9}, False),
        ("inf", "1", {"rel": 9}, False),
        ("1_0", "10", {"abs": 1}, False),
        ("1 2", "1", {"abs": 9}, False),
        ("", "", "exact", True),
    ],
)
def test_outputs_are_compared_as_the_case_says(
    written: str, stdout: str, compare: Any, passes: bool
):
    case = {"id": "c", "stdin": written, "stdout": stdout, "compare": compare}

    assert grade_program(SAY, [case]).passed is passes


def test_bytes_that_are_no_text_and_files_beside_the_cases():
    raw = base64.b64encode(b"\xff\0\r\n").decode("ascii")
    cases = [
        {"id": "raw", "stdin": {"base64": raw}, "stdout": {"base64": raw}},
        {"id": "file", "stdin": {"file": "in/1.txt"}, "stdout": {"file": "out/1.txt"}},
        {"id": "other", "stdin": {"file": "in/1.txt"}, "stdout": "no"},
    ]
    facts = grade_program(SAY, cases, hidden={"in/1.txt": "hä\n", "out/1.txt": "hä\n"})

    passed, failed = TestOutcome.PASSED, TestOutcome.FAILED
    assert outcomes(facts) == {"raw": passed, "file": passed, "other": failed}


@pytest.mark.parametrize(
    ("code", "expected", "passes"),
    [("3", 3, True), ("0", 3, False), ("7", None, True), ("7", 0, False)],
)
def test_exit_codes(code: str, expected: int | None, passes: bool):
    case = {"id": "c", "argv": [code], "stdout": "", "exit_code": expected}
    facts = grade_program("import sys\nsys.exit(int(sys.argv[1]))\n", [case])

    assert facts.passed is passes


CHECKER = (
    "import os, sys\n"
    "def is_factor(given, demanded, written):\n"
    "    assert os.listdir('/workspace') == []\n"
    "    number, factor = int(given), int(written)\n"
    "    return 1 < factor < number and number % factor == 0\n"
)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [("3", True), ("5", True), ("4", False), ("15", False), ("x", False), ("", False)],
)
def test_a_checker_of_the_suite_decides_in_its_own_jail(answer: str, passes: bool):
    case = {"id": "c", "stdin": "15", "compare": {"checker": "check.py:is_factor"}}
    facts = grade_program(f"print('{answer}')\n", [case], hidden={"check.py": CHECKER})

    assert facts.completed
    assert facts.passed is passes


def test_a_checker_that_is_broken_is_not_the_candidates_fault():
    case = {"id": "c", "compare": {"checker": "check.py:absent"}}

    with pytest.raises(GraderUnfit, match=r"check\.py:absent"):
        grade_program("print(1)\n", [case], hidden={"check.py": CHECKER})


def test_nothing_of_one_case_is_left_for_the_next():
    program = (
        "import os, sys\nseen = os.path.exists('/tmp/seen')\nopen('/tmp/seen', 'w').close()\n"
        "print(seen)\n"
    )
    cases = [{"id": name, "stdout": "False\n"} for name in ("a", "b")]

    assert grade_program(program, cases).passed


@pytest.mark.parametrize(
    ("program", "status", "limits"),
    [
        ("while True: pass\n", OutcomeStatus.TIMED_OUT, Limits(wall=1.0)),
        ("while True: print('3')\n", OutcomeStatus.OUTPUT_LIMIT, Limits(wall=20, output=65536)),
    ],
)
def test_a_limit_is_never_a_pass(program: str, status: OutcomeStatus, limits: Limits):
    facts = grade_program(program, limits=limits)

    assert facts.outcome is not None
    assert facts.outcome.status is status
    assert not facts.completed
    assert not facts.passed


def test_a_missing_program_is_the_candidates_fault():
    facts = grade(
        GRADERS["stdio"],
        StdioOptions("cases.json", ("./run.sh",)),
        {"main.py": ADD},
        hidden={"cases.json": json.dumps({"schema": 1, "cases": CASES})},
    )

    assert facts.completed
    assert not facts.passed


@pytest.mark.parametrize(
    ("cases", "rule"),
    [
        ([], "is empty"),
        ([{"id": "a"}], "needs stdout, a checker or an exit_code"),
        ([{"id": "a", "exit_code": None}], "needs stdout"),
        ([{"id": "a", "stdout": "", "exit_code": 256}], "whole number"),
        ([{"id": "a", "stdout": "", "nope": 1}], "unknown key"),
        ([{"id": "a", "stdout": "", "argv": ["\n"]}], "control character"),
        ([{"id": "a", "stdout": {"file": "../x"}}], "component"),
        ([{"id": "a", "stdout": {"file": "absent"}}], "hidden file"),
        ([{"id": "a", "stdout": {"base64": "!"}}], "base 64"),
        ([{"id": "a", "stdout": "", "compare": "near"}], "whitespace"),
        ([{"id": "a", "compare": "exact", "exit_code": 0}], "no stdout"),
        ([CASES[0], CASES[0]], "earlier case"),
    ],
)
def test_a_case_file_that_means_nothing_makes_the_grader_unfit(
    cases: list[dict[str, Any]], rule: str
):
    with pytest.raises(GraderUnfit, match=rule):
        grade_program(ADD, cases)
