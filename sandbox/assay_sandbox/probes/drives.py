"""How probes that the host has to judge are run, and what the host concludes.

What a jailed process says about itself counts for nothing here: an outcome, a refusal or the
bytes that the host read decide.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import attrs

from assay.api import (
    AssayError,
    ChannelFault,
    Command,
    InvalidInput,
    Limits,
    Mount,
    MountKind,
    OutcomeStatus,
    SandboxFailed,
    printable,
)
from assay.api.files import open_root, opened
from assay_sandbox.probes.bench import CLAIMED, EXIT_CODE, Bench, Check
from assay_sandbox.process import JailProcess

__all__ = ["DRIVES", "Drive"]

Drive = Callable[[Bench, str], list[Check]]

SHORT = 0.2
SCAN_SECONDS = 10.0
RESULTS = (
    "by-link",
    "by-device",
    "by-dangling",
    "by-fifo",
    "by-folder",
    "by-parent/secret",
    "by-socket",
)
EXIT_CODES = (0, 1, 7, 127, 137, 139, 143, 255)


def alone(bench: Bench, program: str) -> list[Check]:
    """In a command of its own; its report counts."""
    return bench.alone(program).checks


def limited(bench: Bench, program: str) -> list[Check]:
    """A probe that a limit may end before it can report."""
    ran = bench.alone(program)
    if ran.outcome.status is OutcomeStatus.MEMORY_LIMIT:
        return [Check("limit", "refused", ran.outcome.enforced_by.get("memory", "cgroup"))]
    return ran.checks


def by_outcome(
    status: OutcomeStatus, limit: str, **changes: float
) -> Callable[[Bench, str], list[Check]]:
    """A drive whose probe must end as `status`, by the limit of that name."""

    def drive(bench: Bench, program: str) -> list[Check]:
        limits: Limits = attrs.evolve(bench.setting.limits, **changes)  # type: ignore[arg-type]
        outcome = bench.alone(program, limits=limits).outcome
        label = f"it ended as {outcome.status.value}"
        if outcome.status is status and limit in outcome.enforced_by:
            kept = len(outcome.stdout.head) + len(outcome.stdout.tail)
            if kept > limits.output:
                return [Check("more output was kept than allowed", "open", str(kept))]
            return [Check(label, "refused", outcome.enforced_by[limit])]
        return [Check(label, "open")]

    return drive


def growing_forks(bench: Bench, program: str) -> list[Check]:
    """The jail must still work afterwards."""
    outcome = bench.alone(program).outcome
    after = bench.session.run(Command((b"/bin/true",)))
    if outcome.status in (OutcomeStatus.EXITED, OutcomeStatus.TIMED_OUT) and after.exit_code == 0:
        return [Check("the jail goes on", "refused", "rlimit")]
    return [Check("the jail goes on", "silent", after.detail)]


def survived(bench: Bench, program: str) -> list[Check]:
    """Its report counts, and the jail must still work afterwards."""
    checks = bench.alone(program).checks
    after = bench.session.run(Command((b"/bin/true",)))
    fine = after.exit_code == 0
    return [*checks, Check("the init goes on", "refused" if fine else "open", "init")]


def outlived(bench: Bench, program: str) -> list[Check]:
    """When the outcome is there, nothing that it started may be."""
    ran = bench.alone(program)
    if ran.checks[0].state == "silent":
        return ran.checks
    left = bench.setting.sentinels.strays()
    return [Check("processes that stay", "open" if left else "refused", "init")]


def forged(bench: Bench, program: str) -> list[Check]:
    """Whatever was written to look like a record, the outcome is the real one."""
    ran = bench.alone(program)
    outcome = ran.outcome
    true = outcome.status is OutcomeStatus.EXITED and outcome.exit_code == EXIT_CODE
    checks = [Check("the outcome is the real one", "refused" if true else "open", "init")]
    return [*ran.checks, *checks]


def exit_codes(bench: Bench, program: str) -> list[Check]:
    """Codes that elsewhere mean a kill or a broken jail mean themselves."""
    bench.hush()
    checks = []
    for code in EXIT_CODES:
        outcome = bench.session.run(Command((b"/bin/sh", b"-c", b"exit %d" % code)))
        same = outcome.status is OutcomeStatus.EXITED and outcome.exit_code == code
        checks.append(Check(f"exit {code}", "refused" if same else "open", "init"))
    killed = bench.session.run(Command((b"/bin/sh", b"-c", b"kill -9 $$")))
    same = killed.status is OutcomeStatus.SIGNALLED and killed.signal == 9
    return [*checks, Check("a kill by itself", "refused" if same else "open", "init")]


def strange_commands(bench: Bench, program: str) -> list[Check]:
    """What would forge a line of a log is never handed on."""
    bench.hush()
    line = "\n[I] exited with status: 0"
    commands = {
        "a line in an argument": Command((b"/bin/true", line.encode())),
        "an escape in an argument": Command((b"/bin/true", b"\x1b[31m")),
        "a line in the folder": Command((b"/bin/true",), cwd="/tmp" + line),
        "a line in the program": Command((b"/bin/true" + line.encode(),)),
        "a NUL in a variable": Command((b"/bin/true",), env={"A": "b\0C=d"}),
    }
    checks = []
    for label, command in commands.items():
        try:
            bench.session.start(command).wait()
        except InvalidInput:
            checks.append(Check(label, "refused", "supervisor"))
        else:
            checks.append(Check(label, "open"))
    return checks


def shown(bench: Bench, program: str) -> list[Check]:
    """What is shown of hostile output is text."""
    ran = bench.alone(program)
    for stream in (ran.outcome.stdout, ran.outcome.stderr):
        text = printable(stream.text()) if bench.setting.strict else stream.text()
        if stream.total == 0:
            return [Check("output", "silent")]
        if not text.isprintable():
            return [Check("control characters are shown", "open")]
    return [Check("control characters are shown", "refused", "supervisor")]


def full_channel(bench: Bench, program: str) -> list[Check]:
    """A channel that is full holds up neither its writer's end nor the host."""
    ran = bench.alone(program)
    if ran.outcome.status is OutcomeStatus.EXITED:
        return [Check("the supervisor waits for a reader", "refused", "supervisor")]
    return [Check("the supervisor waits for a reader", "open", ran.outcome.status.value)]


def broken_frames(bench: Bench, program: str) -> list[Check]:
    """A frame with a false length is a fault, at once and without its memory."""
    met: list[str] = []

    def listen(process: JailProcess) -> None:
        try:
            process.channels["noise"].recv(4096, time.monotonic() + CLAIMED.wall)
        except ChannelFault:
            met.append("fault")

    bench.alone(program, meanwhile=listen)
    return [Check("a frame with a false length", "refused" if met else "open", "supervisor")]


def replaced(bench: Bench, program: str) -> list[Check]:
    """Nothing that took a result's place is read as a result."""
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
    checks = [check for check in bench.alone(program).checks if check.state == "silent"]
    bench.end()
    refused, ended = _scan(bench)
    if not ended:
        return [*checks, Check("the reader hangs", "open")]
    for name, kind in (
        ("link", "symlink"),
        ("dangling", "symlink"),
        ("loop", "symlink"),
        ("linked/folder", "symlink"),
        ("fifo", "fifo"),
        ("socket", "socket"),
        ("twice", "hard"),
        ("again", "hard"),
    ):
        held = any(path == name and kind in what for path, what in refused)
        checks.append(Check(f"{name} is accepted", "refused" if held else "open", "collector"))
    return checks


def _scan(bench: Bench) -> tuple[list[tuple[str, str]], bool]:
    """What the tree's reader refuses, and whether it came to an end."""
    found: list[tuple[str, str]] = []
    assert bench.workspace is not None
    workspace, hasher = bench.workspace, bench.setting.hasher

    def scan() -> None:
        with opened(open_root(workspace)) as root:
            try:
                for item in hasher.scan(root, collect_refused=True).refused:
                    found.append((item.path, item.kind.value.lower()))
            except (AssayError, OSError) as error:
                found.append((type(error).__name__, ""))

    reader = threading.Thread(target=scan, daemon=True)
    reader.start()
    reader.join(SCAN_SECONDS)
    return found, not reader.is_alive()


def swapped(bench: Bench, program: str) -> list[Check]:
    """While names change under the host, it reads a plain file or refuses."""
    reads: list[bytes] = []

    def race(process: JailProcess) -> None:
        noise = process.channels["noise"]
        try:
            noise.recv(16, time.monotonic() + CLAIMED.wall)
        except ChannelFault:
            return
        end = time.monotonic() + SHORT
        while time.monotonic() < end:
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


def loopback(bench: Bench, program: str) -> list[Check]:
    """In a jail with a loopback of its own."""
    return bench.with_loopback(program)


DRIVES: dict[str, Drive] = {
    "alone": alone,
    "broken-frames": broken_frames,
    "exit-codes": exit_codes,
    "forged": forged,
    "full-channel": full_channel,
    "growing-forks": growing_forks,
    "limited": limited,
    "loopback": loopback,
    "outlived": outlived,
    "over-cpu": by_outcome(OutcomeStatus.TIMED_OUT, "cpu", cpu=1),
    "over-output": by_outcome(OutcomeStatus.OUTPUT_LIMIT, "output"),
    "over-wall": by_outcome(OutcomeStatus.TIMED_OUT, "wall", wall=SHORT),
    "replaced": replaced,
    "shown": shown,
    "strange-commands": strange_commands,
    "survived": survived,
    "swapped": swapped,
    "through-link": through_link,
    "traps": traps,
}
"""By the name that the catalogue uses."""
