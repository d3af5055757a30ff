"""Open files that a test hands over: their content is sent, and what becomes of it comes back.

The worker works on a copy in memory. Its content, position and end are brought to the file with
the next message; what the test does to the file in between is told with the next request.
"""

from __future__ import annotations

import io
import sys
from typing import Any

from .client import Client
from .protocol import FILE

__all__ = ["LentFiles"]

_TEXT = (io.StringIO, io.TextIOWrapper)
_BINARY = (io.BytesIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)
_IN_MEMORY = (io.StringIO, io.BytesIO)

State = tuple[Any, int, bool]
"""Content, position in characters or bytes, and whether it is closed."""


class LentFiles:
    """The files that were handed over, each with the state that the worker knows."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._files: dict[int, Any] = {}
        self._known: dict[int, State] = {}
        self._places: dict[int, int] = {}

    def is_file(self, value: Any) -> bool:
        """Whether a value is an open file of a kind that can be handed over."""
        file = _inner(value)
        if type(file) not in (*_TEXT, *_BINARY):
            return False
        return bool(file.closed or (file.seekable() if file.readable() else file.writable()))

    def payload(self, value: Any, token: int) -> list[Any]:
        """The reference for a file, with its state."""
        self._client.uses("file-arguments")
        file = _inner(value)
        self._files[token] = file
        content, position, is_closed = self._known[token] = _state(file)
        self._places[token] = _place(file)
        kind = "text" if type(file) in _TEXT else "binary"
        access = [False, False] if is_closed else [file.readable(), file.writable()]
        return [
            *("file", token, kind, self._client.encode(content), position),
            *(is_closed, self._client.encode(access)),
        ]

    def changes(self) -> list[Any]:
        """What tests did to files since the worker was told, as additions to a message."""
        found = []
        for token, before in list(self._known.items()):
            file = self._files[token]
            if type(file) not in _IN_MEMORY and not file.closed:
                if _place(file) == self._places[token]:
                    continue
                self._places[token] = _place(file)
            state = _state(file)
            if state != before:
                self._known[token] = state
                found.append([FILE, token, self._client.encode(state[0]), *state[1:]])
        return found

    def take_over(self, token: Any, content: Any, state: Any) -> None:
        """The candidate read, wrote or closed a file."""
        file = self._files.get(token) if type(token) is int else None
        position, is_closed = state if type(state) is list and len(state) == 2 else (None, None)
        text = self._client.decode(content)
        kind = str if type(file) in _TEXT else bytes
        if file is None or type(position) is not int or type(is_closed) is not bool:
            raise self._client.lose_protocol()
        if text is not None:
            if type(text) is not kind or not file.writable():
                raise self._client.lose_protocol()
            self._client.uses("write-back")
        try:
            _apply(file, text, position)
            if is_closed:
                file.close()
        except (OSError, ValueError):
            raise self._client.lose_protocol() from None
        if token in self._known:
            self._known[token] = _state(file)
            self._places[token] = _place(file)

    def forget(self) -> None:
        """The test is over: what later ones do to its files is told no more."""
        self._known.clear()


def _inner(value: Any) -> Any:
    library: Any = sys.modules.get("tempfile")
    if library is not None and type(value) is library._TemporaryFileWrapper:
        return value.file
    return value


def _place(file: Any) -> int:
    return -1 if file.closed else int(file.tell())


def _state(file: Any) -> State:
    if file.closed:
        return ("" if type(file) in _TEXT else b"", 0, True)
    if type(file) in _IN_MEMORY:
        return file.getvalue(), file.tell(), False
    if not file.readable():
        return ("" if type(file) in _TEXT else b"", 0, False)
    # In a text file a place is no number of characters.
    place = file.tell()
    rest = file.read()
    file.seek(0)
    whole = file.read()
    file.seek(place)
    return whole, len(whole) - len(rest), False


def _apply(file: Any, text: Any, position: int) -> None:
    if not file.readable():
        if text is not None:
            file.write(text)
        return
    if text is not None:
        file.seek(0)
        file.truncate()
        file.write(text)
    if type(file) is io.TextIOWrapper:
        file.seek(0)
        file.read(max(0, position))
    else:
        file.seek(max(0, position))
