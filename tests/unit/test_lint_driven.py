"""What follows from runs of gold, fixture and wrong candidates; the runs are made up here."""

from __future__ import annotations

from assay.api import TestOutcome, Trust
from assay.linting.driven import judge
from assay.linting.jobs import BASE, GOLD
from assay.linting.watched import Seen, TestUse

P, F, E = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR


def seen(codes: dict[str, tuple[str, ...]] | None = None, **outcomes: TestOutcome) -> Seen:
    """An isolated run; `codes` make a test refused."""
    uses = tuple(
        TestUse(test, outcome.value, 0, (), 1, (codes or {}).get(test, ()), ())
        for test, outcome in outcomes.items()
    )
    return Seen(outcomes, uses)


def unsupported(test: str, *codes: str) -> Seen:
    use = TestUse(test, "unsupported", 2, ("classes",), 1, codes, codes)
    return Seen({test: E}, (use,), unfit="grader hidden: expect[0] can't be isolated")


def found(
    isolated: dict[str, Seen], in_process: dict[str, Seen], trust: Trust = Trust.ISOLATED
) -> list[tuple[str, str, str]]:
    labels = {name: f"about {name}" for name in {**isolated, **in_process} if name[0] == "m"}
    run = judge("task", "hidden", trust, isolated, in_process, labels)
    return [(item.rule.id, item.test, item.detail) for item in run.findings]


def test_nothing_to_say() -> None:
    runs = {GOLD: seen(a=P, b=P), BASE: seen(a=F, b=P), "m": seen(a=F, b=P)}
    assert found(runs, runs) == []


def test_a_kill_that_isolation_misses() -> None:
    gold = seen(a=P, b=P)
    isolated = {GOLD: gold, "m": seen(a=P, b=F)}
    in_process = {GOLD: gold, "m": seen(a=F, b=F)}
    assert found(isolated, in_process) == [("missed-kill", "a", "m: about m")]
    assert found(in_process, isolated) == []


def test_a_run_that_reached_a_limit_kills_every_test() -> None:
    gold = seen(a=P)
    assert found({GOLD: gold, "m": Seen({})}, {GOLD: gold, "m": seen(a=F)}) == []
    assert found({GOLD: gold, "m": seen(a=P)}, {GOLD: gold, "m": Seen({})}) == [
        ("missed-kill", "a", "m: about m")
    ]


def test_tests_that_gold_does_not_pass_both_ways_are_no_measure() -> None:
    isolated = {GOLD: seen(a=F, b=P), "m": seen(a=P, b=P)}
    in_process = {GOLD: seen(a=P, b=P), "m": seen(a=F, b=P)}
    rules = [rule for rule, _, _ in found(isolated, in_process)]
    assert "missed-kill" not in rules


def test_a_test_that_can_t_be_isolated() -> None:
    gold = unsupported("a", "subclass")
    assert found({GOLD: gold}, {GOLD: seen(a=P)}) == [("unsupported-test", "a", "subclass")]
    assert found({GOLD: gold}, {GOLD: seen(a=P)}, Trust.UNGUARDED) == [
        ("not-isolatable", "a", "subclass")
    ]


def test_a_file_that_can_t_be_isolated() -> None:
    gold = Seen({}, (), ("star-import",), "grader hidden: a test file can't be isolated")
    assert ("unsupported-test", "", "star-import") in found({GOLD: gold}, {})
    assert ("not-isolatable", "", "star-import") in found(
        {GOLD: gold}, {GOLD: seen(a=P)}, Trust.UNGUARDED
    )


def test_gold_that_fails() -> None:
    runs = {GOLD: seen(a=F, b=P)}
    assert found(runs, runs) == [("gold-fails", "a", "failed")]
    assert found(runs, runs, Trust.UNGUARDED) == [("gold-fails", "a", "failed")]
    refused = {GOLD: seen({"a": ("equality",)}, a=F)}
    assert found(refused, {GOLD: seen(a=P)}) == [("gold-fails", "a", "equality")]
    assert found(refused, {GOLD: seen(a=P)}, Trust.UNGUARDED) == [
        ("not-isolatable", "a", "equality")
    ]


def test_gold_that_reached_a_limit() -> None:
    assert found({GOLD: Seen({})}, {}) == [("gold-fails", "", "a limit was reached")]


def test_a_fixture_that_fails_by_a_refusal() -> None:
    base = seen({"a": ("equality", "order"), "b": ("value",)}, a=F, b=P, c=F)
    gold = seen(a=P, b=P, c=P)
    assert found({GOLD: gold, BASE: base}, {GOLD: gold}) == [
        ("refused-on-base", "a", "equality, order")
    ]


def test_a_grader_with_one_mode_only() -> None:
    runs = {GOLD: seen(a=P), "m": seen(a=P)}
    assert found(runs, {}) == []
    assert found({}, runs, Trust.UNGUARDED) == []
