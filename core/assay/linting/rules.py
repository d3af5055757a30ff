"""The rules about suites and tasks; those about tests are the graders' own.

docs/reference/lint-rules.md shows each.
"""

from __future__ import annotations

from assay.api import LintRule, LintSeverity

__all__ = ["DRIVEN_RULES", "SUITE_RULES", "order_of"]

_HAZARD, _UNSUPPORTED, _WEAK = (
    LintSeverity.HAZARD,
    LintSeverity.UNSUPPORTED,
    LintSeverity.WEAK,
)

SUITE_RULES: tuple[LintRule, ...] = (
    LintRule(
        "ignored-entry",
        _HAZARD,
        "The tree contract leaves this entry out: no digest covers it, and no workspace has it.",
        "Remove it from the task's folder, or give it another name.",
    ),
    LintRule(
        "invalid-task",
        _UNSUPPORTED,
        "The task can't be loaded, so nothing of it can be graded.",
        "Correct what the message names.",
    ),
    LintRule(
        "invalid-options",
        _UNSUPPORTED,
        "The grader refuses its options, so the task can't be loaded.",
        "Correct what the message names.",
    ),
    LintRule(
        "no-required-grader",
        _UNSUPPORTED,
        "Nothing decides about a candidate, so the task can't be run.",
        "Make at least one grader required.",
    ),
    LintRule(
        "low-trust",
        _UNSUPPORTED,
        "This grader gives less trust than the suite requires, so no candidate can be accepted.",
        "Choose a mode or a grader that gives it, or lower require_trust.",
    ),
    LintRule(
        "no-hidden-grader",
        _WEAK,
        "A candidate sees every test that decides about it, and can be written to pass just these.",
        "Add a required grader with the role hidden.",
    ),
    LintRule(
        "no-gold",
        _WEAK,
        "Nothing shows that the task can be solved, and lint can't drive its tests.",
        "Add a calibration candidate that is expected to be accepted.",
    ),
    LintRule(
        "no-must-fail",
        _WEAK,
        "Nothing shows that the task's graders reject wrong work.",
        "Add a calibration candidate that is expected to be rejected, with its reasons.",
    ),
    LintRule(
        "unpinned",
        _WEAK,
        "A changed task goes unnoticed, and results of different states look comparable.",
        "Run assay lock.",
    ),
    LintRule(
        "pin-differs",
        _WEAK,
        "The content differs from its digest in suite.json, so assay run refuses to start.",
        "Run assay lock if the change is meant, else restore the content.",
    ),
)
"""By severity, gravest first."""

DRIVEN_RULES: tuple[LintRule, ...] = (
    LintRule(
        "missed-kill",
        _HAZARD,
        "In one process this test fails for wrong code that passes it in mode isolated.",
        "Compare results with values written in the test.",
    ),
    LintRule(
        "unsupported-test",
        _UNSUPPORTED,
        "Mode isolated can't judge this test, so every grade of the task would be unfit.",
        "Rewrite the test by the meaning of its codes, or choose another mode.",
    ),
    LintRule(
        "gold-fails",
        _UNSUPPORTED,
        "The candidate that must be accepted doesn't pass this test.",
        "Correct the test or the candidate; codes, if there are any, say what was refused.",
    ),
    LintRule(
        "not-isolatable",
        _WEAK,
        "The test passes in one process, not in mode isolated: the grader can't give more trust.",
        "Rewrite the test by the meaning of its codes.",
    ),
    LintRule(
        "refused-on-base",
        _WEAK,
        "The untouched fixture fails this test by a refusal, which says nothing about its code.",
        "Rewrite the test so that wrong code fails by a wrong value.",
    ),
)
"""By severity, gravest first; only with --drive."""


def order_of(severity: LintSeverity) -> int:
    """Position by gravity, 0 for the gravest."""
    return tuple(LintSeverity).index(severity)
