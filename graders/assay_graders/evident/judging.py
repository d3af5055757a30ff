"""What the runs of one grading show: results, guards that held, and signs of tampering. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from attrs import frozen

from assay.api import Reason, TestOutcome, TestResult
from assay_graders.evident.guarded_report import GuardedReport

__all__ = ["Shown", "parts_as_results", "shown_by_break", "shown_by_canaries", "shown_by_real"]

_FAILED = (TestOutcome.FAILED, TestOutcome.ERROR)


@frozen
class Shown:
    """Guards that a run shows to be in force, codes, and reasons to reject the candidate."""

    held: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    reasons: frozenset[Reason] = frozenset()

    def __or__(self, other: Shown) -> Shown:
        return Shown(self.held | other.held, self.codes | other.codes, self.reasons | other.reasons)


def _tampering(code: str) -> Shown:
    return Shown(codes=frozenset({code}), reasons=frozenset({Reason.TAMPERING_DETECTED}))


_UNSTEADY = Shown(codes=frozenset({"unsteady"}), reasons=frozenset({Reason.TESTS_NOT_PASSED}))


def parts_as_results(report: GuardedReport) -> tuple[TestResult, ...]:
    """Sub-tests that did not pass, each as a result of its own that goes by a number."""
    return tuple(
        TestResult(
            id=f"sub-test-{number}",
            outcome=part.outcome,
            message_public=f"{part.outcome.value}: sub-test {number}",
            message_private=f"{part.id}\n{part.message}",
        )
        for number, part in enumerate(report.parts, 1)
        if part.outcome is not TestOutcome.PASSED
    )


def shown_by_real(
    report: GuardedReport, pristine: GuardedReport, expect: tuple[str, ...], order: str
) -> Shown:
    """What a passing run and the trusted one together say of the guards."""
    held = report.held & pristine.held
    found = Shown()
    if sorted(pristine.collected) == sorted(expect):
        held |= {"trusted-collection"}
    if report.order == _shuffled(report.collected, order):
        held |= {"shuffled-order"}
    elif pristine.order == _shuffled(pristine.collected, order):
        found |= _tampering("order-changed")
    if not pristine.strays and not report.strays:
        held |= {"module-origins"}
    elif not pristine.strays:
        found |= _tampering("module-replaced")
    return found | Shown(held=held)


def _shuffled(collected: tuple[str, ...], order: str) -> tuple[str, ...]:
    shuffled = list(collected)
    random.Random(order).shuffle(shuffled)
    return tuple(shuffled)


def shown_by_canaries(
    real: GuardedReport,
    report: GuardedReport | None,
    changed: Sequence[str],
    stem: Callable[[str], str],
) -> Shown:
    """A run in which exactly the `changed` tests (ids without parameters) must fail."""
    if report is None or [*map(stem, report.collected)] != [*map(stem, real.collected)]:
        return _tampering("canary-unlike")
    # Parameters, and with them ids, may differ: a test is known by its place.
    original = dict(zip(report.collected, real.collected, strict=True))
    outcomes = {original.get(test.id): test.outcome for test in report.run.tests}
    found = Shown()
    for test in real.collected:
        outcome = outcomes.get(test, TestOutcome.MISSING)
        if stem(test) in changed:
            if outcome is TestOutcome.PASSED:
                found |= _tampering("canary-passed")
        elif outcome is not TestOutcome.PASSED:
            found |= Shown(
                frozenset(), frozenset({"unsteady"}), frozenset({Reason.TESTS_NOT_PASSED})
            )
    return found


def shown_by_break(
    report: GuardedReport | None, pristine: GuardedReport, expect: tuple[str, ...]
) -> Shown:
    """A run whose code is the fixture's again: what fails there must fail here."""
    if report is None:
        return _tampering("re-break-unlike")
    before = {test.id: test.outcome for test in pristine.run.tests}
    must_fail = {test for test in expect if before.get(test) in _FAILED}
    now = {test.id: test.outcome for test in report.run.tests}
    if any(now.get(test) is TestOutcome.PASSED for test in must_fail):
        return _tampering("re-break-passed")
    is_asked = report.restored and any(now.get(test) in _FAILED for test in must_fail)
    return Shown(held=frozenset({"re-break"}) if is_asked else frozenset())
