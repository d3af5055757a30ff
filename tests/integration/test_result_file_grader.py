"""The `result-file` grader: what a command wrote is read exactly, or nothing passes."""

from __future__ import annotations

import pytest
from support.grading import GRADERS, grade, outcomes

from assay.api import Facts, TestOutcome, Trust
from assay_graders.result_file import ResultFileOptions

TESTS = "def test_a(): pass\ndef test_b(): pass\n"
IDS = ("tests.test_x::test_a", "tests.test_x::test_b")
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=/tmp/out/r.xml")


def grade_report(
    tree: dict[str, str],
    argv: tuple[str, ...],
    format_name: str,
    expect: tuple[str, ...],
    file: str = "",
) -> Facts:
    options = ResultFileOptions(argv, format_name, expect, file)
    return grade(GRADERS["result-file"], options, tree)


def test_the_report_of_a_real_runner():
    tree = {"tests/test_x.py": TESTS}
    good = grade_report(tree, PYTEST, "junit", IDS, "out/r.xml")
    more = grade_report(tree, PYTEST, "junit", IDS[:1], "out/r.xml")
    less = grade_report(tree, PYTEST, "junit", (*IDS, "tests.test_x::test_c"), "out/r.xml")

    assert good.passed
    assert good.trust is Trust.UNGUARDED
    assert outcomes(more)["unlisted-1"] is TestOutcome.UNKNOWN
    assert more.tests[1].message_private.startswith(IDS[1])
    assert outcomes(less)["tests.test_x::test_c"] is TestOutcome.MISSING
    assert not more.passed
    assert not less.passed


def test_the_report_on_standard_output():
    tap = "print('1..2\\nok 1 - a\\nok 2 - b # SKIP')\n"
    facts = grade_report({"t.py": tap}, ("python", "t.py"), "tap", ("a", "b"))

    assert outcomes(facts) == {"a": TestOutcome.PASSED, "b": TestOutcome.SKIPPED}


WRITE = "import os\n{0}\n"


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("pass", id="absent"),
        pytest.param("open('/tmp/r.xml', 'w').write('<testsuite>')", id="cut"),
        pytest.param("open('/tmp/r.xml', 'w').write('<testsuite/>')", id="no-tests"),
        pytest.param("os.mkdir('/tmp/r.xml')", id="folder"),
        pytest.param("os.mkfifo('/tmp/r.xml')", id="fifo"),
        pytest.param("os.symlink('/workspace/good.xml', '/tmp/r.xml')", id="link"),
        pytest.param(
            "open('/tmp/x', 'w').write(open('good.xml').read()); os.link('/tmp/x', '/tmp/r.xml')",
            id="second-link",
        ),
        pytest.param(
            "open('/tmp/r.xml', 'w').write(open('good.xml').read() * 2)", id="two-documents"
        ),
        pytest.param(
            "open('/tmp/r.xml', 'w').write('<!DOCTYPE x>' + open('good.xml').read())", id="doctype"
        ),
        pytest.param("open('/tmp/r.xml', 'w').truncate(40 * 2**20)", id="large"),
    ],
)
def test_a_report_that_can_not_be_read_is_never_a_pass(program: str):
    good = "<testsuite><testcase name='a'/></testsuite>"
    tree = {"t.py": WRITE.format(program), "good.xml": good}
    facts = grade_report(tree, ("python", "t.py"), "junit", ("a",), "r.xml")

    assert facts.completed
    assert outcomes(facts) == {"a": TestOutcome.MISSING}
    assert not facts.passed


def test_a_repeated_pass_is_a_duplicate_and_a_repeated_failure_a_failure():
    case = "<testcase name='a'/><testcase name='a'/><testcase name='b'/>"
    failed = "<testcase name='b'><failure/></testcase>"
    tree = {"t.py": f'print("<testsuite>{case}{failed}</testsuite>")\n'}
    facts = grade_report(tree, ("python", "t.py"), "junit", ("a", "b"))

    assert outcomes(facts) == {"a": TestOutcome.DUPLICATE, "b": TestOutcome.FAILED}
