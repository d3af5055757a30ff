"""The closed, versioned list of reasons a verdict can carry.

Every reason belongs to one class (the candidate's fault, or ours) and to the layer
that measures it. A grader's own detail follows as a code prefixed by its name; it
never adds a reason.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["REASONS_VERSION", "Layer", "Reason", "ReasonClass"]

REASONS_VERSION = "1.0"


class ReasonClass(Enum):
    """Whose fault a reason is."""

    REJECTED = "rejected"
    INVALID = "invalid"


class Layer(Enum):
    """Which part of the framework measures the reason."""

    CANDIDATE = "candidate"
    BOUNDARY = "boundary"
    TESTS = "tests"
    STRUCTURE = "structure"
    EVIDENCE = "evidence"
    JAIL = "jail"
    AGENT = "agent"
    FIXTURE = "fixture"
    IDENTITY = "identity"
    PLUGIN = "plugin"
    RUNNER = "runner"


class Reason(Enum):
    """One reason; the value is its code, `klass` its class and `layer` its layer."""

    klass: ReasonClass
    layer: Layer

    def __new__(cls, code: str, klass: ReasonClass, layer: Layer) -> Reason:
        member = object.__new__(cls)
        member._value_ = code
        member.klass = klass
        member.layer = layer
        return member

    NO_CHANGES = "no-changes", ReasonClass.REJECTED, Layer.BOUNDARY
    UNSAFE_PATH = "unsafe-path", ReasonClass.REJECTED, Layer.BOUNDARY
    PATH_NOT_ALLOWED = "path-not-allowed", ReasonClass.REJECTED, Layer.BOUNDARY
    PROTECTED_PATH_CHANGED = "protected-path-changed", ReasonClass.REJECTED, Layer.BOUNDARY
    IGNORED_PATH_CHANGED = "ignored-path-changed", ReasonClass.REJECTED, Layer.BOUNDARY
    FORBIDDEN_FILE_KIND = "forbidden-file-kind", ReasonClass.REJECTED, Layer.BOUNDARY
    CANDIDATE_MALFORMED = "candidate-malformed", ReasonClass.REJECTED, Layer.CANDIDATE
    PATCH_DOES_NOT_APPLY = "patch-does-not-apply", ReasonClass.REJECTED, Layer.CANDIDATE
    PATCH_BINARY_WITHOUT_DATA = (
        "patch-binary-without-data",
        ReasonClass.REJECTED,
        Layer.CANDIDATE,
    )
    VISIBLE_TESTS_FAILED = "visible-tests-failed", ReasonClass.REJECTED, Layer.TESTS
    HIDDEN_TESTS_FAILED = "hidden-tests-failed", ReasonClass.REJECTED, Layer.TESTS
    TESTS_MISSING = "tests-missing", ReasonClass.REJECTED, Layer.TESTS
    TESTS_NOT_PASSED = "tests-not-passed", ReasonClass.REJECTED, Layer.TESTS
    REGRESSION_TESTS_FAILED = "regression-tests-failed", ReasonClass.REJECTED, Layer.TESTS
    STRUCTURE_FAILED = "structure-failed", ReasonClass.REJECTED, Layer.STRUCTURE
    REPORTED_EVIDENCE_MISMATCH = (
        "reported-evidence-mismatch",
        ReasonClass.REJECTED,
        Layer.EVIDENCE,
    )
    REPORTED_EVIDENCE_MISSING = "reported-evidence-missing", ReasonClass.REJECTED, Layer.EVIDENCE
    EVIDENCE_MALFORMED = "evidence-malformed", ReasonClass.REJECTED, Layer.EVIDENCE
    EVIDENCE_STALE = "evidence-stale", ReasonClass.REJECTED, Layer.EVIDENCE
    TRACE_ORDER = "trace-order", ReasonClass.REJECTED, Layer.AGENT
    TIME_LIMIT = "time-limit", ReasonClass.REJECTED, Layer.JAIL
    MEMORY_LIMIT = "memory-limit", ReasonClass.REJECTED, Layer.JAIL
    OUTPUT_LIMIT = "output-limit", ReasonClass.REJECTED, Layer.JAIL
    PROCESS_LIMIT = "process-limit", ReasonClass.REJECTED, Layer.JAIL
    DISK_LIMIT = "disk-limit", ReasonClass.REJECTED, Layer.JAIL
    PROTOCOL_FAULT = "protocol-fault", ReasonClass.REJECTED, Layer.JAIL
    TAMPERING_DETECTED = "tampering-detected", ReasonClass.REJECTED, Layer.TESTS
    PERMISSION_REQUIRED = "permission-required", ReasonClass.REJECTED, Layer.AGENT
    BUDGET_EXCEEDED = "budget-exceeded", ReasonClass.REJECTED, Layer.AGENT
    REPEATED_ACTION = "repeated-action", ReasonClass.REJECTED, Layer.AGENT
    AGENT_FAILED = "agent-failed", ReasonClass.REJECTED, Layer.AGENT

    REVISION_MISMATCH = "revision-mismatch", ReasonClass.INVALID, Layer.IDENTITY
    BASELINE_DRIFT = "baseline-drift", ReasonClass.INVALID, Layer.FIXTURE
    COPY_FAILED = "copy-failed", ReasonClass.INVALID, Layer.FIXTURE
    NO_SPACE = "no-space", ReasonClass.INVALID, Layer.FIXTURE
    SANDBOX_UNAVAILABLE = "sandbox-unavailable", ReasonClass.INVALID, Layer.JAIL
    SANDBOX_FAILED = "sandbox-failed", ReasonClass.INVALID, Layer.JAIL
    IDENTITY_MISMATCH = "identity-mismatch", ReasonClass.INVALID, Layer.IDENTITY
    SOURCE_CONTAMINATED = "source-contaminated", ReasonClass.INVALID, Layer.FIXTURE
    PLUGIN_FAILED = "plugin-failed", ReasonClass.INVALID, Layer.PLUGIN
    GRADER_UNFIT = "grader-unfit", ReasonClass.INVALID, Layer.PLUGIN
    TRUST_TOO_LOW = "trust-too-low", ReasonClass.INVALID, Layer.PLUGIN
    SERVICE_FAILED = "service-failed", ReasonClass.INVALID, Layer.RUNNER
    PROVIDER_UNAVAILABLE = "provider-unavailable", ReasonClass.INVALID, Layer.AGENT
    WORKER_LOST = "worker-lost", ReasonClass.INVALID, Layer.RUNNER
    CANCELLED = "cancelled", ReasonClass.INVALID, Layer.RUNNER
    ENVIRONMENT_FAILED = "environment-failed", ReasonClass.INVALID, Layer.RUNNER
