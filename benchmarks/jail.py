"""Writes the page of figures of the jail: what one costs on this host, beside the alternatives.

    python benchmarks/jail.py [--rounds N] [PAGE]

PAGE is docs/reference/jail-figures.md unless given. One run, every way in turn in each round, so
that other load meets all alike. bubblewrap and runc are measured where they are installed, with
the same directories of the system mounted.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import define, field, frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.jail import PYTHON, runtime, sandbox, spec

from assay.api import Command
from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.layout import SYSTEM_DIRECTORIES, layout_of
from assay_sandbox.memory import memory_layer
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.policy import policy_of_this_host

PAGE = Path(__file__).parents[1] / "docs/reference/jail-figures.md"
TRUE = "/bin/true"
PASS = (PYTHON, b"-I", b"-c", b"pass")
SECONDS_OF_THROUGHPUT = 5.0
THREADS = 2
RATE = 60
BALLAST_BYTES = 1024**3

COLD, WARM = "a jail, and one command", "the same, kept warm"
COLD_PYTHON, WARM_PYTHON = "a jail, and `python3 -I -c pass`", "that, kept warm"
RAW = "nsjail with our mounts and policy"


@frozen
class Way:
    """How something is started; `before` and `after` are not measured."""

    start: Callable[[], None]
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None


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


def run(argv: list[str], pass_fds: tuple[int, ...] = ()) -> None:
    subprocess.run(
        argv, env={}, cwd="/", stdin=subprocess.DEVNULL, pass_fds=pass_fds, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def raw_nsjail() -> Callable[[], None]:
    """The same mounts and policy, without init, supervisor and control group."""
    ids = sandbox().capabilities().ids
    assert ids is not None
    init = compiled_or_python()
    plan = LaunchPlan(ids, policy_of_this_host(), "new", memory_layer(), init)
    layout = layout_of(spec(), init)
    text = configuration(plan, layout, [TRUE], {}, None, loopback=False)
    config = os.memfd_create("benchmark")
    os.write(config, text)

    def start() -> None:
        os.lseek(config, 0, os.SEEK_SET)
        place = f"/proc/self/fd/{config}"
        run([nsjail_program(), "--config", place, "--experimental_mnt", "new"], (config,))

    return start


def bubblewrap(program: str) -> Callable[[], None]:
    argv = [program, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for place in SYSTEM_DIRECTORIES:
        if Path(place).is_dir() and not Path(place).is_symlink():
            argv += ["--ro-bind", place, place]
    for name in ("bin", "lib", "lib64", "sbin"):
        if Path("/", name).is_symlink():
            argv += ["--symlink", f"usr/{name}", f"/{name}"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--", TRUE]
    return lambda: run(argv)


def runc(program: str, bundle: Path) -> Callable[[], None]:
    subprocess.run([program, "spec"], cwd=bundle, check=True, stdout=subprocess.DEVNULL)
    config = json.loads((bundle / "config.json").read_text())
    config["process"].update(args=[TRUE], terminal=False)
    config["root"] = {"path": "rootfs", "readonly": True}
    options = ["rbind", "ro"]
    for name in ("usr", "bin", "lib", "lib64"):
        (bundle / "rootfs" / name).mkdir(parents=True)
        mount = {"destination": f"/{name}", "source": f"/{name}", "type": "bind"}
        config["mounts"].append({**mount, "options": options})
    (bundle / "config.json").write_text(json.dumps(config))
    return lambda: run([program, "run", "--bundle", str(bundle), f"assay-{time.monotonic_ns()}"])


def api(*argv: bytes) -> Callable[[], None]:
    """Open a jail, run one command, close it."""

    def start() -> None:
        with sandbox().open(spec()) as session:
            assert session.run(Command(argv)).exit_code == 0

    return start


def kept_warm(start: Callable[[], None]) -> Way:
    """The second of two jails: the first leaves it a spare, and it leaves the next one."""
    scopes = []

    def before() -> None:
        scopes.append(sandbox().warm())
        scopes[-1].__enter__()
        start()

    return Way(start, before, lambda: scopes.pop().__exit__(None, None, None))


def works(start: Callable[[], None]) -> bool:
    try:
        start()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


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


def all_ways(bundle: Path, command: Callable[[], None]) -> dict[str, Way]:
    true, python = api(TRUE.encode()), api(*PASS)
    ways = {
        "a bare program": Way(lambda: run([TRUE])),
        RAW: Way(raw_nsjail()),
        COLD: Way(true),
        WARM: kept_warm(true),
        COLD_PYTHON: Way(python),
        WARM_PYTHON: kept_warm(python),
        "one more command in a jail": Way(command),
    }
    for name, make in (("bwrap", bubblewrap), ("runc", lambda program: runc(program, bundle))):
        program = shutil.which(name)
        if program is not None and works(start := make(program)):
            ways[name] = Way(start)
    return ways


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
