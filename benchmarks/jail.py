"""Writes the page of figures of the jail: what one costs on this host, beside the alternatives.

    python benchmarks/jail.py [--rounds N] [PAGE]

PAGE is docs/reference/jail-figures.md unless given. One run, every way in turn in each round, so
that other load meets all alike. bubblewrap and runc are measured where they are installed, with
the same directories of the system mounted.
"""

from __future__ import annotations

import argparse
import operator
import os
import platform
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import define, field
from jail_ways import COLD, PASS, RAW, TRUE, WARM, Way, all_ways, api
from support.jail import runtime, sandbox, spec

from assay.api import Command

PAGE = Path(__file__).parents[1] / "docs/reference/jail-figures.md"
SECONDS_OF_THROUGHPUT = 5.0
THREADS = 2
RATE = 60
BALLAST_BYTES = 1024**3


@define
class Taken:
    """Milliseconds of each round, and of a processor: this process and all that it waited for."""

    times: list[float] = field(factory=list)
    processor: list[float] = field(factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def best(self) -> float:
        return min(self.times)

    def figures(self) -> tuple[str, ...]:
        """Median, best, and mean of the processor's."""
        values = (self.median, self.best, statistics.mean(self.processor))
        return tuple(f"{value:.2f}" for value in values)


def per_second(start: Callable[[], None]) -> float:
    """How often it is done in a second by two threads."""
    counts = [0] * THREADS
    end = time.monotonic() + SECONDS_OF_THROUGHPUT

    def repeat(worker: int) -> None:
        while time.monotonic() < end:
            start()
            counts[worker] += 1

    threads = [threading.Thread(target=repeat, args=(worker,)) for worker in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS_OF_THROUGHPUT


def processor() -> float:
    """Milliseconds of a processor that this process and all that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(who.ru_utime + who.ru_stime for who in used) * 1000


def measure(ways: dict[str, Way], rounds: int) -> dict[str, Taken]:
    taken = {name: Taken() for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            way.before()
            used, began = processor(), time.perf_counter()
            way.start()
            taken[name].times.append((time.perf_counter() - began) * 1000)
            taken[name].processor.append(processor() - used)
            way.after()
    return taken


def aims(taken: dict[str, Taken], rates: Sequence[float]) -> Iterable[tuple[str, ...]]:
    """Of each aim: what is measured, without and with a spare, and whether it is met."""
    compared = [(3, "milliseconds over nsjail alone", operator.sub, RAW)]
    compared += [(2.5, "times bwrap", operator.truediv, "bwrap")]
    compared += [(0.5, "times runc", operator.truediv, "runc")]
    for most, name, compare, peer in compared:
        if peer in taken:
            cells = []
            for jail in (taken[COLD], taken[WARM]):
                median = compare(jail.median, taken[peer].median)
                best = compare(jail.best, taken[peer].best)
                cells.append(f"{median:.2f} ({best:.2f}), {_met(median <= most)}")
            yield (name, f"at most {most:g}", *cells)
    name = "jails with `python3 -I -c pass` per second, two threads"
    yield (name, f"at least {RATE}", *(f"{rate:.1f}, {_met(rate >= RATE)}" for rate in rates))


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


def page(rounds: int) -> str:
    """Measure, and write it down."""
    runtime()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as bundle, sandbox().open(spec()) as session:

        def command() -> None:
            assert session.run(Command((TRUE.encode(),))).exit_code == 0

        taken = measure(all_ways(Path(bundle), command), rounds)
        rates = [per_second(api(*PASS))]
        with sandbox().warm():
            rates.append(per_second(api(*PASS)))
        ballast = bytearray(b"\1") * BALLAST_BYTES
        heavy = measure({COLD: Way(api(TRUE.encode()))}, rounds)[COLD]
        del ballast
    rows = [(name, *each.figures()) for name, each in taken.items()]
    grown = heavy.best / taken[COLD].best
    return f"""# Figures of the jail

Measured by `python benchmarks/jail.py`, which rewrites this page; `make figures` does too. Nothing
here is written by hand. [Decision 0032](../decisions/0032-spares.md) says what *kept warm* means.

## What it costs

Milliseconds from the start to the end of all that was started, {rounds} rounds with every way in
turn; *processor* is the mean of all processes together. bwrap and runc mount the same directories
of the system, and run the same command.

{_table(("way", "median", "best", "processor"), rows)}

With a gigabyte more in the supervisor, a jail takes {grown:.2f} times as long, at best.

## Aims

By medians, with the best of each in brackets. *Over nsjail alone* is all that we add: supervisor,
init, control group, the command's own process.

{_table(("what", "aim", "without a spare", "kept warm"), aims(taken, rates))}

Host: {os.cpu_count()} processors, Python {platform.python_version()}, {platform.system()};
{_layers()}. Load of each when it began: {load:.1f}. Other load makes times longer.
"""


def _layers() -> str:
    layers = sandbox().capabilities().layers
    return ", ".join(f"{name} {layers[name].partition(': ')[2]}" for name in ("memory", "init"))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", type=Path, default=PAGE)
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    chosen.page.write_text(page(chosen.rounds), encoding="utf-8")


if __name__ == "__main__":
    main()
