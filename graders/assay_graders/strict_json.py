"""Strict JSON for what graders read: no key twice, no number that JSON does not have."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["load_strictly"]


def load_strictly(data: bytes, what: str, fault: type[ValueError]) -> Any:
    """One JSON document in UTF-8; raises `fault` with a rule that names `what`, no content."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise fault(f"{what} has a key twice in one object")
        return found

    def constant(_: str) -> NoReturn:
        raise fault(f"{what} holds a number that JSON does not have")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)
    except fault:
        raise
    except (ValueError, RecursionError):
        raise fault(f"{what} is not JSON in UTF-8") from None
