"""How probes that the host has to judge are run, and what the host concludes.

What a jailed process says about itself counts for nothing here: an outcome, a refusal or the
bytes that the host read decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs

from assay.api import (
    ChannelFault,
    Command,
    InvalidInput,
    Limits,
    OutcomeStatus,
    printable,
)
from assay_sandbox.probes import collecting
from assay_sandbox.probes.answers import Check
from assay_sandbox.probes.bench import CLAIMED, EXIT_CODE, Bench
from assay_sandbox.process import JailProcess

__all__ = ["DRIVES", "Drive"]

Drive = Callable[[Bench, str], list[Check]]

SHORT = 0.2
PATIENT = 120.0
"""On a loaded host a second of the processor takes long."""
EXIT_CODES = (0, 1, 7, 127, 137, 139, 143, 255)


def limited(bench: Bench, program: str) -> list[Check]:
    """A probe that a limit of the whole jail may end before it can report."""
    ran = bench.alone(program)
    if ran.outcome.status in (OutcomeStatus.MEMORY_LIMIT, OutcomeStatus.DISK_LIMIT):
        # The kernel may have chosen the init, and a jail without one is at its end.
        bench.end()
        return [Check(limit, "refused", by) for limit, by in ran.outcome.enforced_by.items()]
    return ran.checks


def filled(bench: Bench, program: str) -> list[Check]:
    """The same in a workspace of its own, as a full one ends whatever comes next."""
    bench.renew()
    try:
        return limited(bench, program)
    finally:
        bench.renew()


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


def carried(bench: Bench, program: str) -> list[Check]:
    """What one jail leaves, the next one of the same profile must not find."""
    bench.end()
    left = [check for check in bench.alone(program, leaves=True).checks if check.state == "silent"]
    bench.end()
    return [*left, *bench.alone(program, leaves=False).checks]


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


def loopback(bench: Bench, program: str) -> list[Check]:
    """In a jail with a loopback of its own."""
    return bench.with_loopback(program)


DRIVES: dict[str, Drive] = {
    "broken-frames": broken_frames,
    "carried": carried,
    "exit-codes": exit_codes,
    "filled": filled,
    "forged": forged,
    "full-channel": full_channel,
    "growing-forks": growing_forks,
    "limited": limited,
    "loopback": loopback,
    "outlived": outlived,
    "over-cpu": by_outcome(OutcomeStatus.TIMED_OUT, "cpu", cpu=1, wall=PATIENT),
    "over-output": by_outcome(OutcomeStatus.OUTPUT_LIMIT, "output"),
    "over-wall": by_outcome(OutcomeStatus.TIMED_OUT, "wall", wall=SHORT),
    "replaced": collecting.replaced,
    "shown": shown,
    "strange-commands": strange_commands,
    "survived": survived,
    "swapped": collecting.swapped,
    "through-link": collecting.through_link,
    "traps": collecting.traps,
}
"""By the name that the catalogue uses."""
