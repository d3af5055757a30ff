"""The process that imports the candidate and answers calls; it knows no test.

Whatever it says is the candidate's word: it may be hostile from its first import on. What it
must not do is fail an honest candidate.
"""

from __future__ import annotations

import importlib
import io
import itertools
import json
import operator
import os
import sys
import warnings
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from ..wire.faults import WireFault
from ..wire.frames import FrameStream
from ..wire.stdlib import BUILTIN_TYPES
from ..wire.text import pack, unpack
from ..wire.values import Codec
from .described import MUTABLE_CONTENTS, content_of, describe_class, state_of
from .floor import Floor
from .logs import LogWatch
from .objects import Objects
from .placing import run_on
from .protocol import CONFIG, OK, RAISE, REFUSED, WITH
from .surroundings import Surroundings
from .turns import Turns, awaiting, leave_loops_alone

__all__ = ["main"]

_OUTPUT_BYTES = 1 << 20

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "bool": bool,
    "len": len,
    "iter": iter,
    "next": next,
    "reversed": reversed,
    "str": str,
    "repr": repr,
    "hash": hash,
    "int": int,
    "float": float,
    "complex": complex,
    "bytes": bytes,
    "index": operator.index,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "round": round,
    "trunc": lambda value: value.__trunc__(),
    "floor": lambda value: value.__floor__(),
    "ceil": lambda value: value.__ceil__(),
    "fspath": os.fspath,
    "format": format,
    "dir": dir,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "contains": operator.contains,
    "eq": operator.eq,
    "issubclass": issubclass,
    "isinstance": isinstance,
    "get": getattr,
    "names": lambda value: [name for name in vars(value) if type(name) is str],
    "raw": lambda value, name: vars(value)[name],
    "set": setattr,
    "del": delattr,
    "state": state_of,
    "await": awaiting,
    "aiter": lambda value: type(value).__aiter__(value),
    "anext": lambda value: awaiting(type(value).__anext__(value)),
    "aenter": lambda value: awaiting(type(value).__aenter__(value)),
    "aexit": lambda value, error: awaiting(
        type(value).__aexit__(value, None if error is None else type(error), error, None)
    ),
    "enter": lambda value: type(value).__enter__(value),
    "exit": lambda value, error: type(value).__exit__(
        value, None if error is None else type(error), error, None
    ),
}


_OF_LOOPS = frozenset({"loop", "start", "cancel", "settle", "turn"})


class Worker:
    """Serves one driver until the stream ends."""

    def __init__(self, stream: FrameStream, config: dict[str, Any]) -> None:
        self._stream = stream
        self._codec = Codec(nan=config["nan"])
        modules = frozenset(config["modules"])
        ask = leave_loops_alone(self._ask)
        objects = self._objects = Objects(self._codec, modules, ask)
        self._turns = Turns(objects.tree, objects.exception_payload, ask)
        objects.awaited = self._turns.borrowed
        self._streams: dict[str, io.BytesIO] = {}
        self._warnings: list[Any] = []
        self._logs = LogWatch()
        self._questions = itertools.count(-1, -1)
        self._floor = Floor(stream.send)
        self._surroundings = Surroundings()

    def serve(self) -> None:
        """Answer requests until the driver is gone."""
        for name in ("stdout", "stderr"):
            self._streams[name] = io.BytesIO()
            text = io.TextIOWrapper(self._streams[name], encoding="utf-8", write_through=True)
            setattr(sys, name, text)
        warnings.simplefilter("always")
        warnings.showwarning = self._warned  # type: ignore[assignment]
        while (message := self._next()) is not None:
            self._answer(message)
            self._objects.forget()

    def _next(self) -> Any:
        frame = self._stream.recv()
        message = None if frame is None else unpack(frame)
        if message is not None and message[1] == WITH:
            for addition in message[2]:
                self._objects.add(*addition)
            message = [message[0], *message[3:]]
        return message

    def _answer(self, message: list[Any]) -> None:
        number, word, *parts = message
        self._floor.begin(number)
        try:
            answer = [number, OK, *self._perform(word, parts)]
        except WireFault as fault:
            answer = [number, REFUSED, str(fault)]
        except BaseException as error:
            answer = [number, RAISE, self._objects.exception_payload(error)]
        self._floor.answer(number, pack([*answer, self._noted()]))

    def _perform(self, word: str, parts: list[Any]) -> list[Any]:
        objects = self._objects
        if word == "import":
            importlib.import_module(parts[0])
            return [None, []]
        if word == "forward":
            self._surroundings.change(parts[0], objects.value(parts[1]))
            return [None, []]
        if word == "describe":
            kind = objects.value(parts[0])
            bases = [objects.class_payload(base) for base in kind.__bases__]
            return [[*self._codec.encode(describe_class(kind)), bases], []]
        if word == "content":
            value = objects.value(parts[0])
            return [objects.tree(content_of(value)), []]
        if word == "call":
            return self._call(parts)
        if word in _OF_LOOPS:
            return self._in_loop(word, parts)
        return [objects.tree(_OPERATIONS[word](*map(objects.value, parts))), []]

    def _call(self, parts: list[Any]) -> list[Any]:
        """Call with arguments; the second part says what became of those that can change."""
        value = self._objects.value
        target, args = value(parts[0]), value(parts[1])
        kwargs = value(parts[2]) if parts[2][1] else {}
        changeable = [
            (place, value, self._objects.written(value))
            for place, value in (*enumerate(args), *kwargs.items())
            if type(value) in MUTABLE_CONTENTS
        ]
        result = target(*args, **kwargs)
        answer = self._objects.tree(result)

        def changes() -> list[Any]:
            return [
                [place, self._objects.tree(value)]
                for place, value, before in changeable
                if self._objects.written(value) != before
            ]

        if changeable and type(result) is CoroutineType:
            self._turns.came_of(result, changes)
            return [answer, []]
        return [answer, changes() if changeable else []]

    def _in_loop(self, word: str, parts: list[Any]) -> list[Any]:
        if word == "turn":
            return list(self._turns.turn(*parts))
        act: dict[str, Callable[..., None]] = {
            "loop": self._turns.enter,
            "start": self._turns.start,
            "cancel": self._turns.cancel,
            "settle": self._turns.settle,
        }
        act[word](*map(self._objects.value, parts))
        return [None, []]

    def _ask(self, word: str, token: int, *values: Any) -> Any:
        """Ask the driver something in the middle of a call; it may call again before."""
        number = next(self._questions)
        parts = [token, *map(self._objects.tree, values)]
        self._floor.ask(number, pack([number, word, *parts, self._noted()]))
        while (message := self._next()) is not None:
            if message[0] != number:
                self._answer(message)
                continue
            self._floor.end()
            if message[1] == OK:
                return self._objects.value(message[2])
            raise self._objects.value(message[2])
        os._exit(0)

    def _warned(self, message: Any, category: type, *rest: Any) -> None:
        while BUILTIN_TYPES.get(category.__name__) is not category:
            category = category.__bases__[0]
        self._warnings.append(["warning", category.__name__, str(message)])

    def _noted(self) -> list[Any]:
        """Output, warnings and log records since the last message."""
        changed = self._objects.noted()
        records = self._logs.notes()
        if (
            not self._warnings
            and not records
            and not any(map(io.BytesIO.tell, self._streams.values()))
        ):
            return changed
        noted, self._warnings = self._warnings[:1_000], []
        noted += [["log", *record] for record in records]
        for name, stream in self._streams.items():
            if stream.tell():
                written = stream.getvalue()
                stream.seek(0)
                stream.truncate()
                noted.append([name, written[:_OUTPUT_BYTES].decode("utf-8", "replace")])
        return changed + [[kind, *map(self._codec.encode, rest)] for kind, *rest in noted]


def _packages() -> str:
    """The runtime's installed packages: `-S` leaves them out, and all their start-up hooks."""
    environment = os.path.dirname(os.path.dirname(sys.executable))
    major, minor = sys.version_info[:2]
    return f"{environment}/lib/python{major}.{minor}/site-packages"


def main() -> None:
    """Take the channel, put the candidate's folders last on the path, and serve."""
    config = json.loads(os.environ.pop(CONFIG))
    descriptor = int(os.environ.pop("ASSAY_CHANNEL_WIRE"))
    os.set_inheritable(descriptor, False)
    sys.argv = [""]
    sys.path.extend([_packages(), *config["roots"]])
    run_on(config["processor"])
    Worker(FrameStream(descriptor), config).serve()
    os._exit(0)
