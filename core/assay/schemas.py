"""JSON Schema of every document that assay reads or writes (`assay schema NAME`).

The schemas of manifests are derived from the same classes that the loader structures, so
they can't drift. A schema says which keys and types there are; rules that need more than
one value (an id equal to its folder's name, patterns that overlap) are the loader's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import attrs

from assay.api.errors import UsageError
from assay.api.paths import printable
from assay.api.reasons import Reason
from assay.api.records import TrialRecord, Verdict
from assay.api.runtimes import REQUIREMENT_PATTERN, TOOL_PATTERN
from assay.api.tasks import VerdictStatus
from assay.api.trust import Trust
from assay.candidate_manifest import CandidateDocument
from assay.instants import INSTANT_PATTERN
from assay.limits import LimitsDocument
from assay.manifests import SCHEMA, TaskDocument
from assay.output_schemas import OUTPUT_SCHEMAS
from assay.policies import OP_NAMES, RuntimeDocument
from assay.suite_manifest import SuiteDocument

__all__ = ["schema", "schema_names"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SLUG = {"type": "string", "pattern": "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"}
_DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_TEXT = {"type": "string", "minLength": 1}
_FACTOR = {"type": "number", "minimum": 1, "maximum": 1000}
_NULL = {"type": "null"}
_VERSION = {"const": SCHEMA}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_names() -> tuple[str, ...]:
    """Names that `schema` knows, sorted."""
    return tuple(sorted(_SCHEMAS))


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of document; raises UsageError for an unknown name."""
    if name not in _SCHEMAS:
        known = ", ".join(schema_names())
        raise UsageError(f"unknown schema {printable(name)}; known: {known}")
    return {"$schema": _DIALECT, "title": f"assay {name}", **_SCHEMAS[name]()}


def _of(type_: Any) -> dict[str, Any]:
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ in _PLAIN:
        return {"type": _PLAIN[type_]}
    if origin in (Union, UnionType):
        others = [argument for argument in arguments if argument is not NoneType]
        return {"anyOf": [*(_of(other) for other in others), {"type": "null"}]}
    if origin in (tuple, frozenset):
        return {"type": "array", "items": _of(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(arguments[1])}
    if isinstance(type_, type) and issubclass(type_, Enum):
        return {"enum": [member.value for member in type_]}
    return _object(type_) if attrs.has(type_) else {}


def _object(cls: type[Any]) -> dict[str, Any]:
    attrs.resolve_types(cls)
    fields = attrs.fields(cls)
    return {
        "type": "object",
        "properties": {field.name: _of(field.type) for field in fields},
        "required": [field.name for field in fields if field.default is attrs.NOTHING],
        "additionalProperties": False,
    }


def _with(document: dict[str, Any], **properties: Any) -> dict[str, Any]:
    document["properties"] |= properties
    return document


def _suite() -> dict[str, Any]:
    document = _with(_object(SuiteDocument), schema=_VERSION, id=_SLUG, runtime=_runtime())
    pins = document["properties"]["tasks"]["additionalProperties"]
    trees = {"type": "object", "additionalProperties": _DIGEST}
    _with(
        pins,
        trees=trees,
        fixture=_DIGEST,
        task=_DIGEST,
        hidden={"anyOf": [_DIGEST, {"type": "null"}]},
    )
    return document


def _task() -> dict[str, Any]:
    names = {"type": "array", "items": {"enum": sorted([*OP_NAMES, "binary"])}}
    rule = _closed("path", path=_TEXT, ops=names)
    document = _with(
        _object(TaskDocument),
        schema=_VERSION,
        id=_SLUG,
        category=_SLUG,
        prompt=_TEXT,
        fixture=_TEXT,
        clock={"anyOf": [{"type": "string", "pattern": f"^{INSTANT_PATTERN}$"}, {"type": "null"}]},
        allow={"type": "array", "items": {"anyOf": [_TEXT, rule]}},
        limits=_limits(),
        runtime=_runtime(),
    )
    _with(document["properties"]["graders"]["items"], id=_SLUG, use=_TEXT)
    port = {"type": "integer", "minimum": 1024, "maximum": 65535}
    _with(document["properties"]["services"]["items"], id=_SLUG, port=port)
    _with(document, caches={"type": "array", "items": _SLUG, "uniqueItems": True})
    return document


def _limits() -> dict[str, Any]:
    fixed = _with(_object(LimitsDocument), scale=_NULL, factor=_NULL)
    scaled = _with(_object(LimitsDocument), scale={"const": "gold"}, factor=_FACTOR)
    return {"anyOf": [fixed, {**scaled, "required": ["scale", "factor"]}]}


def _runtime() -> dict[str, Any]:
    patterns = {"requirements": REQUIREMENT_PATTERN, "tools": TOOL_PATTERN}
    lists = {
        name: {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{pattern}$"},
            "uniqueItems": True,
        }
        for name, pattern in patterns.items()
    }
    return _with(_object(RuntimeDocument), **lists)


def _candidate() -> dict[str, Any]:
    stored = _closed("path", "source", path=_TEXT, source=_TEXT)
    files = {"type": "array", "items": {"anyOf": [_TEXT, stored]}}
    return _with(_object(CandidateDocument), schema=_VERSION, id=_SLUG, files=files)


def _claim() -> dict[str, Any]:
    return _closed(
        schema=_VERSION,
        visible=_closed(exit_code={"type": "integer", "minimum": 0, "maximum": 255}),
        completed={"type": "boolean"},
        summary={"type": "string"},
    )


def _closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _verdict() -> dict[str, Any]:
    return _with(
        _object(Verdict),
        status={"enum": [status.value for status in VerdictStatus]},
        reasons={"type": "array", "items": {"enum": [reason.value for reason in Reason]}},
        trust={"enum": [trust.value for trust in Trust]},
    )


def _trial() -> dict[str, Any]:
    """A trial record's keys; what graders and jails add below them may grow."""
    names = [field.name for field in attrs.fields(TrialRecord)]
    properties: dict[str, Any] = {name: {} for name in names}
    properties |= {"verdict": _verdict(), "seq": {"type": "integer", "minimum": 0}}
    return {
        "type": "object",
        "properties": properties,
        "required": ["spec", "verdict", "seq", "prev"],
    }


def _report() -> dict[str, Any]:
    results = {
        "type": "object",
        "properties": {key: {"type": "array"} for key in ("tasks", "skipped", "trials")},
        "required": ["tasks", "skipped", "trials"],
    }
    properties = {
        "schema": {"enum": ["assay-report-1"]},
        "protocol": {"type": "integer", "minimum": 1},
        "suite": {"type": "object"},
        "subject": {"type": "object"},
        "results": results,
        "summary": {"type": "object"},
        "identity": {"type": "object"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    **OUTPUT_SCHEMAS,
    "candidate": _candidate,
    "claim": _claim,
    "report": _report,
    "suite": _suite,
    "task": _task,
    "trial": _trial,
}
