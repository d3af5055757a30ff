"""Calls functions that it is told about, and answers with what came of it.

Started as `python -I -B worker.pyc CONFIG` with CONFIG a JSON object: `roots` (absolute
folders to import from) and `nan` (whether NaN may be sent). `CONFIG` may be the word `probe`:
then it only shows that it can start. It is told inputs and no expected values, so that the code
it calls may own this process. `sys.path` grows only after everything is imported that the
program needs, and only at its end.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
from typing import Any

from ..wire.faults import WireFault
from ..wire.frames import FrameStream
from ..wire.values import Codec
from .bounds import MAX_ANSWER_BYTES

__all__ = ["main"]

MESSAGE_CHARACTERS = 4_000
LEAVE = os._exit


class Finder:
    """Finds functions in modules below the roots, and nowhere else."""

    def __init__(self, roots: list[str]) -> None:
        self._roots = tuple(f"{root}/" for root in roots)
        self._checked: set[str] = set()

    def find(self, target: str) -> Any:
        """The object that `module:name.name` names; raises whatever an import can raise."""
        module, _, names = target.partition(":")
        self._check(module.partition(".")[0])
        found: Any = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
        return found

    def _check(self, top: str) -> None:
        """A module of the runtime that has the same name is not what is graded."""
        if top in self._checked:
            return
        for finder in sys.meta_path:
            spec = finder.find_spec(top, None)
            if spec is not None:
                places = [spec.origin, *(spec.submodule_search_locations or ())]
                if not any(f"{place}/".startswith(self._roots) for place in places):
                    raise ImportError(f"{top} is a module of the runtime")
                break
        self._checked.add(top)


def class_name(kind: type) -> str:
    """Built-in classes by identity, so that no other class can take such a name."""
    name: str = type.__dict__["__name__"].__get__(kind)
    if getattr(builtins, name, None) is kind:
        return name
    return f"{kind.__module__}:{kind.__qualname__}"


def text_of(error: BaseException) -> str:
    """What an exception says; it may say anything, and may fail to."""
    try:
        return str.__getitem__(str(error), slice(MESSAGE_CHARACTERS))
    except BaseException:
        return ""


def raised(error: BaseException) -> list[Any]:
    """Classes and text of an exception."""
    return [[class_name(kind) for kind in type(error).__mro__], text_of(error)]


def awaited(value: Any) -> Any:
    """What an awaitable comes to, in an event loop of its own; raises WireFault for others."""
    if not hasattr(type(value), "__await__"):
        raise WireFault("it can't be awaited")
    # Only functions that need an event loop pay for its import.
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def answer(codec: Codec, finder: Finder, question: list[Any]) -> bytes:
    """The frame that answers one question."""
    nonce, target, args, kwargs, after, awaits = question
    try:
        function = finder.find(target)
    except BaseException as error:
        return codec.dumps([nonce, "absent", text_of(error), None])
    try:
        kind, payload = "returned", function(*args, **kwargs)
        if awaits:
            payload = awaited(payload)
    except WireFault as fault:
        return codec.dumps([nonce, "not-plain", str(fault), None])
    except BaseException as error:
        kind, payload = "raised", raised(error)
    try:
        frame = codec.dumps([nonce, kind, payload, [args, kwargs] if after else None])
        if len(frame) > MAX_ANSWER_BYTES:
            raise WireFault(f"it is larger than {MAX_ANSWER_BYTES} bytes")
    except WireFault as fault:
        frame = codec.dumps([nonce, "not-plain", str(fault), None])
    return frame


def serve(config: dict[str, Any], channel: int) -> None:
    """Answer until the other side closes the channel."""
    os.set_inheritable(channel, False)
    sys.path.extend(config["roots"])
    codec, finder = Codec(nan=config["nan"]), Finder(config["roots"])
    stream = FrameStream(channel)
    while True:
        frame = stream.recv()
        if frame is None:
            break
        stream.send(answer(codec, finder, codec.loads(frame)))


def main() -> None:
    """Start the program."""
    config = sys.argv.pop()
    if config == "probe":
        return
    try:
        serve(json.loads(config), int(os.environ.pop("ASSAY_CHANNEL_CALL")))
        sys.stdout.flush()
    finally:
        # Threads and exit handlers of the code that was called have nothing more to say.
        LEAVE(0)
