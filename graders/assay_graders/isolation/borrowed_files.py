"""Copies of the tests' files in the worker: what becomes of them is noted for the driver."""

from __future__ import annotations

import io
import weakref
from typing import Any

__all__ = ["BorrowedFiles", "is_borrowed_file"]


class _File:
    """What both kinds of file have; their content is that of a file in memory."""

    _assay_token: int
    _assay_access: list[bool]
    _assay_last: Any

    def readable(self) -> bool:
        return self._assay_access[0]

    def writable(self) -> bool:
        return self._assay_access[1]

    def read(self, *size: Any) -> Any:
        self._require(self.readable())
        return super().read(*size)  # type: ignore[misc]

    def readline(self, *size: Any) -> Any:
        self._require(self.readable())
        return super().readline(*size)  # type: ignore[misc]

    def write(self, content: Any) -> Any:
        self._require(self.writable())
        return super().write(content)  # type: ignore[misc]

    def truncate(self, *size: Any) -> Any:
        self._require(self.writable())
        return super().truncate(*size)  # type: ignore[misc]

    def close(self) -> None:
        memory: Any = super()
        if not self.closed:  # type: ignore[attr-defined]
            self._assay_last = memory.getvalue(), 0, True
        memory.close()

    def _require(self, is_allowed: bool) -> None:
        if not is_allowed:
            raise io.UnsupportedOperation("the file was not opened for this")


class _Text(_File, io.StringIO):
    pass


class _Binary(_File, io.BytesIO):
    def readinto(self, buffer: Any) -> int:
        self._require(self.readable())
        return super().readinto(buffer)


def is_borrowed_file(value: Any) -> bool:
    """Whether a value is one of these copies."""
    return type(value) is _Text or type(value) is _Binary


class BorrowedFiles:
    """All copies that are alive, each with the state that the driver knows."""

    def __init__(self) -> None:
        self._files: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._known: dict[int, Any] = {}
        self._in_use: dict[int, Any] = {}

    def file(self, token: int, kind: str, content: Any, state: list[Any]) -> Any:
        """The copy of a file; `state` is position, end, and access."""
        position, is_closed, access = state
        made = self._files.get(token)
        if made is None:
            made = _Text(newline="") if kind == "text" else _Binary()
            made._assay_token, made._assay_access = token, access
            self._files[token] = made
            weakref.finalize(made, self._known.pop, token, None)
        # Until what was done to it is told, though the candidate drops it.
        self._in_use[token] = made
        self.update(token, content, position, is_closed)
        return made

    def update(self, token: int, content: Any, position: int, is_closed: bool) -> None:
        """What the tests did to the file."""
        made = self._files.get(token)
        if made is None or made.closed:
            return
        memory: Any = super(_File, made)
        memory.seek(0)
        memory.truncate()
        memory.write(content)
        memory.seek(position)
        if is_closed:
            made.close()
        self._known[token] = _state(made)

    def forget(self) -> None:
        """The call is over, and its answer sent."""
        self._in_use.clear()

    def changed(self) -> list[tuple[int, Any, list[Any]]]:
        """Token, content if that has changed, and position and end."""
        found: list[tuple[int, Any, list[Any]]] = []
        if not self._known:
            return found
        for token, made in list(self._files.items()):
            before, state = self._known.get(token), _state(made)
            if state == before:
                continue
            content, position, is_closed = state
            is_same = before is not None and before[0] == content
            found.append((token, None if is_same else content, [position, is_closed]))
            if not made.closed and not made.readable():
                # What was written is the driver's now.
                memory: Any = super(_File, made)
                memory.seek(0)
                memory.truncate()
                state = _state(made)
            self._known[token] = state
        return found


def _state(made: Any) -> Any:
    if made.closed:
        return made._assay_last
    memory: Any = super(_File, made)
    return memory.getvalue(), memory.tell(), False
