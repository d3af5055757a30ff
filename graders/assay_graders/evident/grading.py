"""Grading with tests and candidate in one process, and every guard of the label measured."""

from __future__ import annotations

import functools
import random
import secrets

import attrs

from assay.api import Facts, GradeContext, Grader, Outcome, Trust
from assay_graders.evident.canaries import split_in_two
from assay_graders.evident.guarded_report import GuardedReport
from assay_graders.evident.judging import (
    Shown,
    failing,
    parts_as_results,
    shown_by_break,
    shown_by_canaries,
    shown_by_real,
)
from assay_graders.evident.language import GuardedTests
from assay_graders.evident.runs import GuardedRuns, Measured, unfit
from assay_graders.expected import compare
from assay_graders.jailed import LIMITS, require_files
from assay_graders.measured import combined, facts

__all__ = ["ALWAYS", "NEEDED", "grade_evident"]

ALWAYS = ("jail", "expected-ids", "private-report", "nonce")
NEEDED = ("trusted-collection", "shuffled-order", "module-origins", "canary", "re-break")
_WITHOUT_REPORT = ("jail", "expected-ids")
_UNNEEDED = "no-pass-to-guard"
_KEPT = 64


def grade_evident(ctx: GradeContext, grader: Grader, suite: GuardedTests) -> Facts:
    """Facts of trust `tamper-evident` when every guard held, else `unguarded`.

    Guards guard a pass: a candidate that fails the tests gets no further runs.
    """
    tests = require_files(ctx, suite.tests, hidden=suite.hidden)
    if not suite.hidden:
        # A test file that the candidate changed is the candidate's code: it is not run.
        changed = {str(change.path) for change in ctx.change_set.changes}
        tests = tuple(test for test in tests if test not in changed)
    file_of = suite.language.file_of
    if not tests:
        results = compare(suite.expect, None, file_of)
        return attrs.evolve(facts(ctx, grader, None, results, layers=()), codes=(_UNNEEDED,))
    runs = GuardedRuns(ctx, suite, tests)
    real = runs.real()
    if real.report is None and not real.fault and real.outcome.status not in LIMITS:
        runs.probe()
    results = compare(suite.expect, None if real.report is None else real.report.run, file_of)
    if real.report is not None:
        results += parts_as_results(real.report)
    held = _held(suite, real)
    plain = facts(ctx, grader, real.outcome, results, layers=held, fault=real.fault)
    if not plain.passed or real.report is None:
        return attrs.evolve(plain, codes=(_UNNEEDED,))
    return _guarded(ctx, suite, runs, plain, real.report)


def _held(suite: GuardedTests, real: Measured) -> tuple[str, ...]:
    """Guards of the first run alone; a report may hold any names, so only known ones count."""
    if real.report is None:
        return _WITHOUT_REPORT
    told = real.report.held
    return (*ALWAYS, *(guard for guard in suite.language.guards if guard in told))


def _guarded(
    ctx: GradeContext, suite: GuardedTests, runs: GuardedRuns, passed: Facts, real: GuardedReport
) -> Facts:
    pristine, outcome = _trusted(ctx, runs, is_emptied=False)
    shown = shown_by_real(real, pristine, suite.expect, suite.language.mark)
    shown |= suite.language.shown(real, pristine, runs.order)
    outcomes: list[Outcome] = [] if outcome is None else [outcome]
    for more, measured in (_canaries(suite, runs, real), _broken(ctx, suite, runs, pristine)):
        shown |= more
        outcomes += measured
    needed = (*ALWAYS, *suite.language.guards, *NEEDED)
    held = tuple(guard for guard in needed if guard in {*ALWAYS, *shown.held})
    lacking = frozenset(f"lacks-{guard}" for guard in needed if guard not in held)
    whole = functools.reduce(combined, outcomes, passed.outcome)
    is_complete = whole is None or whole.status not in LIMITS
    return attrs.evolve(
        passed,
        outcome=whole,
        completed=is_complete,
        tests=passed.tests if is_complete else (),
        trust=Trust.UNGUARDED if lacking else Trust.TAMPER_EVIDENT,
        layers_held=held,
        codes=tuple(sorted(shown.codes | lacking)),
        reasons=shown.reasons if is_complete else frozenset(),
    )


_known: dict[object, GuardedReport] = {}
"""Reports of trusted runs in this process: they depend on nothing of a candidate's."""


def _trusted(
    ctx: GradeContext, runs: GuardedRuns, *, is_emptied: bool
) -> tuple[GuardedReport, Outcome | None]:
    """The report of a run without the candidate; no outcome if it is known already."""
    changed = frozenset((p, text is None) for p, text in runs.changed.originals.items())
    which = changed if is_emptied else frozenset(p for p, is_added in changed if is_added)
    put = tuple(sorted(runs.others.pristine.items()))
    hidden = None if ctx.hidden is None else ctx.hidden.ref
    env = tuple(sorted(ctx.task.env.items()))
    # Options may hold what has no hash; what they say is their text.
    setting = (ctx.runtime.digest, repr(ctx.options), ctx.limits, ctx.task.network, env)
    key = (ctx.change_set.base, hidden, setting, runs.order, is_emptied, which, put)
    known = _known.get(key)
    if known is not None:
        return known, None
    measured = runs.pristine_but_changed() if is_emptied else runs.pristine()
    if measured.report is None or measured.outcome.status in LIMITS:
        raise unfit(ctx, "its tests do not run on the fixture")
    if len(_known) >= _KEPT:
        _known.clear()
    _known[key] = measured.report
    return measured.report, measured.outcome


def _canaries(
    suite: GuardedTests, runs: GuardedRuns, real: GuardedReport
) -> tuple[Shown, list[Outcome]]:
    language = suite.language
    stems = tuple(dict.fromkeys(language.stem(test) for test in real.collected))
    secret = random.Random(secrets.randbits(256))
    canaries = language.canaries(runs.files, stems, runs.order, secret)
    covered = tuple(stem for stem in stems if stem in canaries.changes)
    shown, outcomes = Shown(), []
    for changed in split_in_two(covered, secret):
        run = runs.canaries(canaries.changed(changed))
        outcomes.append(run.outcome)
        if run.outcome.status not in LIMITS:
            shown |= shown_by_canaries(
                real,
                run.report,
                changed,
                language.stem,
                is_placed=language.is_placed,
                mark=language.mark,
            )
    is_whole = all(canaries.covers(stem, language.mark) for stem in stems)
    if is_whole and not shown.reasons:
        shown |= Shown(held=frozenset({"canary"}))
    return shown, outcomes


def _broken(
    ctx: GradeContext, suite: GuardedTests, runs: GuardedRuns, pristine: GuardedReport
) -> tuple[Shown, list[Outcome]]:
    """The re-break; where the fixture fails no test, changed modules are emptied instead."""
    if not runs.changed.originals or not runs.changed.readable:
        return Shown(), []
    outcomes = []
    if not failing(pristine, suite.expect):
        runs = runs.emptied()
        pristine, outcome = _trusted(ctx, runs, is_emptied=True)
        outcomes += [] if outcome is None else [outcome]
    run = runs.broken()
    outcomes.append(run.outcome)
    if run.outcome.status in LIMITS:
        return Shown(), outcomes
    return shown_by_break(run.report, pristine, suite.expect), outcomes
