"""Another process that supervises jails, for tests that end it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.api import JailSpec
from assay_sandbox.cgroup_tree import remove_leftovers
from assay_sandbox.memory import memory_layer
from assay_sandbox.notes import end_leftovers

PROGRAM = """
import os, pickle, signal, sys, time
from support.jail import python
from support.processes import children
from assay_sandbox.sandbox import NsjailSandbox
# A suite that was started in the background has this ignored, and children inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
spec, sources = pickle.load(sys.stdin.buffer)
box, jails, known = NsjailSandbox(), [], set()
for source in sources:
    jails.append(box.open(spec))
    process = jails[-1].start(python(source), ("up",))
    assert process.channels["up"].recv(10, time.monotonic() + 30) == b"up"
    (nsjail,) = set(children(os.getpid())) - known
    known.add(nsjail)
    print(nsjail, flush=True)
time.sleep(600)
"""


@contextmanager
def supervisor(
    spec: JailSpec, sources: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process with one busy jail for each source, and the numbers of their nsjails."""
    places = [str(Path(__file__).parents[1]), *sys.path]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps((spec, sources)))
            process.stdin.close()
            yield process, [int(process.stdout.readline()) for _ in sources]
        finally:
            process.kill()


def next_start() -> None:
    """What another process does before its first jail."""
    end_leftovers()
    place = memory_layer().place
    if place is not None:
        remove_leftovers(place)
