"""What one grader measured: which tests did not pass and why, which limit was met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from rich.console import RenderableType
from rich.text import Text

from assay.api import (
    BlobRef,
    Facts,
    InvalidInput,
    Outcome,
    OutcomeStatus,
    TestOutcome,
    TestResult,
    printable,
)
from assay.ledger import ArtifactMissing
from assay.measure import FAILURES
from assay.reports.tables import safe, sentence
from assay.strict_json import load

__all__ = ["KeptArtifacts", "explain_grader"]

_LIMITS = {
    OutcomeStatus.TIMED_OUT: "time",
    OutcomeStatus.OUTPUT_LIMIT: "output",
    OutcomeStatus.MEMORY_LIMIT: "memory",
    OutcomeStatus.DISK_LIMIT: "disk",
}
_MEANING = {
    TestOutcome.SKIPPED: "was skipped, which is no pass",
    TestOutcome.XFAILED: "is marked as expected to fail, which is no pass",
    TestOutcome.MISSING: "is expected, but did not run",
    TestOutcome.DUPLICATE: "ran more than once",
    TestOutcome.UNKNOWN: "ran, but is not among the expected tests",
}
_MAX_MESSAGES_BYTES = 512 * 1024**2
_SHOWN_TESTS = 30
_SHOWN_MESSAGES = 5
_SHOWN_LINES = 40
_SHOWN_COLUMNS = 300
_TAB = 4


class KeptArtifacts(Protocol):
    """Where the content of artifacts is read."""

    def get(self, ref: BlobRef) -> bytes:
        """Raises InvalidInput when it is missing or changed."""
        ...


def explain_grader(facts: Facts, artifacts: KeptArtifacts) -> Iterator[RenderableType]:
    """The grader's result in one line, then each test that did not pass with its message.

    Of artifacts that are no longer kept it says so; raises InvalidInput when one was changed.
    """
    yield Text.assemble(
        (printable(f"{facts.grader} "), "bold"),
        printable(f"({facts.plugin} {facts.version}, {facts.trust.value}"),
        "" if facts.required else ", not required",
        f"): {_result(facts)}",
    )
    for reason in sorted(facts.reasons, key=lambda reason: reason.value):
        yield Text(f"  measured: {reason.value}")
    for code in facts.codes:
        yield Text("  code: ") + safe(code)
    try:
        private = _private(facts, artifacts)
    except ArtifactMissing:
        private = {}
        yield _gone("messages")
    yield from _failures(facts, private)
    if not facts.passed and not private:
        yield from _streams(facts, artifacts)


def _result(facts: Facts) -> str:
    outcome = facts.outcome
    passed = sum(test.outcome is TestOutcome.PASSED for test in facts.tests)
    counts = f"{passed}/{len(facts.tests)} passed"
    if outcome is None:
        return counts
    if outcome.status in _LIMITS:
        return f"stopped at the {_limit(outcome)}; no test counts"
    if outcome.status is OutcomeStatus.SIGNALLED:
        return f"{counts}; its process was ended by signal {outcome.signal}"
    missing = any(test.outcome is TestOutcome.MISSING for test in facts.tests)
    if missing and outcome.exit_code is not None:
        return f"{counts}; its process exited with {outcome.exit_code}"
    return counts


def _limit(outcome: Outcome) -> str:
    enforced = outcome.enforced_by.items()
    layers = printable(", ".join(f"{limit}, by {layer}" for limit, layer in enforced))
    name = f"{_LIMITS[outcome.status]} limit" + (f" ({layers})" if layers else "")
    used = {
        OutcomeStatus.TIMED_OUT: f"{outcome.wall:.1f} s, {outcome.cpu:.1f} s of them on the CPU",
        OutcomeStatus.OUTPUT_LIMIT: f"{outcome.stdout.total + outcome.stderr.total} bytes",
        OutcomeStatus.MEMORY_LIMIT: f"{outcome.peak_memory // 1024**2} MiB",
    }.get(outcome.status)
    return f"{name} after {used}" if used else name


def _private(facts: Facts, artifacts: KeptArtifacts) -> Mapping[str, str]:
    if FAILURES not in facts.artifacts:
        return {}
    messages = load(
        artifacts.get(facts.artifacts[FAILURES]), FAILURES, max_bytes=_MAX_MESSAGES_BYTES
    )
    if not isinstance(messages, dict):
        raise InvalidInput(f"artifact {FAILURES} is not an object")
    return {test: str(message) for test, message in messages.items()}


def _failures(facts: Facts, private: Mapping[str, str]) -> Iterator[RenderableType]:
    failed = [test for test in facts.tests if test.outcome is not TestOutcome.PASSED]
    said: dict[str, str] = {}
    for test in failed[:_SHOWN_TESTS]:
        yield Text(f"  {test.outcome.value:9}") + safe(test.id)
        message = _message(test, private)
        if message in said:
            yield Text("      as ", style="dim") + safe(said[message])
        elif "\n" not in message:
            yield from _indented(message)
        elif len(said) < _SHOWN_MESSAGES:
            said[message] = test.id
            yield from _indented(message)
    if len(failed) > _SHOWN_TESTS:
        yield Text(f"  … {len(failed) - _SHOWN_TESTS} more that did not pass", style="dim")


def _message(test: TestResult, private: Mapping[str, str]) -> str:
    parts = (_MEANING.get(test.outcome, ""), private.get(test.id, ""))
    return "\n".join(part for part in parts if part) or test.message_public


def _streams(facts: Facts, artifacts: KeptArtifacts) -> Iterator[RenderableType]:
    for name in ("stdout", "stderr"):
        if name in facts.artifacts:
            yield Text(f"  {name}:", style="dim")
            try:
                content = artifacts.get(facts.artifacts[name])
            except ArtifactMissing:
                yield _gone(name)
            else:
                yield from _indented(content.decode("utf-8", "replace"))


def _gone(name: str) -> Text:
    return Text(f"  {name}: no longer kept", style="dim")


def _indented(text: str) -> Iterator[RenderableType]:
    """The first and the last lines, where a failure's cause and its end are."""
    lines = text.rstrip("\n").split("\n") if text else []
    half = _SHOWN_LINES // 2
    cut = len(lines) - _SHOWN_LINES
    shown = lines if cut <= 0 else [*lines[:half], None, *lines[-half:]]
    for line in shown:
        if line is None:
            yield Text(f"      … {cut} more lines", style="dim")
        else:
            flat = line.removesuffix("\r").expandtabs(_TAB)
            end = "…" if len(flat) > _SHOWN_COLUMNS else ""
            yield Text("      ") + sentence(flat[:_SHOWN_COLUMNS]) + Text(end)
