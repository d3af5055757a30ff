"""What the runs of one grading show: results, guards that held, and signs of tampering. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from attrs import frozen

from assay.api import Reason, TestOutcome, TestResult
from assay_graders.evident.guarded_report import GuardedReport

__all__ = [
    "Shown",
    "failing",
    "parts_as_results",
    "shown_by_break",
    "shown_by_canaries",
    "shown_by_order",
    "shown_by_origins",
    "shown_by_real",
    "shuffled",
]

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
    report: GuardedReport, pristine: GuardedReport, expect: tuple[str, ...], mark: str
) -> Shown:
    """What a passing run and the trusted one together say of the guards.

    `mark` is what follows the id of a test in those of its parts.
    """
    held = report.held & pristine.held
    collected = set(pristine.collected) | set(pristine.order)
    failed = [test.id for test in pristine.run.tests if test.outcome in _FAILED]
    # A part of a test that fails before it comes to it is not collected.
    needed = {t for t in expect if t in collected or not _is_within(t, failed, mark)}
    is_once = len(set(pristine.collected)) == len(pristine.collected)
    if collected == needed and is_once:
        held |= {"trusted-collection"}
    return Shown(held=held)


def shown_by_order(is_asked: bool, is_asked_of_pristine: bool) -> Shown:
    """Whether the tests ran in the order of the seed, here and without the candidate."""
    if is_asked:
        return Shown(held=frozenset({"shuffled-order"}))
    return _tampering("order-changed") if is_asked_of_pristine else Shown()


def shown_by_origins(report: GuardedReport, pristine: GuardedReport) -> Shown:
    """Whether modules came from where they should, here and without the candidate."""
    if not pristine.strays and not report.strays:
        return Shown(held=frozenset({"module-origins"}))
    return Shown() if pristine.strays else _tampering("module-replaced")


def shuffled(collected: tuple[str, ...], order: str) -> tuple[str, ...]:
    """These ids in the order that comes from a seed, as the program in the jail has it."""
    ordered = list(collected)
    random.Random(order).shuffle(ordered)
    return tuple(ordered)


def shown_by_canaries(
    real: GuardedReport,
    report: GuardedReport | None,
    changed: Sequence[str],
    stem: Callable[[str], str],
    *,
    is_placed: bool,
    mark: str,
) -> Shown:
    """A run in which exactly the `changed` tests (ids without parameters) must fail.

    With `is_placed`, parameters, and with them ids, may differ: a test is known by its place.
    """
    if report is None:
        return _tampering("canary-unlike")
    original = {test: test for test in real.collected}
    if is_placed:
        if [*map(stem, report.collected)] != [*map(stem, real.collected)]:
            return _tampering("canary-unlike")
        original = dict(zip(report.collected, real.collected, strict=True))
    outcomes = {original.get(test.id): test.outcome for test in report.run.tests}
    found = Shown()
    for test in real.collected:
        outcome = outcomes.get(test, TestOutcome.MISSING)
        if stem(test) in changed:
            if outcome is TestOutcome.PASSED:
                found |= _tampering("canary-passed")
        elif outcome is not TestOutcome.PASSED and not _is_within(test, changed, mark):
            found |= _UNSTEADY
    return found


def _is_within(test: str, others: Sequence[str], mark: str) -> bool:
    """Whether it is a part of one of these tests, which may not come to it."""
    return any(test.startswith(f"{other}{mark}") for other in others)


def failing(report: GuardedReport, expect: tuple[str, ...]) -> frozenset[str]:
    """Expected tests that failed."""
    outcomes = {test.id: test.outcome for test in report.run.tests}
    return frozenset(test for test in expect if outcomes.get(test) in _FAILED)


def shown_by_break(
    report: GuardedReport | None, pristine: GuardedReport, expect: tuple[str, ...]
) -> Shown:
    """A run whose code is the fixture's again: what fails there must fail here."""
    if report is None:
        return _tampering("re-break-unlike")
    must_fail = failing(pristine, expect)
    now = {test.id: test.outcome for test in report.run.tests}
    if any(now.get(test) is TestOutcome.PASSED for test in must_fail):
        return _tampering("re-break-passed")
    is_asked = report.restored and any(now.get(test) in _FAILED for test in must_fail)
    return Shown(held=frozenset({"re-break"}) if is_asked else frozenset())
