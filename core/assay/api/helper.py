"""What a helper process does: tasks of one job after another, until its socket ends.

A frame is a length and that many bytes; descriptors come with the first byte of a frame. The
other end is the process that started this one: its frames are ours, and a task is data.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import signal
import socket
import struct
from collections.abc import Sequence
from typing import Any, Protocol

from assay.api.errors import AssayError

__all__ = ["CLOSE", "DONE", "FAILED", "OPEN", "READY", "TASK", "Job", "receive", "send", "serve"]

READY, DONE, FAILED = "ready", "done", "failed"
OPEN, TASK, CLOSE = "open", "task", "close"

_LENGTH = struct.Struct(">Q")
_MOST_DESCRIPTORS = 2


class Job(Protocol):
    """Made in the helper of the descriptors, which it does not close, and an argument."""

    def __call__(self, task: Any) -> Any:
        """Do one task; both are values that `marshal` takes, and None is no answer.

        Raises AssayError.
        """
        ...


def send(peer: socket.socket, value: Any, descriptors: Sequence[int] = ()) -> None:
    """Send one frame; raises OSError when the peer is gone."""
    body = marshal.dumps(value)
    header = _LENGTH.pack(len(body))
    if descriptors:
        socket.send_fds(peer, [header], descriptors)
        peer.sendall(body)
    else:
        peer.sendall(header + body)


def receive(peer: socket.socket) -> tuple[Any, list[int]]:
    """One frame and its descriptors; raises EOFError at the end, OSError."""
    header, descriptors, _, _ = socket.recv_fds(peer, _LENGTH.size, _MOST_DESCRIPTORS)
    header += _exactly(peer, _LENGTH.size - len(header)) if header else b""
    if not header:
        raise EOFError
    return marshal.loads(_exactly(peer, *_LENGTH.unpack(header))), descriptors


def _exactly(peer: socket.socket, size: int) -> bytearray:
    content = bytearray(size)
    view = memoryview(content)
    while view:
        count = peer.recv_into(view)
        if not count:
            raise EOFError
        view = view[count:]
    return content


def serve(descriptor: int) -> None:
    """Work for the peer until it is gone."""
    # The parent decides what an interrupt of the terminal ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")
    gc.disable()
    with socket.socket(fileno=descriptor) as peer, contextlib.suppress(EOFError, OSError):
        send(peer, (READY, None))
        while True:
            (kind, value), descriptors = receive(peer)
            if kind == OPEN:
                _session(peer, value, descriptors)


def _session(peer: socket.socket, opening: tuple[str, Any], descriptors: list[int]) -> None:
    name, argument = opening
    module, _, attribute = name.partition(":")
    try:
        job: Job = getattr(importlib.import_module(module), attribute)(descriptors, argument)
        while (frame := receive(peer)[0])[0] == TASK:
            send(peer, _answer(job, frame[1]))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        gc.collect()


def _answer(job: Job, task: Any) -> tuple[str, Any]:
    try:
        return DONE, job(task)
    except AssayError as error:
        return FAILED, (type(error).__name__, str(error))
