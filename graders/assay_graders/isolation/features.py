"""What a test may use of isolated grading, each by its name, and the level that it costs."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["DEFAULT_LEVEL", "HIGHEST_LEVEL", "LEVELS", "level_of"]

LEVELS: dict[str, int] = {
    "modules": 0,
    "functions": 0,
    "errors": 1,
    "iteration": 1,
    "attributes": 2,
    "classes": 2,
    "special-methods": 2,
    "equality": 2,
    "containment": 2,
    "own-errors": 2,
    "adapters": 2,
    "awaiting": 2,
    "output": 2,
    "warnings": 2,
    "logs": 2,
    "callbacks": 3,
    "iterator-arguments": 3,
    "error-arguments": 3,
    "file-arguments": 3,
    "opaque-arguments": 3,
    "coroutine-arguments": 3,
    "forwarding": 3,
    "write-back": 4,
    "test-objects": 4,
    "test-classes": 4,
    "attribute-set": 5,
    "self-compared": 6,
}
"""Level by feature. A level is what is re-opened at most, so a test has its features' highest."""

HIGHEST_LEVEL = 6
DEFAULT_LEVEL = 4
"""How far tests may go where a task does not say more."""


def level_of(features: Iterable[str]) -> int:
    """The level of a test that used these."""
    return max((LEVELS[feature] for feature in features), default=0)
