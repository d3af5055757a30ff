"""What a terminal shows: every kind of rejection explained, every hostile string escaped."""

from __future__ import annotations

import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from support.records import DIGEST, facts, plan, record, rejected

from assay.api import (
    ArtifactNote,
    BoundaryFacts,
    Captured,
    Claim,
    ClaimFacts,
    Digest,
    GraderRole,
    InvalidInput,
    LeftOut,
    Outcome,
    OutcomeStatus,
    Reason,
    StageStatus,
    TestOutcome,
    TestResult,
    TrialRecord,
    Violation,
)
from assay.ledger import ArtifactFolder
from assay.measure import FAILURES
from assay.reports.explain import explain_trial
from assay.reports.tables import (
    candidate_table,
    diagnostic_notes,
    failure_table,
    percent,
    safe,
    sentence,
)
from assay.results import build_report

HOSTILE = "a\x1b[2J\x9b31m\u202eb\n  passed   c\r\x07[bold]x[/bold]\u2028:smile:\x00"
ESCAPED = r"a\x1b[2J\x9b31m\u202eb\n  passed   c\r\x07[bold]x[/bold]\u2028:smile:\x00"


def drawn(*parts: RenderableType, width: int = 200) -> str:
    """What a terminal that understands everything would be sent, without styles."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    for part in parts:
        console.print(part)
    return out.getvalue()


def explained(made: TrialRecord, folder: Path, width: int = 200) -> str:
    return drawn(*explain_trial(made, ArtifactFolder(folder)), width=width)


def is_harmless(text: str) -> bool:
    """No character that moves the cursor, hides text or changes its direction."""
    return all(
        char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for char in text
    )


def failed(folder: Path, messages: dict[str, str], **changes: Any) -> Any:
    """Facts of failed tests with these private messages."""
    ref = ArtifactFolder(folder).put(FAILURES, json.dumps(messages).encode())
    tests = tuple(TestResult(test, TestOutcome.FAILED, "public") for test in messages)
    return evolve(facts(GraderRole.HIDDEN), tests=tests, artifacts={FAILURES: ref}, **changes)


def test_names_are_one_line_and_sentences_keep_their_escapes() -> None:
    assert safe(HOSTILE).plain == ESCAPED
    assert safe("\\x1b").plain == "\\\\x1b"
    assert sentence("f: \\x1b: \x1b\n").plain == "f: \\x1b: \\x1b\\n"


@given(st.text())
def test_any_name_is_harmless_and_told_apart(text: str) -> None:
    assert is_harmless(safe(text).plain)
    assert "\n" not in safe(text).plain
    assert is_harmless(sentence(text).plain)
    other = text.replace("\x1b", "\\x1b")
    assert other == text or safe(other).plain != safe(text).plain


@pytest.mark.threat("command the terminal of whoever reads a record", layer="supervisor")
def test_every_string_of_a_record_is_escaped(tmp_path: Path) -> None:
    made = record(
        HOSTILE,
        HOSTILE,
        evolve(rejected(Reason.HIDDEN_TESTS_FAILED), decided_by=HOSTILE, diagnostic=HOSTILE),
        error=HOSTILE,
        leaks=(HOSTILE,),
        stages={HOSTILE: StageStatus.FAILED},
        boundary=BoundaryFacts((Violation(HOSTILE, Reason.UNSAFE_PATH),)),
        facts=(
            failed(
                tmp_path,
                {HOSTILE: HOSTILE + "\n" + HOSTILE},
                grader=HOSTILE,
                plugin=HOSTILE,
                version=HOSTILE,
                codes=(HOSTILE,),
                outcome=Outcome(OutcomeStatus.TIMED_OUT, enforced_by={HOSTILE: HOSTILE}),
            ),
        ),
        source_before=Digest(HOSTILE),
        source_after=Digest("other" + HOSTILE),
    )
    text = explained(made, tmp_path)
    assert is_harmless(text)
    assert "\n  passed " not in text
    assert text.count(ESCAPED) > 10


def test_every_string_of_a_report_is_escaped() -> None:
    made = record(HOSTILE, HOSTILE, rejected(Reason.NO_CHANGES))
    report = build_report(plan([made]), [made], {}, {})
    for trial in report["results"]["trials"]:
        trial["verdict"] |= {"status": HOSTILE, "reasons": [HOSTILE], "diagnostic": HOSTILE}
    assert is_harmless(drawn(*diagnostic_notes(report), width=80))
    for width in (40, 80, 400):
        assert is_harmless(drawn(candidate_table(report), failure_table(report), width=width))


@pytest.mark.parametrize("width", [40, 80, 300])
def test_names_of_candidates_are_whole_at_any_usual_width(width: int) -> None:
    made = record(candidate="fabricated-evidence")
    text = drawn(candidate_table(build_report(plan([made]), [made], {}, {})), width=width)
    assert "fabricated-evidence" in text


def test_a_rate_counts_only_whole_numbers() -> None:
    assert percent({"passed": 1, "of": 3}) == "33%"
    assert percent({"passed": 0, "of": 0}) == "\u2013"
    with pytest.raises(TypeError):
        percent({"passed": True, "of": 1})


def test_a_failing_test_shows_its_message_once(tmp_path: Path) -> None:
    made = record(
        verdict=rejected(Reason.HIDDEN_TESTS_FAILED),
        facts=(
            failed(
                tmp_path,
                {"t::a": "assert 1\n\tE  == 2\r\nend", "t::b": "assert 1\n\tE  == 2\r\nend"},
            ),
        ),
    )
    lines = explained(made, tmp_path).splitlines()
    assert lines[1] == "  reason: hidden-tests-failed (tests)"
    at = lines.index("  failed   t::a")
    assert lines[at + 1 : at + 6] == [
        "      assert 1",
        "          E  == 2",
        "      end",
        "  failed   t::b",
        "      as t::a",
    ]


def test_long_output_is_cut_in_the_middle_and_long_lines_at_the_end(tmp_path: Path) -> None:
    message = "\n".join([f"line {n}" for n in range(1000)] + ["x" * 100_000])
    tests = {f"t::{n}": f"{n}\n{message}" for n in range(200)}
    made = record(facts=(failed(tmp_path, tests),))
    text = explained(made, tmp_path)
    assert "      line 0\n" in text
    assert "more lines" in text
    assert "      line 999\n" in text
    assert "  … 170 more that did not pass" in text
    assert len(text.splitlines()) < 300
    assert max(map(len, text.splitlines())) < 320


@pytest.mark.parametrize(
    ("status", "changes", "says"),
    [
        (
            OutcomeStatus.TIMED_OUT,
            {"wall": 3.04, "cpu": 2.9, "enforced_by": {"wall": "supervisor"}},
            "stopped at the time limit (wall, by supervisor) after 3.0 s, 2.9 s of them on the CPU",
        ),
        (
            OutcomeStatus.OUTPUT_LIMIT,
            {"stdout": Captured(total=2000), "stderr": Captured(total=1)},
            "stopped at the output limit after 2001 bytes",
        ),
        (
            OutcomeStatus.MEMORY_LIMIT,
            {"peak_memory": 512 * 1024**2},
            "stopped at the memory limit after 512 MiB",
        ),
        (OutcomeStatus.DISK_LIMIT, {}, "stopped at the disk limit"),
    ],
)
def test_a_limit_is_named_with_what_was_used(
    tmp_path: Path, status: OutcomeStatus, changes: dict[str, Any], says: str
) -> None:
    output = ArtifactFolder(tmp_path).put("stdout", b"so far\n")
    measured = evolve(
        facts(GraderRole.VISIBLE),
        completed=False,
        tests=(),
        outcome=Outcome(status, **changes),
        artifacts={"stdout": output},
    )
    text = explained(record(facts=(measured,)), tmp_path)
    assert f": {says}; no test counts\n" in text
    assert "  stdout:\n      so far\n" in text


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (TestOutcome.MISSING, "is expected, but did not run"),
        (TestOutcome.DUPLICATE, "ran more than once"),
        (TestOutcome.UNKNOWN, "ran, but is not among the expected tests"),
        (TestOutcome.SKIPPED, "was skipped, which is no pass"),
        (TestOutcome.XFAILED, "is marked as expected to fail, which is no pass"),
    ],
)
def test_what_is_no_pass_says_why(tmp_path: Path, outcome: TestOutcome, says: str) -> None:
    text = explained(record(facts=(facts(GraderRole.VISIBLE, outcome),)), tmp_path)
    assert f"  {outcome.value:9}test.py::test\n      {says}\n" in text


def test_missing_tests_come_with_how_the_process_ended(tmp_path: Path) -> None:
    missing = facts(GraderRole.VISIBLE, TestOutcome.MISSING)
    left = evolve(missing, outcome=Outcome(OutcomeStatus.EXITED, exit_code=0))
    killed = evolve(missing, outcome=Outcome(OutcomeStatus.SIGNALLED, signal=11))
    assert "0/1 passed; its process exited with 0\n" in explained(record(facts=(left,)), tmp_path)
    text = explained(record(facts=(killed,)), tmp_path)
    assert "0/1 passed; its process was ended by signal 11\n" in text


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        (
            ClaimFacts(Claim(visible_exit_code=0), False, frozenset()),
            "claim: visible exit code 0; measured 1; they disagree",
        ),
        (
            ClaimFacts(Claim(visible_exit_code=1), True),
            "claim: visible exit code 1; measured 1; they agree",
        ),
        (ClaimFacts(Claim(), None), "claim: no visible exit code; measured 1"),
        (
            ClaimFacts(
                None, False, frozenset({Reason.EVIDENCE_MALFORMED}), "claim.json: completed: no"
            ),
            "claim: claim.json: completed: no",
        ),
        (
            ClaimFacts(None, None, frozenset({Reason.REPORTED_EVIDENCE_MISSING})),
            "claim: none, and the task requires one",
        ),
    ],
)
def test_a_claim_stands_beside_what_was_measured(
    tmp_path: Path, claims: ClaimFacts, says: str
) -> None:
    visible = facts(GraderRole.VISIBLE, TestOutcome.FAILED)
    assert f"\n{says}\n" in explained(record(claims=claims, facts=(visible,)), tmp_path)


def test_a_changed_source_is_shown(tmp_path: Path) -> None:
    text = explained(record(source_after=Digest("sha256:" + "1" * 64)), tmp_path)
    assert f"source fixture: sha256:{'0' * 64} before, sha256:{'1' * 64} after\n" in text


@pytest.mark.parametrize("content", [b"[]", b"{", b"[" * 100_000, b"null"])
def test_messages_that_are_no_messages_are_invalid(tmp_path: Path, content: bytes) -> None:
    ref = ArtifactFolder(tmp_path).put(FAILURES, content)
    measured = evolve(facts(GraderRole.HIDDEN, TestOutcome.FAILED), artifacts={FAILURES: ref})
    with pytest.raises(InvalidInput):
        explained(record(facts=(measured,)), tmp_path)


def test_artifacts_that_are_no_longer_kept_hide_nothing_else(tmp_path: Path) -> None:
    hidden = failed(tmp_path, {"t.py::test_a": "why"})
    output = ArtifactFolder(tmp_path).put("stdout", b"said\n")
    visible = evolve(facts(GraderRole.VISIBLE, TestOutcome.FAILED), artifacts={"stdout": output})
    for file in tmp_path.iterdir():
        file.unlink()
    text = explained(record(facts=(visible, hidden)), tmp_path)
    assert "messages: no longer kept" in text
    assert "stdout: no longer kept" in text
    assert "t.py::test_a" in text
    assert "source fixture: unchanged" in text


def test_exported_and_left_out_artifacts_are_listed(tmp_path: Path) -> None:
    notes = (
        ArtifactNote("hidden/failures", 9, DIGEST),
        ArtifactNote("hidden/log", 10**8, DIGEST, LeftOut.TOO_LARGE),
        ArtifactNote("workspace/out.txt", 5, DIGEST),
        ArtifactNote("workspace/\x1b[31mlink", 0, None, LeftOut.REFUSED),
    )
    text = explained(record(artifacts=notes), tmp_path)
    assert "hidden/failures" not in text
    assert "hidden/log: left out, too-large, 100000000 bytes" in text
    assert "workspace/out.txt: kept, 5 bytes" in text
    assert r"workspace/\x1b[31mlink: left out, refused, 0 bytes" in text
