"""Running one grader: its facts are completed, its own faults never blamed on a candidate.

Private messages and streams become artifacts here; what goes on holds public text only.
"""

from __future__ import annotations

import importlib.metadata

from attrs import evolve

from assay.api import (
    AssayError,
    BlobRef,
    Facts,
    Grader,
    GraderUnfit,
    PluginFailed,
    Reason,
    ServiceFailed,
    TestOutcome,
)
from assay.canonical import canonical_json, digest_json
from assay.grading import GradingContext
from assay.normalise import normalise
from assay.record_json import to_plain

__all__ = ["FAILURES", "measure"]

FAILURES = "failures"
"""Name of the artifact that holds a grader's private messages, as JSON by test id."""


def measure(grader: Grader, context: GradingContext) -> Facts:
    """The grader's facts for this tree; raises a Fault when the grader itself failed."""
    spec, task = context.spec, context.task
    missing = [
        f"{tool}: {context.runtime.unavailable.get(tool, 'not in the runtime')}"
        for tool in grader.needs(context.options, task).tools
        if tool not in context.runtime.tools
    ]
    if missing:
        raise GraderUnfit(f"grader {spec.id} needs " + "; ".join(missing))
    try:
        facts = grader.grade(context)
    except AssayError:
        raise
    except Exception as error:
        raise PluginFailed(spec.use, _distribution(grader), type(error).__name__) from error
    if grader.max_trust < facts.trust:
        raise PluginFailed(spec.use, _distribution(grader), "claims more trust than it can have")
    facts = _with_services(facts, context)
    return evolve(
        facts,
        grader=spec.id,
        plugin=spec.use,
        role=spec.role,
        version=grader.version,
        options_digest=digest_json(to_plain(spec.options)),
        artifacts={**facts.artifacts, **_kept(facts, context)},
        required=spec.required,
    )


def _with_services(facts: Facts, context: GradingContext) -> Facts:
    """What it means that a service was gone before its jail was.

    With a candidate it is the candidate's doing, for there is no other way to end it but to
    talk to it, and the untouched fixture did not; so it is never a way out of a rejection.
    """
    ended = context.services.ended
    if not ended:
        return facts
    if context.probing:
        raise ServiceFailed(ended[0].id, "ended on the untouched fixture", ended[0].output.digest)
    return evolve(
        facts,
        reasons=facts.reasons | {Reason.PROTOCOL_FAULT},
        codes=tuple(dict.fromkeys((*facts.codes, *(f"service-ended-{one.id}" for one in ended)))),
        artifacts={**facts.artifacts, **{f"service-{one.id}": one.output for one in ended}},
    )


def _kept(facts: Facts, context: GradingContext) -> dict[str, BlobRef]:
    kept: dict[str, bytes] = {}
    private = {
        test.id: normalise(context.redactor.text(test.message_private))
        for test in facts.tests
        if test.outcome is not TestOutcome.PASSED and test.message_private
    }
    if private:
        kept[FAILURES] = canonical_json(private)
    if facts.outcome is not None:
        for name, stream in (("stdout", facts.outcome.stdout), ("stderr", facts.outcome.stderr)):
            if stream.total:
                kept[name] = normalise(context.redactor.stream(stream)).encode("utf-8", "replace")
    return {name: context.artifacts.put(name, content) for name, content in kept.items()}


def _distribution(grader: Grader) -> str:
    top = type(grader).__module__.partition(".")[0]
    names = importlib.metadata.packages_distributions().get(top, [])
    return names[0] if names else top
