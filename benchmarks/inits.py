"""What each init adds to a jail, over nsjail alone with the same mounts and policy.

    python benchmarks/inits.py [--rounds N]

Each way in turn in each round, so that other load meets all alike. Nobody supervises but this
loop, and only what happens between nsjail's start and its end is measured. Prints milliseconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.jail import LIMITS, sandbox, spec

from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.init_request import encode_request
from assay_sandbox.inits import InitKind
from assay_sandbox.launch import init_command
from assay_sandbox.layout import layout_of
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.policy import PolicyKind
from assay_sandbox.sandbox import _measured
from assay_sandbox.session import resource_limits

TRUE = "/bin/true"
MESSAGE_BYTES = 1 << 17
ALONE = "nsjail alone"


def plan_of(kind: InitKind) -> LaunchPlan:
    assert sandbox(kind).capabilities().available
    _, plan = _measured(PolicyKind.STANDARD, kind)
    assert plan is not None
    assert plan.init.kind is kind, plan.init.found
    return plan


def memory_file(content: bytes) -> int:
    descriptor = os.memfd_create("benchmark")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def start_nsjail(config: int, *inherited: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [nsjail_program(), "--config", f"/proc/self/fd/{config}", "--experimental_mnt", "new"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        pass_fds=(config, *inherited), env={}, cwd="/",
    )  # fmt: skip


def timed(start: Callable[[], None]) -> tuple[float, float]:
    """Milliseconds, and those of a processor inside: of nsjail and all that ran in it."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    start()
    taken, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken * 1000, used * 1000


def alone(plan: LaunchPlan) -> tuple[float, float]:
    """The program is process 1."""
    config = memory_file(
        configuration(plan, layout_of(spec(), plan.init), [TRUE], {}, None, loopback=False)
    )

    def start() -> None:
        assert start_nsjail(config).wait() == 0

    try:
        return timed(start)
    finally:
        os.close(config)


def with_init(plan: LaunchPlan) -> tuple[float, float]:
    """The program is a command: it is started, its record is heard, the jail ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    inherited, program = theirs.fileno(), plan.init.program
    config = memory_file(
        configuration(
            plan,
            layout_of(spec(), plan.init),
            init_command(plan.init, inherited),
            {},
            inherited,
            loopback=False,
            program=program,
        )
    )
    words = encode_request([TRUE.encode()], [], b"/", resource_limits(LIMITS))
    request, null = memory_file(words), os.open(os.devnull, os.O_RDWR)
    inherits = (inherited,) if program is None else (inherited, program)

    def start() -> None:
        nsjail = start_nsjail(config, *inherits)
        theirs.close()
        assert ours.recv(MESSAGE_BYTES).startswith(b"ready")
        socket.send_fds(ours, [b"start 1"], [request, null, null, null])
        assert ours.recv(MESSAGE_BYTES) == b"started 1"
        assert ours.recv(MESSAGE_BYTES).startswith(b"done 1 exited 0 ")
        ours.close()
        assert nsjail.wait() == 0

    try:
        return timed(start)
    finally:
        for descriptor in (config, request, null):
            os.close(descriptor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    plans = {kind: plan_of(kind) for kind in InitKind}
    taken: dict[str, list[tuple[float, float]]] = {ALONE: []}
    taken |= {kind.value: [] for kind in InitKind}
    for _ in range(rounds):
        taken[ALONE].append(alone(plans[InitKind.COMPILED]))
        for kind, plan in plans.items():
            taken[kind.value].append(with_init(plan))
    names = ("median", "best", "processor")
    print(
        "".join(f"{name:>14}" for name in ("process 1", *names, *(f"+ {name}" for name in names)))
    )
    raw = figures(taken[ALONE])
    for name, times in taken.items():
        mine = figures(times)
        more = (one - other for one, other in zip(mine, raw, strict=True))
        print(f"{name:>14}" + "".join(f"{value:14.2f}" for value in (*mine, *more)))


def figures(taken: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Median and best time, and the median of what it took of a processor."""
    times, used = zip(*taken, strict=True)
    return statistics.median(times), min(times), statistics.median(used)


if __name__ == "__main__":
    main()
