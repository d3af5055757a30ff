"""The rules of a manifest's parts: path patterns, budgets, environment, digests.

Each function returns the checked part or raises FieldError with the rule it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from assay.api.errors import InvalidInput
from assay.api.paths import UnsafePath, is_ignored, is_slug, relpath
from assay.api.runtimes import requirements, tool_names
from assay.api.tasks import AllowRule
from assay.api.trees import Digest, Op, RelPath
from assay.instants import is_instant
from assay.structuring import FieldError, checked, structure_value

__all__ = [
    "OP_NAMES",
    "RuntimeDocument",
    "allow_rules",
    "check_budgets",
    "check_clock",
    "check_env",
    "check_runtime",
    "digest_text",
    "import_roots",
    "protect_patterns",
    "safe_path",
    "slug_text",
    "task_folder",
]

OP_NAMES: Mapping[str, Op] = {
    "modify": Op.MODIFIED,
    "added": Op.ADDED,
    "deleted": Op.DELETED,
    "mode": Op.MODE,
    "kind": Op.KIND,
}
"""Names of operations in `allow[].ops`; `binary` stands beside them."""

_BINARY = "binary"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FIXED_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "SOURCE_DATE_EPOCH"),
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)
_RESERVED_PREFIXES = ("LD_", "ASSAY_", "PYTHON", "XDG_", "FAKETIME")
"""What decides where code, settings and the time come from."""
_MAX_VALUE = 4096
_MAX_BUDGET = 10**12


@frozen
class _Rule:
    path: str
    ops: frozenset[str] = frozenset({"modify"})


@frozen
class RuntimeDocument:
    """A declared runtime as it stands in a manifest."""

    python: str = "default"
    node: int = 0
    requirements: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    faketime: bool = False


def slug_text(text: str) -> str:
    """A legal id."""
    if not is_slug(text):
        raise FieldError("must be 1 to 64 lower-case letters, digits or inner hyphens")
    return text


def digest_text(text: str) -> Digest:
    """A digest as assay writes it."""
    if _DIGEST.fullmatch(text) is None:
        raise FieldError("must be sha256: and 64 lower-case hexadecimal digits")
    return Digest(text)


def safe_path(text: str) -> RelPath:
    """A relative path by the rules of `assay.api.relpath`."""
    try:
        return relpath(text)
    except UnsafePath as error:
        raise FieldError(error.rule) from None


def task_folder(text: str) -> RelPath:
    """A folder of the task that is not one of the framework's own."""
    path = safe_path(text)
    if path == "candidates" or path.startswith("candidates/"):
        raise FieldError("must not lie in the candidates folder")
    return path


def allow_rules(entries: tuple[Any, ...]) -> tuple[AllowRule, ...]:
    """Rules from patterns or `{path, ops}` objects, in the order given."""
    return tuple(checked(index, _rule, entry) for index, entry in enumerate(entries))


def _rule(entry: Any) -> AllowRule:
    if isinstance(entry, str):
        return AllowRule(_pattern(entry))
    if not isinstance(entry, dict):
        raise FieldError("must be a path or an object with path and ops")
    rule = structure_value(_Rule, entry)
    path = checked("path", _pattern, rule.path)
    return checked("ops", _with_ops, path, rule.ops)


def _with_ops(path: str, names: frozenset[str]) -> AllowRule:
    known = {*OP_NAMES, _BINARY}
    if not names <= known:
        raise FieldError("must hold only " + ", ".join(sorted(known)))
    ops = frozenset(OP_NAMES[name] for name in names if name != _BINARY)
    if not ops:
        raise FieldError("must grant at least one operation")
    return AllowRule(path, ops, binary=_BINARY in names)


def protect_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns of paths that nothing may change, in the order given."""
    return tuple(checked(index, _pattern, text) for index, text in enumerate(patterns))


def import_roots(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Folders of the fixture that tests import from, `.` for itself, each once."""
    for index, root in enumerate(roots):
        if root in roots[:index]:
            raise FieldError("is there twice", (index,))
        if root != ".":
            checked(index, safe_path, root)
    return roots


def _pattern(text: str) -> str:
    path = safe_path(text)
    if any("**" in part and part != "**" for part in path.split("/")):
        raise FieldError("must use ** only as a whole component")
    if is_ignored(path):
        raise FieldError("must not name a path that the tree contract ignores")
    return path


def check_budgets(budgets: Mapping[str, int]) -> Mapping[str, int]:
    """Named counts that an agent may use up."""
    for name, value in budgets.items():
        if _VARIABLE.fullmatch(name) is None:
            raise FieldError("is not a legal name of a budget", (name,))
        if not 0 < value <= _MAX_BUDGET:
            raise FieldError(f"must be more than 0 and at most {_MAX_BUDGET}", (name,))
    return dict(sorted(budgets.items()))


def check_env(env: Mapping[str, str]) -> Mapping[str, str]:
    """Variables besides the fixed environment of a jail."""
    for name, value in env.items():
        if _VARIABLE.fullmatch(name) is None:
            raise FieldError("is not a legal name of a variable", (name,))
        if name in _FIXED_VARIABLES or name.startswith(_RESERVED_PREFIXES):
            raise FieldError("is set by the framework itself", (name,))
        if len(value.encode()) > _MAX_VALUE or not (value.isprintable() or not value):
            raise FieldError(f"must be one line of at most {_MAX_VALUE} bytes", (name,))
    return dict(sorted(env.items()))


def check_clock(clock: str | None) -> str | None:
    """The instant that jailed code is told, or None for the host's."""
    if clock is not None and not is_instant(clock):
        raise FieldError("must be a time from 1970 on, in UTC, as 2026-01-31T09:30:00Z")
    return clock


def check_runtime(runtime: Mapping[str, Any]) -> Mapping[str, Any]:
    """A declared runtime: only the keys that were given; a sandbox judges what it can give."""
    document = structure_value(RuntimeDocument, dict(runtime))
    checked("requirements", _by_rule, requirements, document.requirements)
    checked("tools", _by_rule, tool_names, document.tools)
    return dict(sorted(runtime.items()))


def _by_rule(check: Callable[[tuple[str, ...]], object], texts: tuple[str, ...]) -> None:
    try:
        check(texts)
    except InvalidInput as error:
        raise FieldError(str(error)) from None
