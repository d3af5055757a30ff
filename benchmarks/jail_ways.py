"""Ways to start something: a bare program, nsjail, our jails, and others where they are installed.

Each mounts the same directories of the system, and runs the same command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.jail import PYTHON, sandbox, spec

from assay.api import Command
from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.layout import SYSTEM_DIRECTORIES, layout_of
from assay_sandbox.memory import memory_layer
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.policy import policy_of_this_host

TRUE = "/bin/true"
PASS = (PYTHON, b"-I", b"-c", b"pass")

COLD, WARM = "a jail, and one command", "the same, kept warm"
COLD_PYTHON, WARM_PYTHON = "a jail, and `python3 -I -c pass`", "that, kept warm"
RAW = "nsjail with our mounts and policy"


@frozen
class Way:
    """How something is started; `before` and `after` are not measured."""

    start: Callable[[], None]
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None


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
