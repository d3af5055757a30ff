"""task.json: bytes in, checked data with every default filled in out.

The schema is closed: an unknown key is an error, so that a misspelt option is never ignored.
What later versions reserve is refused as not supported yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from assay.api.errors import ManifestError
from assay.api.jail import Network
from assay.api.tasks import (
    BaselineResult,
    EvidencePolicy,
    GraderRole,
    GraderSpec,
    SuiteHeader,
    Task,
)
from assay.api.trees import RelPath
from assay.api.trust import Trust
from assay.limits import LimitsDocument, check_limits, check_scale
from assay.policies import (
    allow_rules,
    check_budgets,
    check_clock,
    check_env,
    check_runtime,
    import_roots,
    protect_patterns,
    slug_text,
    task_folder,
)
from assay.prompts import check_prompt
from assay.service_manifest import ServiceDocument, check_caches, check_services
from assay.strict_json import MAX_INTEGER, load
from assay.structuring import FieldError, checked, structure

__all__ = ["MAX_MANIFEST_BYTES", "SCHEMA", "TaskDocument", "check_version", "parse_task"]

SCHEMA = 1
"""The schema number of suite, task and candidate manifests that this version reads."""

MAX_MANIFEST_BYTES = 4 * 1024**2
MAX_TITLE = 200
MAX_SEED = 2**32 - 1
GIT = "git"

_RESERVED_NETWORKS = ("gateway", "host")
_NOT_YET = "not supported yet"


@frozen
class _Grader:
    id: str
    use: str
    role: GraderRole
    options: Mapping[str, Any] = field(factory=dict)
    required: bool = True


@frozen
class GitDocument:
    """A task's `git` as it stands."""

    init: bool = False


@frozen
class _Retired:
    reason: str
    last_valid: int | None = None


@frozen
class TaskDocument:
    """task.json as it stands: its keys, their types and their defaults."""

    id: str
    category: str
    prompt: str
    fixture: str
    schema: int = SCHEMA
    hidden: str | None = None
    title: str = ""
    graders: tuple[_Grader, ...] = ()
    allow: tuple[Any, ...] = ()
    protect: tuple[str, ...] = ()
    baseline: Mapping[str, BaselineResult] = field(factory=dict)
    limits: LimitsDocument = LimitsDocument()
    budgets: Mapping[str, int] = field(factory=dict)
    evidence: EvidencePolicy = EvidencePolicy.OPTIONAL
    runtime: Mapping[str, Any] = field(factory=dict)
    network: Network = Network.NONE
    env: Mapping[str, str] = field(factory=dict)
    seed: int = 0
    clock: str | None = None
    git: GitDocument = GitDocument()
    services: tuple[ServiceDocument, ...] = ()
    caches: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    version: int = 1
    retired: _Retired | None = None
    artifacts: tuple[str, ...] = ()


def parse_task(
    data: bytes,
    file: str = "task.json",
    *,
    folder: str | None = None,
    suite: SuiteHeader | None = None,
) -> Task:
    """One task, defaults filled in; `suite` gives trust, categories and shared runtime.

    With `folder`, the task's id must equal it. Rules are checked in the order JSON, schema,
    id, paths. Raises ManifestError.
    """
    value = load(data, file, max_bytes=MAX_MANIFEST_BYTES)
    check_version(value, file)
    _refuse_reserved(value, file)
    document = structure(TaskDocument, value, file)
    try:
        task = _without_paths(document, suite)
        if folder is not None and task.id != folder:
            raise FieldError("must equal the name of the task's folder", ("id",))
        return _with_paths(task, document)
    except FieldError as error:
        raise error.of(file) from None


def check_version(value: Any, file: str) -> None:
    """Refuse a document of another schema before its keys are judged."""
    if isinstance(value, dict):
        schema = value.get("schema", SCHEMA)
        if type(schema) is int and schema != SCHEMA:
            raise ManifestError(file, "schema", f"must be {SCHEMA}; others are {_NOT_YET}")


def _refuse_reserved(value: Any, file: str) -> None:
    if not isinstance(value, dict):
        return
    if value.get("network") in _RESERVED_NETWORKS:
        raise ManifestError(file, "network", _NOT_YET)


def _without_paths(document: TaskDocument, suite: SuiteHeader | None) -> Task:
    graders = checked("graders", _graders, document.graders)
    shared = suite.runtime if suite else {}
    runtime = checked("runtime", check_runtime, {**shared, **document.runtime})
    return Task(
        id=checked("id", slug_text, document.id),
        category=checked("category", _category, document.category, suite),
        prompt=checked("prompt", check_prompt, document.prompt),
        fixture=RelPath(document.fixture),
        title=checked("title", _title, document.title),
        graders=graders,
        baseline=checked("baseline", _baseline, document.baseline, graders),
        limits=checked("limits", check_limits, document.limits),
        scale=checked("limits", check_scale, document.limits),
        budgets=checked("budgets", check_budgets, document.budgets),
        evidence=document.evidence,
        runtime=_with_git(runtime) if document.git.init else runtime,
        network=document.network,
        env=checked("env", check_env, document.env),
        seed=checked("seed", _in_range, document.seed, 0, MAX_SEED),
        clock=checked("clock", check_clock, document.clock),
        git={"init": True} if document.git.init else {},
        version=checked("version", _in_range, document.version, 1, MAX_INTEGER),
        retired=checked("retired", _retired, document.retired, document.version),
        require_trust=suite.require_trust if suite else Trust.UNGUARDED,
    )


def _with_git(runtime: Mapping[str, Any]) -> Mapping[str, Any]:
    """A repository is there to be used: the program must be there too, or the task can't run."""
    tools = [*runtime.get("tools", ())]
    return {**runtime, "tools": tools if GIT in tools else [*tools, GIT]}


def _with_paths(task: Task, document: TaskDocument) -> Task:
    fixture, hidden = _folders(document)
    taken = (fixture,) if hidden is None else (fixture, hidden)
    return evolve(
        task,
        fixture=fixture,
        hidden=hidden,
        allow=checked("allow", allow_rules, document.allow),
        protect=checked("protect", protect_patterns, document.protect),
        services=checked("services", check_services, document.services, document.network, taken),
        caches=checked("caches", check_caches, document.caches),
        roots=checked("roots", import_roots, document.roots),
        artifacts=checked("artifacts", protect_patterns, document.artifacts),
    )


def _folders(document: TaskDocument) -> tuple[RelPath, RelPath | None]:
    fixture = checked("fixture", task_folder, document.fixture)
    if document.hidden is None:
        return fixture, None
    hidden = checked("hidden", task_folder, document.hidden)
    if f"{hidden}/".startswith(f"{fixture}/") or f"{fixture}/".startswith(f"{hidden}/"):
        raise FieldError("must not overlap the fixture", ("hidden",))
    return fixture, hidden


def _category(text: str, suite: SuiteHeader | None) -> str:
    slug_text(text)
    if suite is not None and suite.categories and text not in suite.categories:
        raise FieldError("must be one of the suite's categories")
    return text


def _graders(documents: tuple[_Grader, ...]) -> tuple[GraderSpec, ...]:
    specs: list[GraderSpec] = []
    for index, document in enumerate(documents):
        checked(index, checked, "id", slug_text, document.id)
        if any(spec.id == document.id for spec in specs):
            raise FieldError("is the id of an earlier grader", (index, "id"))
        if not document.use:
            raise FieldError("must name a grader plugin", (index, "use"))
        specs.append(
            GraderSpec(
                id=document.id,
                use=document.use,
                role=document.role,
                options=document.options,
                required=document.required,
            )
        )
    return tuple(specs)


def _baseline(
    results: Mapping[str, BaselineResult], graders: tuple[GraderSpec, ...]
) -> Mapping[str, BaselineResult]:
    known = {spec.id for spec in graders}
    for grader in results:
        if grader not in known:
            raise FieldError("is not the id of a grader of this task", (grader,))
    return {
        spec.id: results.get(spec.id, BaselineResult.FAIL)
        for spec in graders
        if spec.required or spec.id in results
    }


def _retired(document: _Retired | None, version: int) -> Mapping[str, Any] | None:
    if document is None:
        return None
    if not document.reason.strip():
        raise FieldError("must say why the task is no longer used", ("reason",))
    checked("reason", _title, document.reason)
    if document.last_valid is not None and not 1 <= document.last_valid <= version:
        raise FieldError(f"must be a version from 1 to {version}", ("last_valid",))
    return {"reason": document.reason, "last_valid": document.last_valid}


def _title(text: str) -> str:
    if len(text) > MAX_TITLE or not (text.isprintable() or not text):
        raise FieldError(f"must be one line of at most {MAX_TITLE} characters")
    return text


def _in_range(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise FieldError(f"must be between {least} and {most}")
    return value
