"""Exact expected ids: what is missing, repeated or not asked for is no pass."""

import pytest

from assay.api import RelPath, Task, TestOutcome
from assay_graders.command import CommandGrader, CommandOptions
from assay_graders.expected import compare
from assay_graders.node_test import NodeTestGrader, NodeTestOptions
from assay_graders.pytest_grader import PytestGrader, PytestOptions
from assay_graders.report import FailedFile, ReportedTest, RunReport
from assay_graders.unittest_grader import UnittestGrader, UnittestOptions

TASK = Task(id="t", category="c", prompt="p", fixture=RelPath("fixture"))
HIDDEN_TASK = Task(
    id="t", category="c", prompt="p", fixture=RelPath("fixture"), hidden=RelPath("hidden")
)
PASSED, FAILED = TestOutcome.PASSED, TestOutcome.FAILED


def file_of(test: str) -> str:
    return test.partition("::")[0]


def outcomes(expect: tuple[str, ...], report: RunReport | None) -> dict[str, TestOutcome]:
    return {result.id: result.outcome for result in compare(expect, report, file_of)}


def test_without_a_report_every_test_is_missing():
    assert outcomes(("t::a", "t::b"), None) == {
        "t::a": TestOutcome.MISSING,
        "t::b": TestOutcome.MISSING,
    }


def test_a_test_that_passed_twice_is_a_duplicate():
    run = ReportedTest("t::a", PASSED)

    assert outcomes(("t::a",), RunReport((run, run))) == {"t::a": TestOutcome.DUPLICATE}


def test_a_test_that_failed_and_then_passed_is_a_duplicate():
    runs = (ReportedTest("t::a", FAILED), ReportedTest("t::a", PASSED))

    assert outcomes(("t::a",), RunReport(runs)) == {"t::a": TestOutcome.DUPLICATE}


def test_a_test_that_nobody_asked_for_is_unknown():
    runs = (ReportedTest("t::a", PASSED), ReportedTest("t::b", PASSED))

    assert outcomes(("t::a",), RunReport(runs)) == {
        "t::a": PASSED,
        "unlisted-1": TestOutcome.UNKNOWN,
    }


def test_a_name_that_was_not_asked_for_stays_private():
    """It may be the text of a hidden test, or anything else that a candidate writes."""
    secret = "assert slug('\x1b[2J') == 'expected'"
    runs = (ReportedTest("t::z", PASSED), ReportedTest(secret, FAILED, "why"))
    report = RunReport(runs, (FailedFile(secret, "how"), FailedFile("t", "known")))

    results = compare(("t::a",), report, file_of)

    assert [(result.id, result.outcome, result.message_public) for result in results] == [
        ("t::a", TestOutcome.ERROR, "error: t::a"),
        ("unlisted-1", TestOutcome.UNKNOWN, "unknown: unlisted-1"),
        ("unlisted-2", TestOutcome.UNKNOWN, "unknown: unlisted-2"),
        ("t", TestOutcome.ERROR, "error: t"),
        ("unlisted-file-1", TestOutcome.ERROR, "error: unlisted-file-1"),
    ]
    assert results[1].message_private == f"{secret}\nwhy"
    assert results[4].message_private == f"{secret}\nhow"


@pytest.mark.parametrize(
    "outcome", [TestOutcome.SKIPPED, TestOutcome.XFAILED, TestOutcome.ERROR, FAILED]
)
def test_other_outcomes_stay_what_they_are(outcome: TestOutcome):
    assert outcomes(("t::a",), RunReport((ReportedTest("t::a", outcome),))) == {"t::a": outcome}


def test_tests_of_a_file_that_did_not_load_are_errors():
    report = RunReport((ReportedTest("u::b", PASSED),), (FailedFile("t", "SyntaxError"),))

    assert outcomes(("t::a", "u::b", "v::c"), report) == {
        "t::a": TestOutcome.ERROR,
        "u::b": PASSED,
        "v::c": TestOutcome.MISSING,
        "t": TestOutcome.ERROR,
    }


def test_the_public_message_holds_only_outcome_and_id():
    run = ReportedTest("t::a", FAILED, "assert 'secret' == 'guess'")

    (result,) = compare(("t::a",), RunReport((run,)), file_of)

    assert result.message_public == "failed: t::a"
    assert result.message_private == "assert 'secret' == 'guess'"


def test_legal_options_have_no_problems():
    options = PytestOptions(("tests/t.py",), ("tests/t.py::a",), roots=("src", "."))
    node = NodeTestOptions(("t.mjs",), ("t.mjs > a > b",), hidden=True)

    assert PytestGrader().check(options, TASK) == ()
    assert NodeTestGrader().check(node, HIDDEN_TASK) == ()
    cases = UnittestOptions(("test/t.py", "u-v.py"), ("test.t.A.a", "test.t.A.a (n=1)", "u-v.A.a"))
    assert UnittestGrader().check(cases, TASK) == ()
    assert CommandGrader().check(CommandOptions(("python", "-V")), TASK) == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (PytestOptions((), ("t.py::a",)), "tests is empty."),
        (PytestOptions(("t.py",), ()), "expect is empty"),
        (PytestOptions(("t.py",), ("t.py::a", "t.py::a")), "more than once"),
        (PytestOptions(("t.py",), ("u.py::a",)), "does not start with a file"),
        (PytestOptions(("t.py", "u.py"), ("t.py::a",)), "tests[1] has no expected test."),
        (PytestOptions(("t.py",), ("t.py",)), "names a file, not a test"),
        (PytestOptions(("../t.py",), ("../t.py::a",)), "path holds a . or .. component"),
        (PytestOptions(("/t.py",), ("/t.py::a",)), "path is absolute"),
        (PytestOptions(("t.txt",), ("t.txt::a",)), "does not end with .py"),
        (PytestOptions(("t[1].py",), ("t[1].py::a",)), "holds one of the characters"),
        (PytestOptions(("t.py",), ("t.py::a",), roots=("..",)), "roots[0]"),
        (PytestOptions(("t.py",), ("t.py::a",), roots=("a", "a")), "roots names a folder"),
        (PytestOptions(("t.py",), ("t.py::a",), hidden=True), "the task has no hidden files"),
        (PytestOptions(("t.py",), ("t.py::a",), mode="fast"), "mode must be unguarded or t"),
        (PytestOptions(("t.py",), ("t.py::a",), nan=True), "belong to mode isolated"),
        (PytestOptions(("t.py",), ("t.py::a",), call_seconds=-1.0), "call_seconds must be 0"),
        (PytestOptions(("t.py",), ("t.py::\ud800",)), "Unicode text"),
    ],
)
def test_each_problem_of_pytest_options_is_a_sentence(options: PytestOptions, problem: str):
    assert any(problem in found for found in PytestGrader().check(options, TASK))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (UnittestOptions((), ("t.A.a",)), "tests is empty."),
        (UnittestOptions(("t.py",), ("u.A.a",)), "does not start with a file"),
        (UnittestOptions(("t.py",), ("t.py",)), "names a file, not a test"),
        (UnittestOptions(("t.py", "u.py"), ("t.A.a",)), "tests[1] has no expected test."),
        (UnittestOptions(("t v.py",), ("t v.A.a",)), "holds one of the characters"),
        (UnittestOptions(("v1.2/t.py",), ("v1.2.t.A.a",)), "has a dot in its name"),
        (UnittestOptions(("json/t.py",), ("json.t.A.a",)), "would hide Python's own module json"),
        (UnittestOptions(("code.py",), ("code.A.a",)), "would hide Python's own module code"),
        (UnittestOptions(("t.py", "t/u.py"), ("t.A.a", "t.u.A.a")), "the name of a folder"),
        (UnittestOptions(("t.py",), ("t.A.a (n=1)",)), "is a sub-test, but its test"),
        (UnittestOptions(("t.py",), ("t.A.a [n]",)), "is a sub-test, but its test"),
        (UnittestOptions(("t.py",), ("t.A.a",), hidden=True), "the task has no hidden files"),
        (UnittestOptions(("t.py",), ("t.A.a",), test_seconds=1.0), "belong to mode isolated"),
    ],
)
def test_each_problem_of_unittest_options_is_a_sentence(options: UnittestOptions, problem: str):
    assert any(problem in found for found in UnittestGrader().check(options, TASK))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (NodeTestOptions(("t.ts",), ("t.ts > a",)), "does not end with .mjs"),
        (NodeTestOptions(("t*.mjs",), ("t*.mjs > a",)), "holds one of the characters"),
        (NodeTestOptions(("t.mjs",), ("t.mjs > a",), mode="fast"), "mode must be unguarded or"),
        (NodeTestOptions(("t.mjs",), ("t.mjs::a",)), "does not start with a file"),
    ],
)
def test_each_problem_of_node_options_is_a_sentence(options: NodeTestOptions, problem: str):
    assert any(problem in found for found in NodeTestGrader().check(options, TASK))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (CommandOptions(()), "argv is empty."),
        (CommandOptions(("python", "a\nb")), "argv[1] holds a control character"),
        (CommandOptions(("python", "\ud800")), "argv[1] holds a control character"),
        (CommandOptions(("python",), cwd="../x"), "cwd: path holds"),
        (CommandOptions(("python",), hidden=True), "the task has no hidden files"),
    ],
)
def test_each_problem_of_command_options_is_a_sentence(options: CommandOptions, problem: str):
    assert any(problem in found for found in CommandGrader().check(options, TASK))


def test_graders_say_which_tools_they_need():
    assert PytestGrader().needs(PytestOptions(("t.py",), ("t.py::a",)), TASK).tools == ("python",)
    assert NodeTestGrader().needs(NodeTestOptions((), ()), TASK).tools == ("node",)
    assert CommandGrader().needs(CommandOptions(("node", "x")), TASK).tools == ("node",)
    assert CommandGrader().needs(CommandOptions(("/bin/sh", "x")), TASK).tools == ()
