"""Boundary gate: which of a candidate's changes the task allows.

A change is inside the boundary when `allow` grants all that it does and no `protect`
pattern matches it. Protection wins. The gate reads only the measured ChangeSet and the
paths that were refused before, never a patch's text or a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from attrs import field, frozen

from assay.api.changes import ancestors
from assay.api.errors import InvalidInput
from assay.api.paths import is_ignored, printable
from assay.api.reasons import Reason
from assay.api.records import BoundaryFacts
from assay.api.tasks import AllowRule, Task
from assay.api.trees import (
    Change,
    ChangeSet,
    Edits,
    EntryKind,
    Op,
    RefusedKind,
    RelPath,
    Violation,
)

__all__ = ["PathPattern", "judge", "permitted_edits"]

_Item = TypeVar("_Item")
_UNSAFE_KINDS = frozenset({RefusedKind.UNSAFE_NAME, RefusedKind.COLLISION})


@frozen
class PathPattern:
    """A path pattern, anchored at the root and case-sensitive.

    `*` stands for any characters and `?` for one character of a component; the component
    `**` stands for any number of components, none included. Nothing else is special.
    Raises InvalidInput for an empty component or `**` inside a longer one.
    """

    text: str
    _parts: tuple[str, ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        parts = tuple(self.text.split("/"))
        if not all(parts) or any("**" in part and part != "**" for part in parts):
            raise InvalidInput("path pattern has an empty component or ** inside a component")
        object.__setattr__(self, "_parts", parts)

    def matches(self, path: RelPath) -> bool:
        """Whether the whole path matches."""
        return _matches(self._parts, path.split("/"), "**", _component_matches)


def _component_matches(pattern: str, component: str) -> bool:
    return _matches(pattern, component, "*", lambda char, other: char in ("?", other))


def _matches(
    pattern: Sequence[_Item],
    items: Sequence[_Item],
    star: _Item,
    one: Callable[[_Item, _Item], bool],
) -> bool:
    """Wildcard match in product time: on a mismatch only the last star takes one more item."""
    at = index = 0
    retry: tuple[int, int] | None = None
    while index < len(items):
        if at < len(pattern) and pattern[at] == star:
            at += 1
            retry = at, index
        elif at < len(pattern) and one(pattern[at], items[index]):
            at, index = at + 1, index + 1
        elif retry is not None:
            at, index = retry[0], retry[1] + 1
            retry = at, index
        else:
            return False
    return all(part == star for part in pattern[at:])


@frozen
class _Policy:
    """A task's patterns, compiled."""

    allow: tuple[tuple[PathPattern, AllowRule], ...]
    protect: tuple[PathPattern, ...]

    @classmethod
    def of(cls, task: Task) -> _Policy:
        return cls(
            tuple((PathPattern(rule.path), rule) for rule in task.allow),
            tuple(PathPattern(text) for text in task.protect),
        )

    def reason(self, change: Change) -> Reason | None:
        """Why the change is forbidden, or None."""
        if any(pattern.matches(change.path) for pattern in self.protect):
            return Reason.PROTECTED_PATH_CHANGED
        if is_ignored(change.path):
            return Reason.IGNORED_PATH_CHANGED
        return None if self._grants(change) else Reason.PATH_NOT_ALLOWED

    def _grants(self, change: Change) -> bool:
        rules = [rule for pattern, rule in self.allow if pattern.matches(change.path)]
        granted = frozenset().union(*(rule.ops for rule in rules))
        return _needed(change) <= granted and (
            not change.binary or any(rule.binary for rule in rules)
        )


def _needed(change: Change) -> frozenset[Op]:
    before, after = change.before, change.after
    changes_bit = (
        change.op is Op.MODIFIED
        and before is not None
        and after is not None
        and before.executable != after.executable
    )
    return frozenset({change.op, Op.MODE}) if changes_bit else frozenset({change.op})


def judge(task: Task, change_set: ChangeSet, edits: Edits) -> BoundaryFacts:
    """The boundary's facts about a change set and the edits that asked for it.

    Directories that come or go with the files in them are no changes; an empty one needs a
    grant like a file. What an agent left at ignored paths was dropped, not changed. A change
    of mode alone makes the candidate non-empty only where it is permitted; a part refused
    before it could become a change makes it non-empty too.
    """
    policy = _Policy.of(task)
    reasons = {change.path: policy.reason(change) for change in change_set.changes}
    permitted = _permitted(change_set.changes, reasons)
    violations = {Violation(printable(path), reason) for path, reason in reasons.items() if reason}
    violations.update(edits.violations)
    violations.update(Violation(found.path, _refusal(found.kind)) for found in change_set.refused)
    return BoundaryFacts(
        violations=tuple(sorted(violations, key=_violation_key)),
        permitted=tuple(sorted(permitted, key=str.encode)),
        non_empty=bool(edits.violations or change_set.refused)
        or any(_is_content(change, change.path in permitted) for change in change_set.changes),
    )


def permitted_edits(edits: Edits, facts: BoundaryFacts) -> Edits:
    """The part of the edits that the boundary permits: all that is ever written."""
    permitted = frozenset(facts.permitted)
    return Edits(
        {path: write for path, write in edits.writes.items() if path in permitted},
        tuple(path for path in edits.deletes if path in permitted),
    )


def _refusal(kind: RefusedKind) -> Reason:
    return Reason.UNSAFE_PATH if kind in _UNSAFE_KINDS else Reason.FORBIDDEN_FILE_KIND


def _permitted(
    changes: Sequence[Change], reasons: Mapping[RelPath, Reason | None]
) -> frozenset[RelPath]:
    """Allowed changes that still make sense when the others are left out.

    What lies in a directory that was a file needs that change, and that change needs one of
    them; a directory becomes a file only when all that it held may go.
    """
    permitted = {path for path, reason in reasons.items() if reason is None}
    to_folder = {change.path for change in changes if _becomes(change, EntryKind.DIR)}
    to_file = {change.path for change in changes if _becomes(change, EntryKind.FILE)}
    for change in changes:
        above = set(ancestors(change.path))
        if above & to_folder - permitted:
            permitted.discard(change.path)
        if change.path not in permitted:
            permitted -= above & to_file
    needed = {above for path in permitted for above in ancestors(path)}
    return frozenset(permitted - (to_folder - needed))


def _becomes(change: Change, kind: EntryKind) -> bool:
    return change.op is Op.KIND and change.after is not None and change.after.kind is kind


def _is_content(change: Change, permitted: bool) -> bool:
    kinds = {entry.kind for entry in (change.before, change.after) if entry is not None}
    if EntryKind.FILE not in kinds:
        return False
    return change.op is not Op.MODE or permitted


def _violation_key(violation: Violation) -> tuple[bytes, str]:
    return violation.path.encode(), violation.reason.value
