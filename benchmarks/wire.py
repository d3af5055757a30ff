"""What isolated grading costs on this host, in real jails.

    python benchmarks/wire.py

Prints calls per second of one driver and worker, the processor time of one call on both sides and
between them, what mode `isolated` adds to one grading and to one test, and how long a worker takes
to answer for the first time; beside each, its peer in the same run. Each figure is the best of
several rounds, since other load can only make it worse.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from attrs import asdict, frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS, grade
from support.jail import PYTHON, runtime, sandbox

from assay.api import Command, Facts, GraderRole, JailSpec, Limits, Profile
from assay_graders.bundle import program_bundle
from assay_graders.isolation.protocol import CONFIG, WIRE
from assay_graders.wire.text import pack

ROUNDS = 3
CALLS = 10_000
TESTS = 200
SOURCE = "def add(a, b):\n    return a + b\n"
LIMITS = Limits(wall=120.0, cpu=120)


def graded(tests: str, expect: tuple[str, ...], mode: str) -> Facts:
    options = GRADERS["pytest"].Options(
        tests=("test_h.py",),
        expect=tuple(f"test_h.py::{test}" for test in expect),
        hidden=True,
        roots=("src",),
        mode=mode,
    )
    facts = grade(
        GRADERS["pytest"],
        options,
        {"src/calc.py": SOURCE},
        hidden={"test_h.py": tests},
        role=GraderRole.HIDDEN,
        limits=LIMITS,
    )
    assert facts.passed, facts
    return facts


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def processor_seconds() -> float:
    """Of this process, its threads, and all jails that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def used(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Processor seconds of the cheapest round, jails included."""
    seconds = []
    for _ in range(rounds):
        began = processor_seconds()
        work()
        seconds.append(processor_seconds() - began)
    return min(seconds)


def looping(calls: int) -> str:
    return f"from calc import add\ndef test_a():\n    for n in range({calls}): add(n, 1)\n"


def many() -> tuple[str, tuple[str, ...]]:
    names = tuple(f"test_{number}" for number in range(TESTS))
    body = "".join(f"def {name}(): assert add(1, 2) == 3\n" for name in names)
    return f"from calc import add\n{body}", names


def ready(*argv: bytes) -> float:
    """Seconds from the start of a program in an open worker's jail to its first answer."""
    config = '{"roots": [], "modules": [], "nan": false, "processor": null}'
    command = Command(argv=(PYTHON, *argv), cwd="/", env={CONFIG: config})
    spec = JailSpec(Profile.WORKER, runtime(), (program_bundle("worker"),), LIMITS)
    with sandbox().open(spec) as session:

        def answered() -> None:
            process = session.start(command, channels=(WIRE,))
            process.channels[WIRE].send(pack([1, "import", "sys"]))
            assert process.channels[WIRE].recv(1024, time.monotonic() + 60) is not None
            process.kill()
            process.wait()

        return best(answered, rounds=10)


_WORKER = (b"-I", b"-S", b"-B", b"-X", b"pycache_prefix=/runtime/pyc", b"/assay/worker.pyc")
_BARE = (
    *(b"-I", b"-S", b"-B", b"-c"),
    b"import os; f = int(os.environ['ASSAY_CHANNEL_WIRE']); os.write(f, os.read(f, 99))",
)
"""The interpreter alone: it gives a frame back as it is."""


def exchanges() -> float:
    """Frames of 60 bytes per second that two processes send each other and nothing else."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            ours.close()
            while theirs.send(theirs.recv(64) or os._exit(0)):
                pass

        def exchange() -> None:
            for _ in range(CALLS):
                ours.send(bytes(60))
                ours.recv(64)

        seconds = best(exchange)
        theirs.close()
        ours.close()
        os.waitpid(child, 0)
    return CALLS / seconds


@frozen
class Speed:
    """What was measured; times in milliseconds unless the name says otherwise.

    Those of one more test of one call are processor time: both sides take turns, so an idle host
    needs no longer.
    """

    calls_per_second: float
    exchanges_per_second: float
    call_processor_us: float
    grading_isolated: float
    grading_unguarded: float
    test_isolated: float
    test_unguarded: float
    worker_ready: float
    interpreter_ready: float


def measured() -> Speed:
    """Measure everything; takes about half a minute on a quiet host."""
    graded(looping(0), ("test_a",), "isolated")
    empty = best(lambda: graded(looping(0), ("test_a",), "isolated"))
    full = best(lambda: graded(looping(CALLS), ("test_a",), "isolated"))
    idle = used(lambda: graded(looping(0), ("test_a",), "isolated"))
    busy = used(lambda: graded(looping(CALLS), ("test_a",), "isolated"))
    plain = best(lambda: graded(looping(0), ("test_a",), "unguarded"))
    tests, names = many()
    alone = used(lambda: graded(looping(0), ("test_a",), "unguarded"))
    isolated = used(lambda: graded(tests, names, "isolated")) - idle
    unguarded = used(lambda: graded(tests, names, "unguarded")) - alone
    return Speed(
        calls_per_second=CALLS / (full - empty),
        exchanges_per_second=exchanges(),
        call_processor_us=(busy - idle) / CALLS * 1e6,
        grading_isolated=empty * 1000,
        grading_unguarded=plain * 1000,
        test_isolated=isolated / (TESTS - 1) * 1000,
        test_unguarded=unguarded / (TESTS - 1) * 1000,
        worker_ready=ready(*_WORKER) * 1000,
        interpreter_ready=ready(*_BARE) * 1000,
    )


def main() -> None:
    """Print what was measured."""
    for name, value in asdict(measured()).items():
        print(f"{name:24} {value:12,.3f}")


if __name__ == "__main__":
    main()
