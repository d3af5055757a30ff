"""Whatever bytes a candidate writes: a reader gives results or refuses, and adds no pass."""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.api import TestOutcome
from assay_graders.results import FORMATS, ResultsRefused, parse_junit, parse_results, parse_tap

TOKENS = [
    *("ok ", "not ok ", "1..", "1", "2", " - ", "#", " # todo", " # SKIP", "---", "...", "\n"),
    *("    ", "PASSED ", "FAILED ", "ERROR ", "SKIPPED [1] ", "t.py::a", "[", "]", "=== "),
    *(" passed in 0.1s", "short test summary info", "test_a (t.C.test_a)", " ... ", "FAIL"),
    *("Ran 1 test in 0.1s", "OK", "=" * 70, "Bail out!", "# Subtest: "),
    *("<testsuite>", "<testcase name='a'>", "<failure/>", "</testcase>", "</testsuite>", "&#27;"),
    *("\x1b[31m", "\x1b", "\r", "\0", "é", "\u2028"),
]
texts = st.lists(st.sampled_from(TOKENS) | st.text(max_size=4), max_size=40).map("".join)
hostile = st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", FORMATS)
@given(data=hostile)
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_results_or_refused(name: str, data: bytes):
    try:
        results = parse_results(data, name)
    except ResultsRefused as error:
        refusal = str(error)
        results = None
    if results is None:
        assert re.fullmatch(r"[ -~]+", refusal)
        return
    ids = [test.id for test in results.tests]
    assert len(ids) == len(set(ids))
    assert all(
        test.id and test.count >= 0 and test.id.isprintable() is not None for test in results.tests
    )
    assert not any(ord(char) < 0x20 for test_id in ids for char in test_id)


names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
verdicts = st.lists(st.tuples(names, st.booleans()), max_size=12)


def worst(reported: list[tuple[str, bool]]) -> dict[str, TestOutcome]:
    found: dict[str, TestOutcome] = {}
    for name, passed in reported:
        before = found.get(name, TestOutcome.PASSED)
        found[name] = before if passed else TestOutcome.FAILED
    return found


@given(reported=verdicts)
@settings(max_examples=80, deadline=None)
@example(reported=[("a", True), ("a", False)])
def test_junit_says_what_was_reported(reported: list[tuple[str, bool]]):
    cases = "".join(
        f"<testcase name={quoteattr(name)}>{'' if passed else '<failure/>'}</testcase>"
        for name, passed in reported
    )
    results = parse_junit(f"<testsuite>{cases}</testsuite>".encode())

    assert {test.id: test.outcome for test in results.tests} == worst(reported)
    assert results.counted == len(reported)


@given(reported=verdicts, planned=st.integers(0, 14))
@settings(max_examples=80, deadline=None)
def test_tap_says_what_was_reported_or_the_plan_is_missed(
    reported: list[tuple[str, bool]], planned: int
):
    points = "".join(
        f"{'' if passed else 'not '}ok {number} - x{re.escape(name) if '#' in name else name}x\n"
        for number, (name, passed) in enumerate(reported, 1)
    )
    data = f"1..{planned}\n{points}".encode()
    if planned != len(reported):
        with pytest.raises(ResultsRefused):
            parse_tap(data)
        return
    assert parse_tap(data).counted == len(reported)
    failed = any(not passed for _, passed in reported)
    outcomes = {test.outcome for test in parse_tap(data).tests}
    assert (TestOutcome.FAILED in outcomes) is failed


@given(data=texts, cut=st.integers(0, 400))
@settings(max_examples=100, deadline=None)
def test_a_cut_junit_file_is_refused(data: str, cut: int):
    whole = f"<testsuite><testcase name={quoteattr('a' + data.replace(chr(0), ''))}/></testsuite>"
    encoded = whole.encode("utf-8", "replace")
    with pytest.raises(ResultsRefused):
        parse_junit(encoded[: min(cut, len(encoded) - 1)])
