"""Attacks on memory: of processes, and of the kernel on behalf of processes."""

import os
import time

from .limits import FACTOR, SIGKILL, judge
from .report import Facts, Report, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MIB = 1024**2


def memory_of_one(report: Report, facts: Facts) -> None:
    """More memory in one process than the limit allows."""
    held: list[bytearray] = []
    met = ""
    try:
        while len(held) * 4 * MIB < facts["limits"]["memory"] * FACTOR:
            held.append(bytearray(4 * MIB))
    except MemoryError:
        met = "ENOMEM"
    held.clear()
    judge(report, "memory of one process", met)


def memory_of_all(report: Report, facts: Facts) -> None:
    """Half of what the limit allows, in each of several processes, for a while."""
    share = facts["limits"]["memory"] // 2

    def hold(write: int) -> object:
        held = bytearray(share)
        os.write(write, b"%d" % len(held))
        return held

    full = sum(1 for answer in together(6, hold, facts["patience"]) if answer)
    report.open("memory of all processes", f"{full * share // MIB} MiB were held")


def socket_buffers(report: Report, facts: Facts) -> None:
    """Buffers of sockets, which belong to no process, filled in many processes."""
    import _socket

    block = bytes(4096)

    def hold(write: int) -> object:
        pairs = []
        try:
            while True:
                pairs.append(_socket.socketpair())
                for end in pairs[-1]:
                    end.setblocking(False)
                    fill_socket(end, block)
        except OSError as error:
            os.write(write, name_of(error).encode())
        return pairs

    met = together(facts["limits"]["processes"] - 4, hold, 0.1)
    if set(met) <= {b"EMFILE"}:
        report.partial("buffers of sockets", f"filled in {len(met)} processes")
    else:
        report.refused("buffers of sockets", "cgroup")


def fill_socket(end: "Any", block: bytes) -> None:
    """Send until the buffer is full."""
    try:
        while True:
            end.send(block)
    except BlockingIOError:
        return


def together(processes: int, hold: "Callable[[int], object]", seconds: float) -> list[bytes]:
    """Have so many processes hold something for a while; what each says, or nothing."""
    children, ready = [], []
    for _ in range(processes):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            # What a name holds is there until the parent kills this process.
            kept = hold(write)
            time.sleep(30 if kept else 0)
        os.close(write)
        children.append(child)
        ready.append(read)
    answers = [os.read(read, 20) for read in ready]
    time.sleep(seconds)
    for child in children:
        os.kill(child, SIGKILL)
        os.waitpid(child, 0)
    return answers
