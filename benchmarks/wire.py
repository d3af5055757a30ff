"""What isolated grading costs on this host, in real jails.

    python benchmarks/wire.py

Prints calls per second of one driver and worker, the processor time of one call on both sides and
between them, the seconds that mode `isolated` adds to one
grading and to one test, and how long a worker takes to answer for the first time. Each figure is
the best of several rounds, since other load can only make it worse.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS, grade
from support.jail import PYTHON, runtime, sandbox

from assay.api import Command, Facts, GraderRole, JailSpec, Limits, Profile
from assay_graders.bundle import program_bundle
from assay_graders.isolation.protocol import CONFIG, WIRE
from assay_graders.wire.text import pack, unpack

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


def worker_ready() -> float:
    """Seconds from the start of a worker in an open jail to its first answer."""
    command = Command(
        argv=(PYTHON, *b"-I -S -B -X pycache_prefix=/runtime/pyc /assay/worker.pyc".split()),
        cwd="/",
        env={CONFIG: '{"roots": [], "modules": [], "nan": false, "processor": null}'},
    )
    spec = JailSpec(Profile.WORKER, runtime(), (program_bundle("worker"),), LIMITS)
    with sandbox().open(spec) as session:

        def answered() -> None:
            process = session.start(command, channels=(WIRE,))
            process.channels[WIRE].send(pack([1, "import", "sys"]))
            answer = process.channels[WIRE].recv(1024, time.monotonic() + 60)
            assert answer is not None
            assert unpack(answer)[:2] == [1, "ok"]
            process.kill()
            process.wait()

        return best(answered, rounds=10)


def main() -> None:
    graded(looping(0), ("test_a",), "isolated")
    empty = best(lambda: graded(looping(0), ("test_a",), "isolated"))
    full = best(lambda: graded(looping(CALLS), ("test_a",), "isolated"))
    print(f"plain calls per second of one pair      {CALLS / (full - empty):10,.0f}")
    idle = used(lambda: graded(looping(0), ("test_a",), "isolated"))
    busy = used(lambda: graded(looping(CALLS), ("test_a",), "isolated"))
    print(f"processor time of one plain call, us    {(busy - idle) / CALLS * 1e6:10.1f}")
    plain = best(lambda: graded(looping(0), ("test_a",), "unguarded"))
    print(f"isolated / unguarded, grading of one test {empty / plain:8.2f}")
    print(f"added to one grading, ms                {(empty - plain) * 1000:10.1f}")
    print(f"first answer of a worker, ms            {worker_ready() * 1000:10.1f}")
    tests, names = many()
    isolated = best(lambda: graded(tests, names, "isolated"))
    unguarded = best(lambda: graded(tests, names, "unguarded"))
    added = ((isolated - empty) - (unguarded - plain)) / (TESTS - 1)
    print(f"added to one test of one call, ms       {added * 1000:10.3f}")


if __name__ == "__main__":
    main()
