"""What a jail costs on this host, beside the alternatives.

    python benchmarks/jail.py [ROUNDS]

One run, every way in turn in each round, so that other load meets all alike. Prints the median
and the best of each way in milliseconds, and the ratios that matter. bubblewrap and runc are
measured where they are installed, with the same directories of the system mounted.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.jail import PYTHON, runtime, sandbox, spec

from assay.api import Command
from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.layout import SYSTEM_DIRECTORIES, layout_of
from assay_sandbox.memory import memory_layer
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.policy import policy_of_this_host

TRUE = "/bin/true"
QUIET_PYTHON = ("/runtime/python/bin/python3", "-I", "-S", "-B", "-c", "pass")
SECONDS_OF_THROUGHPUT = 5.0
BALLAST_BYTES = 1024**3


def run(argv: list[str], pass_fds: tuple[int, ...] = ()) -> None:
    subprocess.run(
        argv, env={}, cwd="/", stdin=subprocess.DEVNULL, pass_fds=pass_fds, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def raw_nsjail(argv: tuple[str, ...]) -> Callable[[], None]:
    """The same mounts and policy, without init, supervisor and control group."""
    ids = sandbox().capabilities().ids
    assert ids is not None
    init = compiled_or_python()
    plan = LaunchPlan(ids, policy_of_this_host(), "new", memory_layer(), init)
    layout = layout_of(spec(), init)
    text = configuration(plan, layout, list(argv), {}, None, loopback=False)
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
    run_in(bundle, [program, "spec"])
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


def run_in(folder: Path, argv: list[str]) -> None:
    subprocess.run(argv, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def api(*argv: bytes) -> Callable[[], None]:
    """Open a jail, run one command, close it."""

    def start() -> None:
        with sandbox().open(spec()) as session:
            assert session.run(Command(argv)).exit_code == 0

    return start


def works(start: Callable[[], None]) -> bool:
    try:
        start()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def per_second(start: Callable[[], None], workers: int) -> float:
    """How often it is done in a second by so many threads."""
    counts = [0] * workers
    end = time.monotonic() + SECONDS_OF_THROUGHPUT

    def repeat(worker: int) -> None:
        while time.monotonic() < end:
            start()
            counts[worker] += 1

    threads = [threading.Thread(target=repeat, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS_OF_THROUGHPUT


def measure(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, start in ways.items():
            began = time.perf_counter()
            start()
            taken[name].append((time.perf_counter() - began) * 1000)
    return taken


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    runtime()
    with tempfile.TemporaryDirectory() as bundle, sandbox().open(spec()) as session:

        def command() -> None:
            assert session.run(Command((TRUE.encode(),))).exit_code == 0

        ways: dict[str, Callable[[], None]] = {
            "bare exec": lambda: run([TRUE]),
            "bare python3 -I -c pass": lambda: run([python, "-I", "-c", "pass"]),
            "nsjail alone": raw_nsjail((TRUE,)),
            "nsjail alone, python3 -I -S -B -c pass": raw_nsjail(QUIET_PYTHON),
            "a jail, and one command": api(TRUE.encode()),
            "a jail, and python3 -I -c pass": api(PYTHON, b"-I", b"-c", b"pass"),
            "one more command in a jail": command,
        }
        for name, make in (("bwrap", bubblewrap), ("runc", lambda p: runc(p, Path(bundle)))):
            program = shutil.which(name)
            if program is not None and works(start := make(program)):
                ways[name] = start
        taken = measure(ways, rounds)
        throughput = per_second(ways["a jail, and python3 -I -c pass"], 2)
        ballast = bytearray(b"\1") * BALLAST_BYTES
        heavy = measure({"heavy": ways["a jail, and one command"]}, rounds)["heavy"]
        del ballast
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name:42} {medians[name]:8.2f} {min(times):8.2f}")
    jail = medians["a jail, and one command"]
    print(f"{'supervisor and init, over nsjail alone':42} {jail - medians['nsjail alone']:8.2f}")
    inner = medians["nsjail alone, python3 -I -S -B -c pass"]
    print(f"{'supervisor, over nsjail and a bare init':42} {jail - inner:8.2f}")
    for other in ("bwrap", "runc", "bare exec"):
        if other in medians:
            print(f"{'a jail, times ' + other:42} {jail / medians[other]:8.2f}")
    print(f"{'with 1 GiB more in the supervisor, times':42} {statistics.median(heavy) / jail:8.2f}")
    print(f"{'jails with python3 per second, 2 threads':42} {throughput:8.1f}")


if __name__ == "__main__":
    main()
