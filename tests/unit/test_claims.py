"""Claims: read strictly, compared with what was measured."""

from __future__ import annotations

import pytest
from support.decisions import HIDDEN, VISIBLE, candidate, facts, passed, task

from assay.api.errors import ManifestError
from assay.api.reasons import Reason
from assay.api.records import ClaimFacts, TestOutcome
from assay.api.tasks import Claim, EvidencePolicy
from assay.claims import MAX_CLAIM_BYTES, check, load_claim

STRICT = task(evidence=EvidencePolicy.REQUIRED)
PASSED = (passed(VISIBLE), facts(HIDDEN, TestOutcome.FAILED))
FAILED = (facts(VISIBLE, TestOutcome.PASSED, TestOutcome.FAILED), passed(HIDDEN))


def test_whole_claim_and_its_defaults() -> None:
    data = b'{"schema": 1, "visible": {"exit_code": 3}, "completed": true, "summary": "done"}'
    assert load_claim(data) == Claim(3, True, "done")
    assert load_claim(b"{}") == Claim()
    assert load_claim(b'{"visible": {}}') == Claim()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"schema": 2}',
        b'{"schema": true}',
        b'{"schema": 1.0}',
        b'{"unknown": 1}',
        b'{"visible": null}',
        b'{"visible": {"exit_code": 0, "exit_code": 1}}',
        b'{"visible": {"exit_code": 0}, "visible": {"exit_code": 1}}',
        b'{"visible": {"exit_code": true}}',
        b'{"visible": {"exit_code": false}}',
        b'{"visible": {"exit_code": 0.0}}',
        b'{"visible": {"exit_code": -0.0}}',
        b'{"visible": {"exit_code": -1}}',
        b'{"visible": {"exit_code": 256}}',
        b'{"visible": {"exit_code": 1e999}}',
        b'{"visible": {"exit_code": NaN}}',
        b'{"visible": {"exit_code": "0"}}',
        b'{"visible": {"exit_code": null}}',
        b'{"visible": {"exit_code": ' + b"9" * 5000 + b"}}",
        b'{"visible": {"exit_code": 0, "stdout": ""}}',
        b'{"completed": 1}',
        b'{"completed": null}',
        b'{"summary": 1}',
        b'{"summary": "\xff"}',
        b'{"summary": "\\ud800"}',
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"{} // fine",
        b"[" * 100_000,
        b'{"summary": "' + b"x" * MAX_CLAIM_BYTES + b'"}',
    ],
)
def test_claims_that_are_malformed(data: bytes) -> None:
    with pytest.raises(ManifestError) as caught:
        load_claim(data)
    assert len(str(caught.value)) < 300
    found = check(STRICT, candidate(claim=data), PASSED)
    told = found.malformed
    assert found == ClaimFacts(None, False, frozenset({Reason.EVIDENCE_MALFORMED}), told)
    assert told.startswith("claim.json: ")
    assert 'exit_code": ' not in told


def test_exit_codes_agree_when_both_are_zero_or_both_are_not() -> None:
    mismatch = frozenset({Reason.REPORTED_EVIDENCE_MISMATCH})
    for code, measured, agrees in (
        (0, PASSED, True),
        (0, FAILED, False),
        (1, PASSED, False),
        (1, FAILED, True),
        (255, FAILED, True),
    ):
        claim = b'{"visible": {"exit_code": %d}}' % code
        expected = ClaimFacts(Claim(code), agrees, frozenset() if agrees else mismatch)
        assert check(STRICT, candidate(claim=claim), measured) == expected


def test_skipped_and_missing_visible_tests_are_not_a_zero() -> None:
    claim = candidate(claim=b'{"visible": {"exit_code": 0}}')
    for outcome in TestOutcome:
        found = check(STRICT, claim, (facts(VISIBLE, TestOutcome.PASSED, outcome),))
        assert found.agrees == (outcome is TestOutcome.PASSED)


def test_required_evidence_that_is_missing() -> None:
    missing = frozenset({Reason.REPORTED_EVIDENCE_MISSING})
    assert check(STRICT, candidate(), PASSED) == ClaimFacts(None, None, missing)
    silent = candidate(claim=b'{"completed": true}')
    assert check(STRICT, silent, PASSED) == ClaimFacts(Claim(completed=True), None, missing)


def test_optional_evidence_may_be_absent_but_not_wrong() -> None:
    assert check(task(), candidate(), PASSED) == ClaimFacts(None, None)
    wrong = candidate(claim=b'{"visible": {"exit_code": 0}}')
    assert check(task(), wrong, FAILED).reasons == {Reason.REPORTED_EVIDENCE_MISMATCH}


def test_claim_about_nothing_measured_neither_agrees_nor_disagrees() -> None:
    claim = candidate(claim=b'{"visible": {"exit_code": 0}}')
    assert check(task(HIDDEN), claim, (passed(HIDDEN),)) == ClaimFacts(Claim(0), None)


def test_visible_graders_without_facts_are_not_a_zero() -> None:
    second = VISIBLE.__class__("second", "pytest", VISIBLE.role)
    claim = candidate(claim=b'{"visible": {"exit_code": 0}}')
    assert check(task(VISIBLE, second), claim, (passed(VISIBLE),)).agrees is False
