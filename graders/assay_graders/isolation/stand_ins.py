"""What the driver knows of each class of the candidate's."""

from __future__ import annotations

from typing import Any

from ..wire.faults import WireFault
from .described import ABSTRACT, CONTENTS, MUTABLE_CONTENTS, SPECIALS, inherited

__all__ = ["StandIn", "keep", "known_stand_in", "read_stand_in", "stand_in_of"]

_MAX_NAME = 500
_DEFINERS = ("own", "base", "object", "none")
_CONTENT_NAMES = ("", *(kind.__name__ for kind in (*CONTENTS, *MUTABLE_CONTENTS)))
_TYPES = {kind.__name__: kind for kind in CONTENTS}
_FUNCTIONS = ("function", "builtin_function_or_method", "method")


class StandIn:
    """One description, checked; `compared_by` and the like say who defines an operation."""

    def __init__(self, fields: list[Any]) -> None:
        self.name, self.module, self.qualified = fields[:3]
        self.is_findable: bool = fields[3]
        self.specials = frozenset(fields[4])
        self.content: str = fields[5]
        self.compared_by, self.hashed_by, self.contains_by = fields[6:9]
        self.shadowed: list[str] = fields[9]
        self.abstract: list[str] = fields[10]
        self.decides_instances: bool = fields[11]
        self.is_function = self.module == "builtins" and self.name in _FUNCTIONS


def read_stand_in(fields: list[Any]) -> StandIn:
    """The description that a worker sent, already decoded; raises WireFault."""
    if len(fields) != 12:
        raise WireFault("a class has another number of properties")
    names, specials = (*fields[:3], fields[5], *fields[6:9]), fields[4]
    if not all(type(name) is str and len(name) <= _MAX_NAME for name in names):
        raise WireFault("a class has a name that is none")
    if type(specials) is not list or not set(specials) <= set(SPECIALS):
        raise WireFault("a class has unknown special methods")
    if fields[5] not in _CONTENT_NAMES or not set(fields[6:9]) <= set(_DEFINERS):
        raise WireFault("a class has unknown properties")
    base = _TYPES.get(fields[5])
    if type(fields[9]) is not list or not all(name in inherited(base) for name in fields[9]):
        raise WireFault("a class replaces methods that its content does not have")
    if type(fields[3]) is not bool or "\0" in "".join(names):
        raise WireFault("a class has unknown properties")
    if type(fields[10]) is not list or not all(name in ABSTRACT for name in fields[10]):
        raise WireFault("a class counts as an unknown abstract one")
    if type(fields[11]) is not bool:
        raise WireFault("a class has unknown properties")
    return StandIn(fields)


_KNOWN: dict[type, StandIn] = {}


def keep(kind: type, stand_in: StandIn) -> None:
    """Remember what a class of the driver's stands for."""
    _KNOWN[kind] = stand_in


def known_stand_in(kind: type) -> StandIn | None:
    """What exactly this class stands for, if it is known already."""
    return _KNOWN.get(kind)


def stand_in_of(kind: type) -> StandIn:
    """What a proxy's class stands for; a test's own subclass counts as its nearest one."""
    return _KNOWN.get(kind) or next(_KNOWN[base] for base in kind.__mro__ if base in _KNOWN)
