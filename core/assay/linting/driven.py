"""What driving showed of one grader, and the findings that follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from assay.api import TestOutcome, Trust
from assay.linting.jobs import BASE, GOLD
from assay.linting.report import Finding
from assay.linting.rules import DRIVEN_RULES
from assay.linting.watched import Seen, TestUse

__all__ = ["GraderRun", "MutantRun", "judge"]

_RULES = {rule.id: rule for rule in DRIVEN_RULES}


@frozen
class MutantRun:
    """One wrong candidate: the tests of the gold one that it fails, by how they were run."""

    id: str
    what: str
    in_process: tuple[str, ...]
    isolated: tuple[str, ...]

    @property
    def survives(self) -> bool:
        """Whether no test notices the mistake, in whichever way it was run."""
        return not self.in_process and not self.isolated

    @property
    def missed(self) -> tuple[str, ...]:
        """Tests that notice the mistake in one process only."""
        return tuple(test for test in self.in_process if test not in self.isolated)


@frozen
class GraderRun:
    """One grader, driven: `trust` is what its own mode gives, `tests` are of the gold candidate."""

    task: str
    grader: str
    trust: Trust
    tests: tuple[TestUse, ...]
    refused_on_base: tuple[TestUse, ...] = ()
    mutants: tuple[MutantRun, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), repr=False)


def judge(
    task: str,
    grader: str,
    trust: Trust,
    isolated: Mapping[str, Seen],
    in_process: Mapping[str, Seen],
    labels: Mapping[str, str],
) -> GraderRun:
    """What the runs of one grader show, by candidate: GOLD, BASE and the wrong ones.

    `labels` say what is wrong with each wrong candidate, in the order to tell them. A side is
    empty if the grader has no such mode.
    """
    gold, plain = isolated.get(GOLD), in_process.get(GOLD)
    base = isolated.get(BASE)
    refused = tuple(
        use
        for use in (base.uses if base is not None else ())
        if use.codes and base is not None and not base.passes(use.id)
    )
    passed = _passed(gold) & _passed(plain)
    mutants = tuple(
        MutantRun(
            name,
            label,
            _killed(passed, in_process.get(name)),
            _killed(passed, isolated.get(name)),
        )
        for name, label in labels.items()
        if name in isolated and name in in_process
    )
    run = GraderRun(task, grader, trust, gold.uses if gold is not None else (), refused, mutants)
    findings = (*_of_gold(run, gold, plain), *_of_base(run), *_of_mutants(run))
    return GraderRun(task, grader, trust, run.tests, refused, mutants, findings)


def _passed(seen: Seen | None) -> frozenset[str]:
    return frozenset() if seen is None else frozenset(filter(seen.passes, seen.outcomes))


def _killed(tests: frozenset[str], seen: Seen | None) -> tuple[str, ...]:
    return tuple(sorted(test for test in tests if seen is None or not seen.passes(test)))


def _of_gold(run: GraderRun, gold: Seen | None, plain: Seen | None) -> Iterator[Finding]:
    is_isolated = run.trust is Trust.ISOLATED
    declared = gold if is_isolated else plain
    uses = {use.id: use for use in run.tests}
    if gold is not None and gold.unfit_files:
        rule = "unsupported-test" if is_isolated else "not-isolatable"
        yield _about(run, rule, "", gold.unfit_files)
    if declared is not None:
        yield from _not_passed(run, declared, uses if is_isolated else {})
    if not is_isolated and gold is not None and plain is not None:
        for test in sorted(_passed(plain) - _passed(gold)):
            yield _about(run, "not-isolatable", test, _why(gold, uses, test))


def _not_passed(run: GraderRun, seen: Seen, uses: Mapping[str, TestUse]) -> Iterator[Finding]:
    for test, outcome in sorted(seen.outcomes.items()):
        if outcome is not TestOutcome.PASSED:
            is_refused = test in uses and bool(uses[test].unsupported)
            rule = "unsupported-test" if is_refused else "gold-fails"
            yield _about(run, rule, test, _why(seen, uses, test))
    if not seen.outcomes:
        yield _about(run, "gold-fails", "", (seen.unfit or "a limit was reached",))


def _why(seen: Seen, uses: Mapping[str, TestUse], test: str) -> tuple[str, ...]:
    """The codes of a test, or for want of them its outcome."""
    use = uses.get(test)
    if use is not None and (use.unsupported or use.codes):
        return use.unsupported or use.codes
    return (seen.outcomes.get(test, TestOutcome.MISSING).value,)


def _of_base(run: GraderRun) -> Iterator[Finding]:
    for use in run.refused_on_base:
        yield _about(run, "refused-on-base", use.id, use.codes)


def _of_mutants(run: GraderRun) -> Iterator[Finding]:
    for mutant in run.mutants:
        for test in mutant.missed:
            yield _about(run, "missed-kill", test, (f"{mutant.id}: {mutant.what}",))


def _about(run: GraderRun, rule: str, test: str, details: tuple[str, ...]) -> Finding:
    detail = ", ".join(details)
    return Finding(rule=_RULES[rule], task=run.task, grader=run.grader, test=test, detail=detail)
