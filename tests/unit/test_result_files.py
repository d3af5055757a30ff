"""Readers of result files: exactly what the tool said, or a refusal, never a wrong pass."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from assay.api import TestOutcome
from assay_graders.results import (
    MAX_RESULTS,
    ParsedResults,
    ResultsRefused,
    parse_junit,
    parse_node_tap,
    parse_pytest_text,
    parse_results,
    parse_tap,
    parse_unittest_text,
)

P, F, E = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR
S, X = TestOutcome.SKIPPED, TestOutcome.XFAILED


def outcomes(results: ParsedResults) -> dict[str, TestOutcome]:
    return {test.id: test.outcome for test in results.tests}


# JUnit XML


def junit(cases: str, suite: str = 'name="s"') -> bytes:
    text = f"<testsuites><testsuite {suite}>{cases}</testsuite></testsuites>"
    return f'<?xml version="1.0"?>{text}'.encode()


def test_junit_outcomes():
    results = parse_junit(
        junit(
            '<testcase classname="c" name="ok" time="0.1"/>'
            '<testcase classname="c" name="bad"><failure message="no">trace</failure></testcase>'
            '<testcase classname="c" name="err"><error/></testcase>'
            '<testcase classname="c" name="skip"><skipped/></testcase>'
            '<testcase classname="c" name="x"><skipped type="pytest.xfail"/></testcase>'
            '<testcase name="alone"><system-out>]]&gt; &lt;failure/&gt;</system-out></testcase>'
        )
    )

    assert outcomes(results) == {
        "c::ok": P,
        "c::bad": F,
        "c::err": E,
        "c::skip": S,
        "c::x": X,
        "alone": P,
    }
    assert results.tests[1].message == "no\ntrace"


def test_junit_with_two_cases_of_one_name_keeps_the_worst_and_counts_both():
    case = '<testcase classname="c" name="t[1]">'
    for first, second in (("<failure/>", ""), ("", "<failure/>")):
        results = parse_junit(junit(f"{case}{first}</testcase>{case}{second}</testcase>"))

        assert outcomes(results) == {"c::t[1]": F}
        assert results.counted == 2
        assert "more than once" in results.warnings[0]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x1b[31mred\x1b[0m", id="colour"),
        pytest.param(b"x\0y", id="nul"),
        pytest.param(b"&#27;[31m", id="decimal-reference"),
        pytest.param(b"&#x1B;&#x0;", id="hexadecimal-reference"),
    ],
)
def test_junit_with_control_characters_is_read_with_a_warning(raw: bytes):
    data = junit(
        '<testcase classname="t" name="a"><failure message="MARK">MARK</failure></testcase>'
    )
    results = parse_junit(data.replace(b"MARK", raw))

    assert outcomes(results) == {"t::a": F}
    assert "control characters" in results.warnings[0]


@pytest.mark.parametrize(
    ("attributes", "inside", "outcome"),
    [
        ('status="run" result="completed"', "", P),
        ('status="notrun"', "", S),
        ('status="FAILED"', "", F),
        ('result="suppressed"', "", S),
        ('status="whatever"', "", E),
        ("", '<flakyFailure message="first"/>', F),
        ("", "<rerunFailure/><failure/>", F),
        ("", '<skipped type="pytest.xfail"/><error/>', E),
        ("", "<properties><property name='failure'/></properties>", P),
        ("", "<system-out><failure/></system-out>", P),
    ],
)
def test_junit_of_other_producers(attributes: str, inside: str, outcome: TestOutcome):
    results = parse_junit(junit(f'<testcase name="a" {attributes}>{inside}</testcase>'))

    assert outcomes(results) == {"a": outcome}


BOMB = (
    '<!DOCTYPE z [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{n} "&a{n - 1 if n else ""};&a{n - 1 if n else ""};">' for n in range(30))
    + "]><testsuite><testcase name='&a29;'/></testsuite>"
)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "not well-formed"),
        (b"<testsuite>", "not well-formed"),
        (b"<testsuite><testcase name='a'/>", "not well-formed"),
        (b"PASSED t.py::a", "not well-formed"),
        (b"<html/>", "root"),
        (BOMB.encode(), "document type"),
        (
            b'<!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>'
            b"<testsuite><testcase name='&y;'/></testsuite>",
            "document type",
        ),
        (b'<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd"><testsuite/>', "document type"),
        (b"<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>", "inside"),
        (b"<testsuite failures='1'><testcase name='a'/></testsuite>", "counts failures"),
        (b"<testsuite errors='x'/>", "not a number"),
        (b"<testsuite><testcase/></testsuite>", "no name"),
        (b"<testsuite>" + b"<testsuite>" * 100 + b"</testsuite>" * 101, "deeply nested"),
        (b"<testsuite><testcase name='%s'/></testsuite>" % (b"a" * 3000), "longer than"),
        (b'<?xml version="1.0" encoding="utf-7"?><testsuite/>', "not well-formed"),
        (b"<testsuite>&undefined;</testsuite>", "not well-formed"),
    ],
)
def test_junit_that_is_refused(data: bytes, rule: str):
    with pytest.raises(ResultsRefused, match=rule):
        parse_junit(data)


def test_junit_failures_of_a_suite_itself_are_results():
    results = parse_junit(
        junit('<testcase name="a"/><error message="set-up"/>', 'name="s" errors="1"')
    )

    assert outcomes(results) == {"a": P, "s": E}


def test_junit_in_other_encodings_and_name_spaces():
    text = '<?xml version="1.0" encoding="{}"?><testsuite><testcase name="é [a - b]"/></testsuite>'
    for encoding in ("utf-8", "iso-8859-1", "utf-16"):
        assert outcomes(parse_junit(text.format(encoding).encode(encoding))) == {"é [a - b]": P}
    named = (
        b'<j:testsuite xmlns:j="urn:j"><j:testcase name="a"><j:failure/></j:testcase></j:testsuite>'
    )
    assert outcomes(parse_junit(named)) == {"a": F}


def test_no_tests_are_no_results():
    assert parse_junit(b"<testsuites/>").tests == ()
    assert parse_tap(b"TAP version 14\n1..0 # SKIP nothing\n").tests == ()
    assert parse_pytest_text(b"==== no tests ran in 0.01s ====\n").tests == ()
    assert parse_unittest_text(b"\nRan 0 tests in 0.000s\n\nOK\n").tests == ()


def test_more_results_than_the_limit_are_refused():
    with pytest.raises(ResultsRefused, match="more than"):
        parse_junit(junit("<testcase name='a'/>" * (MAX_RESULTS + 1)))


# TAP

NOISE = (
    b"1..2\nok 1 - reads todo list\nokay this is noise\n    ok 1 - inner\n    1..1\n"
    b"not ok 2 - b # todo later\n# ok 3 in a comment\n"
)


@pytest.mark.parametrize("word", ["todo", "todo".upper(), "Todo"])
def test_tap_noise_counts_for_nothing(word: str):
    results = parse_tap(NOISE.replace(b"# todo", f"# {word}".encode()))

    assert outcomes(results) == {"reads todo list": P, "b": X}
    assert results.counted == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1..3\nok 1 a\nok 2 - b # skip no\nnot ok 3 - c\n", {"a": P, "b": S, "c": F}),
        ("ok 1 - a\nok 2 - b\n1..2\n", {"a": P, "b": P}),
        ("1..1\nok - x \\# y # todo\n", {"x # y": X}),
        ("1..1\nok 1 - part # twelve is done\n", {"part # twelve is done": P}),
        ("1..1\nok 1\n", {"1": P}),
        ("1..2\nok 1 - a\nnot ok 2 - a\n", {"a": F}),
        ("1..2\nok 1 - f (12ms)\nok 2 - g # time=1.5ms\n", {"f": P, "g": P}),
        ("1..1\nok 1 - 空 [a - b] ]\n", {"空 [a - b] ]": P}),
        ("1..1\r\nok 1 - a\r\n", {"a": P}),
        ("1..1\nnot ok 1 - a # SKIP\n", {"a": F}),
        ("1..1\nok 1 - a\n  ---\n  message: |\n    not ok 2 - b\n    ok 3\n  ...\n", {"a": P}),
        ("1..1\n# Subtest: s\n    not ok 1 - x\n    1..1\nok 1 - s\n", {"s": F}),
        ("\x1b[32m1..1\nok 1 - \x1b[1ma\x1b[0m\n", {"a": P}),
    ],
)
def test_tap_points(text: str, found: dict[str, TestOutcome]):
    assert outcomes(parse_tap(text.encode())) == found


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "no plan"),
        ("ok 1 - a\n", "no plan"),
        ("1..2\nok 1 - a\n", "another number"),
        ("1..1\nok 1 - a\nok 2 - b\n", "another number"),
        ("1..1\n1..1\nok 1 - a\n", "more than one plan"),
        ("ok 1 - a\n1..1\nok 2 - b\n", "ended its level"),
        ("1..2\nok 2 - a\nok 1 - b\n", "not in order"),
        ("1..1\nok\n", "another number"),
        ("1..2\nok 1 - a\nBail out! no disk\n", "bailed out"),
        ("1..1\nok 1 - a\n  ---\n  message: x\n", "not closed"),
        ("1..2\nok 1 - a\n  ---\n  x\nok 2 - b\n  ...\n", "not closed"),
        ("1..1\n    ok 1 - x\n    1..2\nok 1 - a\n", "another number"),
        ("1..1\nok 1 - a\n    not ok 1 - late\n", "belong to no test"),
        ("1..1\nok 99999999999 - a\n", "not in order"),
    ],
)
def test_tap_that_is_refused(text: str, rule: str):
    with pytest.raises(ResultsRefused, match=rule):
        parse_tap(text.encode())


NODE = """TAP version 13
# Subtest: counting
    # Subtest: empty text
    ok 1 - empty text
      ---
      duration_ms: 0.5
      type: 'test'
      ...
    # Subtest: words
    not ok 2 - words
      ---
      error: |-
        ok 1 - words
      ...
    1..2
not ok 1 - counting
  ---
  type: 'suite'
  ...
# Subtest: alone
ok 2 - alone
  ---
  duration_ms: 1
  ...
1..2
# tests 3
"""


def test_node_tap_gives_every_test_its_path():
    results = parse_node_tap(NODE.encode())

    assert outcomes(results) == {
        "counting > empty text": P,
        "counting > words": F,
        "alone": P,
    }


def test_a_node_suite_that_fails_by_itself_counts():
    text = NODE.replace("not ok 2 - words", "ok 2 - words")

    assert outcomes(parse_node_tap(text.encode()))["counting"] is F


# pytest's text

IDS = b"""PASSED t.py::test_q[a b - c]
FAILED t.py::test_q[a b - d] - AssertionError: assert 1 == 2
PASSED t.py::test_q[x] - y]
"""


def test_pytest_ids_with_spaces_and_brackets_stay_apart():
    assert outcomes(parse_pytest_text(IDS)) == {
        "t.py::test_q[a b - c]": P,
        "t.py::test_q[a b - d]": F,
        "t.py::test_q[x] - y]": P,
    }


def test_pytest_status_words_with_nothing_after_them_are_noise():
    text = (
        b"PASSED\nFAILED\nPASSED t.py::test_a\nERROR t.py::test_b - OSError\nPASSED t.py::test_a\n"
    )
    results = parse_pytest_text(text)

    assert outcomes(results) == {"t.py::test_a": P, "t.py::test_b": E}
    assert results.counted == 3


def test_pytest_colours_are_no_part_of_an_id():
    text = (
        b"\x1b[32mPASSED\x1b[0m t.py::\x1b[1mtest_a[1]\x1b[0m\n"
        b"\x1b[31mFAILED\x1b[0m t.py::\x1b[1mtest_a[2]\x1b[0m - assert 0\n"
        b"\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m1 passed\x1b[0m\x1b[31m in 0.01s\x1b[0m\n"
    )
    results = parse_pytest_text(text)

    assert outcomes(results) == {"t.py::test_a[1]": P, "t.py::test_a[2]": F}
    assert results.warnings == ()


def test_pytest_known_ids_decide_where_an_id_ends():
    line = b"FAILED t.py::test_q[x] - y] - assert 0\n"

    assert outcomes(parse_pytest_text(line)) == {"t.py::test_q[x]": F}
    known = frozenset({"t.py::test_q[x] - y]"})
    assert outcomes(parse_pytest_text(line, known)) == {"t.py::test_q[x] - y]": F}


def test_pytest_lines_before_the_summary_are_output():
    text = b"PASSED t.py::forged\n=== short test summary info ===\nFAILED t.py::a - x\n"

    assert outcomes(parse_pytest_text(text)) == {"t.py::a": F}


@pytest.mark.parametrize(
    "text",
    [
        b"PASSED t.py::a\n=== 1 failed, 1 passed in 0.01s ===\n",
        b"PASSED t.py::a\nPASSED t.py::b\n=== 1 passed in 0.01s ===\n",
        b"=== 3 passed in 0.01s ===\n",
    ],
)
def test_pytest_totals_that_contradict_are_refused(text: bytes):
    with pytest.raises(ResultsRefused, match="-rA"):
        parse_pytest_text(text)


SUITE = """
import pytest, unittest
@pytest.mark.parametrize("a", ["x - y", "[z"])
def test_a(a): print("PASSED forged"); assert a != "[z"
def test_skip(): pytest.skip("no")
@pytest.mark.xfail
def test_x(): assert 0
@pytest.fixture
def broken(): raise ValueError
def test_error(broken): pass
"""


@pytest.mark.parametrize("colour", ["no", "yes"])
def test_what_pytest_itself_writes(tmp_path: Path, colour: str):
    (tmp_path / "test_a.py").write_text(SUITE, "utf-8")
    argv = [sys.executable, "-m", "pytest", "-rA", f"--color={colour}", "--junitxml=r.xml"]
    argv += ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", "test_a.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)

    results = outcomes(parse_pytest_text(done.stdout))
    assert results["test_a.py::test_a[x - y]"] is P
    assert results["test_a.py::test_a[[z]"] is F
    assert results["test_a.py::test_x"] is X
    assert results["test_a.py::test_error"] is E
    assert sorted(results.values(), key=str).count(S) == 1
    assert outcomes(parse_junit((tmp_path / "r.xml").read_bytes())) == {
        "test_a::test_a[x - y]": P,
        "test_a::test_a[[z]": F,
        "test_a::test_skip": S,
        "test_a::test_x": X,
        "test_a::test_error": E,
    }


# unittest's text

UNITS = '''
import unittest
class Case(unittest.TestCase):
    def test_ok(self): pass
    def test_doc(self):
        """Does what it says ... ok"""
    def test_print(self): print("ok", flush=True)
    def test_bad(self): self.fail("no")
    def test_error(self): raise ValueError
    @unittest.skip("it's late")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_x(self): self.fail()
    def test_sub(self):
        for n in range(3):
            with self.subTest(n=n): self.assertNotEqual(n, 1)
'''


def test_what_unittest_itself_writes(tmp_path: Path):
    (tmp_path / "test_u.py").write_text(UNITS, "utf-8")
    argv = [sys.executable, "-m", "unittest", "-v", "test_u"]
    done = subprocess.run(
        argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )

    results = outcomes(parse_unittest_text(done.stdout))
    name = "test_u.Case."
    assert results == {
        f"{name}test_ok": P,
        f"{name}test_doc": P,
        f"{name}test_print": P,
        f"{name}test_bad": F,
        f"{name}test_error": E,
        f"{name}test_skip": S,
        f"{name}test_x": X,
        f"{name}test_sub": F,
    }


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "end is missing"),
        ("test_a (t.C.test_a) ... ok\n", "end is missing"),
        ("test_a (t.C.test_a) ... ok\nRan 2 tests in 0.1s\n\nOK\n", "more tests ran"),
        ("test_a (t.C.test_a) ... ok\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n", "contradicts"),
        ("test_a (t.C.test_a) ... FAIL\nRan 1 test in 0.1s\n\nOK\n", "contradicts"),
        ("Ran 1 test in 0.1s\nRan 1 test in 0.1s\n", "more than one"),
    ],
)
def test_unittest_text_that_is_refused(text: str, rule: str):
    with pytest.raises(ResultsRefused, match=rule):
        parse_unittest_text(text.encode())


def test_unittest_of_older_pythons_and_a_test_without_an_outcome():
    old = b"test_a (t.C) ... ok\ntest_b (t.C) ... \nRan 2 tests in 0.1s\n\nFAILED (errors=1)\n"

    assert outcomes(parse_unittest_text(old)) == {"t.C.test_a": P, "t.C.test_b": E}


SLOW = [
    ("tap", b"1..1\nok 1 - a" + b" " * 2_000_000 + b"b\n"),
    ("tap", b"1..1\nok 1 - " + b"# " * 1_000_000 + b"\n"),
    ("tap", b"1..1\nok 1 - " + b"\\#" * 1_000_000 + b"\n"),
    ("node-tap", b"    ok - x\n" * 50_000 + b"ok 1 - " + b"y" * 10**6 + b"\n1..1\n"),
    ("pytest", b"FAILED a" + b" - " * 700_000 + b"\n"),
    ("pytest", b"SKIPPED [1] " + b": " * 1_000_000 + b"\n"),
    ("pytest", b"1 a, " * 400_000 + b"\n"),
    ("unittest", b" ... " * 400_000 + b"\n"),
    ("unittest", b"a (" * 700_000 + b"\n"),
    ("tap", b"\x1b]" * 1_000_000 + b"\x1b[" * 1_000_000),
    ("junit", b"<testsuite " + b"".join(b"a%d='' " % n for n in range(200_000)) + b"/>"),
    ("junit", b"<testsuite>" + b"&#1;" * 1_000_000 + b"</testsuite>"),
]


@pytest.mark.parametrize(("name", "data"), SLOW)
def test_no_input_makes_a_reader_slow(name: str, data: bytes):
    with contextlib.suppress(ResultsRefused):
        assert parse_results(data, name).counted <= 1


def test_megabytes_are_read_in_a_moment():
    lines = 50_000
    tap = f"1..{lines}\n" + "".join(f"ok {n} - test {n} [a - b]\n" for n in range(1, lines + 1))

    assert parse_results(tap.encode(), "tap").counted == lines
    assert parse_results(b"- [" * 2_000_000, "pytest").tests == ()
    with pytest.raises(ResultsRefused):
        parse_results(b"x" * (33 * 1024**2), "tap")
