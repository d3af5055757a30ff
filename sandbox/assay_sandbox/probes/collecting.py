"""Probes of the host's reader: what it makes of a tree that a jail has left, or still changes."""

from __future__ import annotations

import contextlib
import threading
import time

import attrs

from assay.api import (
    AssayError,
    ChannelFault,
    Mount,
    MountKind,
    RefusedKind,
    SandboxFailed,
    TreeLimits,
)
from assay.api.files import open_root, opened
from assay_sandbox.probes.answers import Check
from assay_sandbox.probes.bench import CLAIMED, Bench
from assay_sandbox.process import JailProcess

__all__ = ["replaced", "swapped", "through_link", "traps"]

RACE_SECONDS = 0.2
SCAN_SECONDS = 10.0
RESULTS = (
    "by-link",
    "by-device",
    "by-dangling",
    "by-fifo",
    "by-folder",
    "by-parent/secret",
    "by-socket",
    "by-hard-link",
)
ODD_ENTRIES = {
    **dict.fromkeys(("link", "dangling", "loop", "linked/folder"), RefusedKind.SYMLINK),
    **dict.fromkeys(("twice", "again"), RefusedKind.HARD_LINK),
    "fifo": RefusedKind.FIFO,
    "socket": RefusedKind.SOCKET,
}
TOO_DEEP = 100


def replaced(bench: Bench, program: str) -> list[Check]:
    """Nothing that took a result's place is read as a result."""
    bench.renew()
    checks = [check for check in bench.alone(program).checks if check.state == "silent"]
    bench.end()
    for name in RESULTS:
        try:
            bench.read(name)
        except (AssayError, OSError):
            checks.append(Check(name, "refused", "collector"))
        else:
            checks.append(Check(name, "open"))
    return checks


def traps(bench: Bench, program: str) -> list[Check]:
    """The tree that a dead jail left is read to its end, and everything odd refused by kind."""
    bench.renew()
    checks = [check for check in bench.alone(program).checks if check.state == "silent"]
    bench.end()
    refused, ended = _scan(bench, TreeLimits())
    _, deep_ended = _scan(bench, TreeLimits(depth=TOO_DEEP))
    if not (ended and deep_ended):
        return [*checks, Check("the reader hangs", "open")]
    for name, kind in ODD_ENTRIES.items():
        held = refused.get(name) == kind
        checks.append(Check(f"{name} is accepted", "refused" if held else "open", "collector"))
    return checks


def _scan(bench: Bench, limits: TreeLimits) -> tuple[dict[str, RefusedKind], bool]:
    """What the tree's reader refuses, and whether it came to an end."""
    found: dict[str, RefusedKind] = {}
    assert bench.workspace is not None
    workspace, hasher = bench.workspace, bench.setting.hasher

    def scan() -> None:
        with opened(open_root(workspace)) as root, contextlib.suppress(AssayError):
            for item in hasher.scan(root, limits=limits, collect_refused=True).refused:
                found[item.path] = item.kind

    reader = threading.Thread(target=scan, daemon=True)
    reader.start()
    reader.join(SCAN_SECONDS)
    return found, not reader.is_alive()


def swapped(bench: Bench, program: str) -> list[Check]:
    """While names change under the host, it reads a plain file or refuses."""
    bench.renew()
    reads: list[bytes] = []

    def race(process: JailProcess) -> None:
        noise = process.channels["noise"]
        try:
            noise.recv(16, time.monotonic() + CLAIMED.wall)
        except ChannelFault:
            return
        end = time.monotonic() + RACE_SECONDS
        while time.monotonic() < (end if reads else end + CLAIMED.wall):
            for name in ("swapped", "dir/name", "dir/secret"):
                try:
                    reads.append(bench.read(name))
                except (AssayError, OSError):
                    continue
        process.kill()

    bench.alone(program, meanwhile=race)
    if not reads:
        return [Check("reads", "silent", "nothing was read")]
    wrong = [content for content in reads if content not in (b"plain", b"")]
    return [Check("something else is read", "open" if wrong else "refused", "collector")]


def through_link(bench: Bench, program: str) -> list[Check]:
    """A mount whose place a jail made into a link is refused before anything starts."""
    bench.renew()
    silent = [check for check in bench.alone(program).checks if check.state == "silent"]
    bench.end()
    place = f"/workspace/sub/{bench.setting.sentinels.token}"
    inner = Mount(place, MountKind.FILE, content=b"x")
    spec = bench.spec()
    try:
        bench.setting.open(attrs.evolve(spec, mounts=(*spec.mounts, inner))).close()
    except SandboxFailed:
        return [*silent, Check("a mount inside the workspace", "refused", "supervisor")]
    return [*silent, Check("a mount inside the workspace", "open")]
