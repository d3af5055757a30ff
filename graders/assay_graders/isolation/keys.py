"""Keys of the task's adapters: how to get a plain value out of an object of the candidate's.

A key is a chain of attributes and calls with literal arguments, such as `items(multi=True)`.
It is data: the host checks it, the driver follows it, and nothing of it is ever run as code.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["Step", "parse_key"]

_MAX_CHARACTERS = 500

Step = tuple[str, tuple[list[Any], dict[str, Any]] | None]
"""A name, and the arguments of a call if there is one."""


def parse_key(text: str) -> tuple[Step, ...]:
    """The steps of a key; raises ValueError with the rule that it breaks."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueError(f"a key has more than {_MAX_CHARACTERS} characters")
    try:
        node: Any = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("a key is not an expression") from None
    steps: list[Step] = []
    while True:
        arguments = None
        if isinstance(node, ast.Call):
            arguments = _arguments(node)
            node = node.func
        if isinstance(node, ast.Name):
            steps.append((_public(node.id), arguments))
            return tuple(reversed(steps))
        if not isinstance(node, ast.Attribute):
            raise ValueError("a key is not a chain of names and calls")
        steps.append((_public(node.attr), arguments))
        node = node.value


def _public(name: str) -> str:
    if name.startswith("_"):
        raise ValueError("a key has a name that starts with an underscore")
    return name


def _arguments(call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    try:
        args = [ast.literal_eval(argument) for argument in call.args]
        kwargs = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError("a key has an argument that is no literal") from None
    if len(kwargs) != len(call.keywords):
        raise ValueError("a key has an argument that is no literal")
    return args, kwargs
