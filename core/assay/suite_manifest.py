"""suite.json: what holds for all tasks of a suite, and the digests that pin them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from assay.api.paths import is_slug
from assay.api.tasks import SuiteHeader, TaskChange, TaskPins
from assay.api.trees import TreeRef
from assay.api.trust import Trust
from assay.manifests import MAX_MANIFEST_BYTES, check_version
from assay.policies import check_runtime, digest_text, slug_text
from assay.strict_json import load
from assay.structuring import FieldError, checked, structure

__all__ = ["SuiteDocument", "check_why", "parse_suite"]

MAX_WHY = 500


@frozen
class _Categories:
    version: int
    ids: tuple[str, ...]


@frozen
class _Pins:
    fixture: str
    task: str
    hidden: str | None = None
    contract: str = "assay-tree-v1"
    trees: Mapping[str, str] = field(factory=dict)
    version: int = 1


@frozen
class _PluginPin:
    version: str
    digest: str


@frozen
class _Change:
    task: str
    version: int
    before: str
    after: str | None
    intent: str
    grading: str
    comparable: bool


@frozen
class SuiteDocument:
    """suite.json as it stands: its keys, their types and their defaults."""

    schema: int
    id: str
    categories: _Categories | None = None
    require_trust: Trust = Trust.UNGUARDED
    runtime: Mapping[str, Any] = field(factory=dict)
    plugins: Mapping[str, _PluginPin] = field(factory=dict)
    tasks: Mapping[str, _Pins] = field(factory=dict)
    changes: tuple[_Change, ...] = ()


def parse_suite(data: bytes, file: str = "suite.json") -> SuiteHeader:
    """The header of a suite; raises ManifestError."""
    value = load(data, file, max_bytes=MAX_MANIFEST_BYTES)
    check_version(value, file)
    document = structure(SuiteDocument, value, file)
    try:
        return _suite(document)
    except FieldError as error:
        raise error.of(file) from None


def _suite(document: SuiteDocument) -> SuiteHeader:
    categories = document.categories
    pins = document.tasks
    return SuiteHeader(
        id=checked("id", slug_text, document.id),
        categories=checked("categories", _category_ids, categories) if categories else (),
        categories_version=categories.version if categories else 0,
        require_trust=document.require_trust,
        runtime=checked("runtime", check_runtime, document.runtime),
        plugins=checked("plugins", _plugin_pins, document.plugins),
        tasks={task: checked("tasks", _task_pins, task, pins[task]) for task in sorted(pins)},
        changes=checked("changes", _changes, document.changes),
    )


def _category_ids(categories: _Categories) -> tuple[str, ...]:
    if categories.version < 1:
        raise FieldError("must be at least 1", ("version",))
    if not categories.ids:
        raise FieldError("must name at least one category", ("ids",))
    for index, category in enumerate(categories.ids):
        checked("ids", checked, index, slug_text, category)
    if len(set(categories.ids)) != len(categories.ids):
        raise FieldError("must not repeat a category", ("ids",))
    return categories.ids


def _task_pins(task: str, pins: _Pins) -> TaskPins:
    if not is_slug(task):
        raise FieldError("names a task with an illegal id")
    return checked(task, _pin_digests, pins)


def _pin_digests(pins: _Pins) -> TaskPins:
    hidden = pins.hidden
    return TaskPins(
        fixture=TreeRef(pins.contract, checked("fixture", digest_text, pins.fixture)),
        hidden=None
        if hidden is None
        else TreeRef(pins.contract, checked("hidden", digest_text, hidden)),
        task=checked("task", digest_text, pins.task),
        version=checked("version", _version, pins.version),
        trees={
            name: checked("trees", checked, name, digest_text, digest)
            for name, digest in sorted(pins.trees.items())
        },
    )


def _changes(changes: tuple[_Change, ...]) -> tuple[TaskChange, ...]:
    return tuple(checked(index, _change, change) for index, change in enumerate(changes))


def _change(change: _Change) -> TaskChange:
    after = change.after
    return TaskChange(
        task=checked("task", slug_text, change.task),
        version=checked("version", _version, change.version),
        before=checked("before", digest_text, change.before),
        after=None if after is None else checked("after", digest_text, after),
        intent=checked("intent", check_why, change.intent),
        grading=checked("grading", check_why, change.grading),
        comparable=change.comparable,
    )


def check_why(text: str) -> str:
    """One line that says something; raises FieldError."""
    if not text.strip() or len(text) > MAX_WHY or not text.isprintable():
        raise FieldError(f"must be one line of 1 to {MAX_WHY} characters")
    return text


def _version(version: int) -> int:
    if version < 1:
        raise FieldError("must be at least 1")
    return version


def _plugin_pins(pins: Mapping[str, _PluginPin]) -> Mapping[str, Any]:
    return {
        name: {
            "version": pin.version,
            "digest": checked(name, checked, "digest", digest_text, pin.digest),
        }
        for name, pin in sorted(pins.items())
    }
