"""A driver's parts in this process and a real worker in another one, without jails between."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from assay_graders.isolation.assembly import assembled
from assay_graders.isolation.client import Client
from assay_graders.isolation.exchange import Exchange
from assay_graders.isolation.modules import CandidateFinder
from assay_graders.isolation.protocol import ANSWER, ENVELOPE, RESTART
from assay_graders.wire.frames import FrameStream
from assay_graders.wire.values import Codec

_WORKER = (
    "import sys, json\n"
    "from assay_graders.isolation.worker import Worker\n"
    "from assay_graders.wire.frames import FrameStream\n"
    "sys.path.append(sys.argv[2])\n"
    "Worker(FrameStream(int(sys.argv[1])), json.loads(sys.argv[3])).serve()\n"
)


class _Direct:
    """Does as a host does: hands on what is in an envelope, restarts on request."""

    def __init__(self, folder: Path, module: str) -> None:
        self._folder, self._module = folder, module
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._is_restarted = False
        self._start()

    def send(self, envelope: bytes) -> None:
        if envelope == RESTART:
            self.close()
            self._start()
            self._is_restarted = True
        else:
            self._stream.send(envelope[ENVELOPE:])

    def recv(self) -> bytes:
        if self._is_restarted:
            self._is_restarted = False
            return ANSWER
        frame = self._stream.recv()
        return b"Xdied" if frame is None else ANSWER + frame

    def close(self) -> None:
        assert self._socket is not None
        assert self._process is not None
        self._socket.close()
        self._process.wait()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        config = json.dumps({"nan": False, "modules": [self._module]})
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(theirs.fileno()), str(self._folder), config],
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        self._stream = FrameStream(self._socket.fileno())


@contextmanager
def pair(
    folder: Path, source: str, module: str = "cand", **config: Any
) -> Iterator[tuple[ModuleType, Exchange]]:
    """A candidate's module as tests see it, and the exchange behind it.

    What `folder` holds counts as the tests' own, with this file's folder.
    """
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    direct: Any = _Direct(folder, module)
    client = Client(direct, Codec(), 10_000_000)
    options = {"base": str(Path(__file__).parents[1]), "forward": [], "adapters": {}, **config}
    exchange = assembled(client, options, {module: False})
    finder: Any = CandidateFinder(exchange, {module: False}, {})
    client.begin()
    made = finder.create_module(finder.find_spec(module))
    spec = finder.find_spec(module)
    made.__spec__ = spec
    sys.modules[module] = made
    sys.meta_path.insert(0, finder)
    try:
        finder.exec_module(made)
        yield made, exchange
    finally:
        sys.meta_path.remove(finder)
        del sys.modules[module]
        direct.close()
