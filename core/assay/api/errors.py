"""Every error the framework raises; each branch has one exit code.

Messages hold ids, digests, relative paths and rules: never content, never a host path.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.api.reasons import Reason

__all__ = [
    "AssayError",
    "Cancelled",
    "CandidateMalformed",
    "CleanupFailed",
    "Contaminated",
    "CopierUnsupported",
    "CopyFailed",
    "CopyMismatch",
    "Fault",
    "GraderUnfit",
    "IdentityMismatch",
    "IntegrityError",
    "InvalidInput",
    "LedgerBroken",
    "ManifestError",
    "NoSpace",
    "PluginFailed",
    "ProviderUnavailable",
    "RevisionMismatch",
    "RuntimeUnavailable",
    "SandboxFailed",
    "SandboxUnavailable",
    "ServiceFailed",
    "TreeChanged",
    "TreeLimit",
    "TreeRefused",
    "TreeSlow",
    "Unavailable",
    "UsageError",
    "WorkerLost",
]


class AssayError(Exception):
    """Root of all errors a caller may meet; `exit_code` is what the CLI returns."""

    exit_code: int = 3


class UsageError(AssayError):
    """The call itself is wrong: an unknown option, plugin or id. Check the spelling."""

    exit_code = 2


class InvalidInput(AssayError):
    """Something given to the framework breaks a documented rule."""

    exit_code = 3


class ManifestError(InvalidInput):
    """A manifest breaks a rule; `file` and `field` say where, `rule` says which."""

    def __init__(self, file: str, field: str, rule: str) -> None:
        self.file, self.field, self.rule = file, field, rule
        super().__init__(f"{file}: {field}: {rule}" if field else f"{file}: {rule}")

    def __reduce__(self) -> tuple[type[ManifestError], tuple[str, str, str]]:
        return type(self), (self.file, self.field, self.rule)


class TreeRefused(InvalidInput):
    """A tree holds something that our trees never hold; `kind` says what."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(f"{path}: {kind} is not allowed in a tree")

    def __reduce__(self) -> tuple[type[TreeRefused], tuple[str, str]]:
        return type(self), (self.path, self.kind)


class TreeLimit(InvalidInput):
    """A tree is larger than its limits allow."""


class CandidateMalformed(InvalidInput):
    """A candidate can't be read as what it says it is; `reason` is its rejection."""

    def __init__(self, rule: str, reason: Reason = Reason.CANDIDATE_MALFORMED) -> None:
        self.rule, self.reason = rule, reason
        super().__init__(rule)

    def __reduce__(self) -> tuple[type[CandidateMalformed], tuple[str, Reason]]:
        return type(self), (self.rule, self.reason)


class Unavailable(AssayError):
    """This host lacks something that the work needs; the message says how to get it."""

    exit_code = 4


class SandboxUnavailable(Unavailable):
    """No jail can be made here; `layer` is what is missing, `fix` how to get it."""

    def __init__(self, layer: str, fix: str) -> None:
        self.layer, self.fix = layer, fix
        super().__init__(f"sandbox unavailable: {layer}; fix: {fix}")

    def __reduce__(self) -> tuple[type[SandboxUnavailable], tuple[str, str]]:
        return type(self), (self.layer, self.fix)


class RuntimeUnavailable(Unavailable):
    """The declared runtime (interpreter, tools) can't be prepared on this host."""


class CopierUnsupported(Unavailable):
    """The chosen copier can't work on this host or file system."""


class Fault(AssayError):
    """The framework or a plugin failed while grading: the trial is `invalid`."""

    exit_code = 3
    retryable: bool = False
    reason: Reason = Reason.ENVIRONMENT_FAILED


class CopyFailed(Fault):
    """A workspace could not be made equal to its fixture; nothing was started."""

    retryable = True
    reason = Reason.COPY_FAILED


class NoSpace(CopyFailed):
    """Disk, quota or descriptors ran out; free some and run again."""

    reason = Reason.NO_SPACE


class SandboxFailed(Fault):
    """A jail that should work did not; `stage` says where. Never the candidate's fault."""

    retryable = True
    reason = Reason.SANDBOX_FAILED

    def __init__(self, stage: str, detail: str = "") -> None:
        self.stage, self.detail = stage, detail
        super().__init__(f"sandbox failed at {stage}" + (f": {detail}" if detail else ""))

    def __reduce__(self) -> tuple[type[SandboxFailed], tuple[str, str]]:
        return type(self), (self.stage, self.detail)


class PluginFailed(Fault):
    """A plugin could not be loaded or raised; plugin and distribution are named."""

    reason = Reason.PLUGIN_FAILED

    def __init__(self, plugin: str, distribution: str, problem: str) -> None:
        self.plugin, self.distribution, self.problem = plugin, distribution, problem
        super().__init__(f"plugin {plugin} ({distribution}): {problem}")

    def __reduce__(self) -> tuple[type[PluginFailed], tuple[str, str, str]]:
        return type(self), (self.plugin, self.distribution, self.problem)


class GraderUnfit(Fault):
    """The grader can't grade this task on this host (its own tests, tools or options)."""

    reason = Reason.GRADER_UNFIT


class ServiceFailed(Fault):
    """A service of the task did not get ready; `problem` says how, `output` is its artifact."""

    retryable = True
    reason = Reason.SERVICE_FAILED

    def __init__(self, service: str, problem: str, output: str) -> None:
        self.service, self.problem, self.output = service, problem, output
        super().__init__(f"service {service} {problem}; its output is artifact {output}")

    def __reduce__(self) -> tuple[type[ServiceFailed], tuple[str, str, str]]:
        return type(self), (self.service, self.problem, self.output)


class ProviderUnavailable(Fault):
    """A model provider did not answer."""

    retryable = True
    reason = Reason.PROVIDER_UNAVAILABLE


class WorkerLost(Fault):
    """The worker process that ran a trial died; the trial can be run again."""

    retryable = True
    reason = Reason.WORKER_LOST


class TreeChanged(Fault):
    """A file moved under the reader; scan again when nothing writes to the tree."""

    retryable = True


class TreeSlow(Fault):
    """A tree was not read within the seconds that its limits give; the host is too slow."""

    retryable = True


class IntegrityError(AssayError):
    """A promise about inputs or records does not hold; results can't be trusted."""

    exit_code = 5


class Contaminated(IntegrityError):
    """A source fixture changed while it was in use."""

    def __init__(self, task: str, before: str, after: str) -> None:
        self.task, self.before, self.after = task, before, after
        super().__init__(f"task {task}: source fixture changed: {before} became {after}")

    def __reduce__(self) -> tuple[type[Contaminated], tuple[str, str, str]]:
        return type(self), (self.task, self.before, self.after)


class CopyMismatch(IntegrityError):
    """A finished copy is not equal to its source."""


class RevisionMismatch(IntegrityError):
    """Content differs from the digest that the suite pins."""


class IdentityMismatch(IntegrityError):
    """The environment differs from what the run requires; `fields` are named."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = tuple(fields)
        super().__init__("identity differs in: " + ", ".join(self.fields))

    def __reduce__(self) -> tuple[type[IdentityMismatch], tuple[tuple[str, ...]]]:
        return type(self), (self.fields,)


class LedgerBroken(IntegrityError):
    """A run's chain of records is broken at `seq`."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(f"ledger broken at record {seq}")

    def __reduce__(self) -> tuple[type[LedgerBroken], tuple[int]]:
        return type(self), (self.seq,)


class CleanupFailed(IntegrityError):
    """A temporary folder could not be removed; `temp_id` is its name."""

    def __init__(self, temp_id: str) -> None:
        self.temp_id = temp_id
        super().__init__(f"temporary folder {temp_id} could not be removed")

    def __reduce__(self) -> tuple[type[CleanupFailed], tuple[str]]:
        return type(self), (self.temp_id,)


class Cancelled(AssayError):
    """The run was interrupted before this work was done."""

    exit_code = 130
