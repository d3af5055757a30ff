"""What follows from what a probe said and from what the host saw, and how it is told."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_schema import problems

from assay.api import Containment, Probe, ProbeReport, ProbeResult, Profile
from assay.cli.probe import exit_code
from assay.reports.probe_exchange import junit, sarif
from assay.reports.probes import probe_document, probe_table, summary_lines, worse_table
from assay.schemas import schema
from assay_sandbox.probes.answers import Check, checks_of
from assay_sandbox.probes.matrix import LAYERS, containment_of, found, layers_seen

REFUSED, OPEN = Check("a", "refused", "ENOSYS"), Check("b", "open", "x")
PARTIAL, SEEN, SILENT = Check("c", "partial"), Check("d", "seen"), Check("e", "silent")


@pytest.mark.parametrize(
    ("checks", "changed", "expected"),
    [
        ([REFUSED], [], Containment.CONTAINED),
        ([REFUSED, SEEN], [], Containment.CONTAINED),
        ([REFUSED, PARTIAL], [], Containment.PARTIAL),
        ([REFUSED, PARTIAL, SILENT], [], Containment.NO_ANSWER),
        ([], [], Containment.NO_ANSWER),
        ([SEEN], [], Containment.NO_ANSWER),
        ([REFUSED, SILENT, OPEN], [], Containment.ESCAPED),
        ([REFUSED], ["secret file"], Containment.ESCAPED),
        ([SILENT], ["process"], Containment.ESCAPED),
    ],
)
def test_the_worst_that_was_seen_counts_and_the_host_comes_first(
    checks: list[Check], changed: list[str], expected: Containment
) -> None:
    assert containment_of(checks, changed) is expected


@pytest.mark.parametrize(
    "reply",
    [
        None,
        {},
        {"fault": "KeyError"},
        {"ended": "true", "checks": [["a", "refused", "EPERM"]]},
        {"ended": True, "checks": []},
        {"ended": True, "checks": [["a", "refused"]]},
        {"ended": True, "checks": ["abc"]},
        {"ended": True, "checks": [["a", "CONTAINED", "b"]]},
        {"ended": True, "checks": {"a": 1}},
        {"ended": True, "checks": 7},
        {"ended": True},
        ["ended"],
    ],
)
def test_what_is_no_answer_is_not_contained(reply: Any) -> None:
    assert containment_of(checks_of(reply), []) is Containment.NO_ANSWER


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_any_reply_is_read(value: Any) -> None:
    for reply in (value, {"ended": True, "checks": value}):
        checks = checks_of(reply)
        assert containment_of(checks, [])
        assert set(layers_seen(checks)) <= {*LAYERS, "kernel"}
        assert all(text.isprintable() for text in found(checks, []))


def test_layers_are_told_by_the_errors_met_in_a_fixed_order() -> None:
    errors = ("ENOSYS", "EROFS", "ENOENT", "cgroup v1", "signal 31", "EWEIRD", "init", "ESRCH")
    checks = [Check(error, "refused", error) for error in errors]
    assert layers_seen(reversed(checks)) == (
        *("mount namespace", "read-only mounts", "pid namespace", "seccomp", "cgroup", "init"),
        "kernel",
    )
    assert layers_seen([OPEN, PARTIAL, SEEN]) == ()


def result(probe: str, containment: Containment, **changes: Any) -> ProbeResult:
    made = ProbeResult(probe, Profile.HIDDEN, containment, Containment.CONTAINED, checks=1)
    return attrs.evolve(made, **changes)


def report(*results: ProbeResult, **changes: Any) -> ProbeReport:
    names = dict.fromkeys(item.probe for item in results)
    made = ProbeReport(
        mode="root",
        probes=tuple(Probe(name, "threat", "how", ("seccomp",)) for name in names),
        results=results,
        sentinels=("process",),
        canary=(result("a", Containment.ESCAPED, expected=Containment.ESCAPED),),
        blind=(),
    )
    return attrs.evolve(made, **changes)


FINE = result("a", Containment.CONTAINED, by=("seccomp",))
AS_EXPECTED = result("b", Containment.PARTIAL, expected=Containment.PARTIAL, found=("c (partial)",))
ESCAPED = result("c", Containment.ESCAPED, found=("\x1b[31m<&>",))
DEAD = result("d", Containment.NO_ANSWER, expected=Containment.PARTIAL)


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (report(FINE, AS_EXPECTED), 0),
        (report(FINE, ESCAPED), 5),
        (report(FINE, DEAD), 5),
        (report(result("a", Containment.PARTIAL)), 5),
        (report(FINE, blind=("a",)), 5),
        (report(FINE, blind=("sentinel: process",)), 5),
        (report(FINE, canary=()), 5),
    ],
)
def test_the_exit_code(made: ProbeReport, code: int) -> None:
    assert exit_code(made) == code
    assert problems(schema("probe-output"), probe_document(made, code)) == []
    assert probe_table(made).row_count == len(made.results)


def test_a_blind_canary_voids_the_matrix_and_says_so() -> None:
    made = report(FINE, blind=("a", "sentinel: process"))
    assert made.void
    assert summary_lines(made)[-1] == (
        "the matrix is void: these did not see an escape: a, sentinel: process"
    )
    run = sarif(made)["runs"][0]
    assert run["invocations"] == [{"executionSuccessful": False}]
    assert [finding["level"] for finding in run["results"]] == ["error", "error"]
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(junit(made))}
    assert suites["canary"].get("failures") == "2"
    assert suites["hidden"].get("failures") == "0"


def test_what_is_worse_fails_in_every_format() -> None:
    made = report(FINE, AS_EXPECTED, ESCAPED, DEAD)
    assert made.worse == (ESCAPED, DEAD)
    assert worse_table(made.worse).row_count == 2
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(junit(made))}
    assert suites["hidden"].get("failures") == "2"
    levels = {f["ruleId"]: f["level"] for f in sarif(made)["runs"][0]["results"]}
    assert levels == {"b": "note", "c": "error", "d": "error"}
    assert "partial as expected: b: " in "\n".join(summary_lines(made))
    assert json.dumps(sarif(made))
