"""What all jails of a host share, and the whole configuration of one jail as nsjail reads it."""

from __future__ import annotations

from attrs import frozen

from assay.api import HostIds
from assay_sandbox.inits import Init
from assay_sandbox.layout import INSIDE_ID, Layout
from assay_sandbox.memory import MemoryLayer
from assay_sandbox.policy import Policy
from assay_sandbox.textproto import Message

__all__ = ["LaunchPlan", "configuration"]


@frozen
class LaunchPlan:
    """What all jails of this host share: ids, policy, mount interface, memory, init.

    `share_network` is for the jail that is weak on purpose, and for no other.
    """

    ids: HostIds
    policy: Policy
    mount_interface: str
    memory: MemoryLayer
    init: Init
    share_network: bool = False


def configuration(
    plan: LaunchPlan,
    layout: Layout,
    argv: list[str],
    env: dict[str, str],
    pass_fd: int | None,
    *,
    loopback: bool,
    program: int | None = None,
) -> bytes:
    """The whole configuration of one jail.

    `program`: a descriptor of nsjail's that is started, with argv[0] as its name.
    """
    config = Message()
    config.text("name", "assay")
    config.word("mode", "ONCE")
    config.word("log_level", "ERROR")
    config.text("hostname", "jail")
    config.text("cwd", "/")
    config.number("time_limit", 0)
    config.number("nice_level", 0)
    for name in ("keep_env", "keep_caps", "disable_no_new_privs", "skip_setsid", "mount_proc"):
        config.flag(name, False)
    for name in ("user", "ns", "pid", "ipc", "uts", "cgroup"):
        config.flag(f"clone_new{name}", True)
    config.flag("clone_newnet", not plan.share_network)
    config.flag("iface_no_lo", not loopback)
    for name, outside in (("uidmap", plan.ids.uid), ("gidmap", plan.ids.gid)):
        mapping = Message()
        mapping.text("inside_id", str(INSIDE_ID))
        mapping.text("outside_id", str(outside))
        mapping.number("count", 1)
        config.message(name, mapping)
    # The init sets each command's own limits; here they only must not be nsjail's defaults.
    for name in ("as", "cpu", "fsize", "nofile", "nproc", "stack"):
        config.word(f"rlimit_{name}_type", "HARD")
    config.number("rlimit_core", 0)
    config.blob("seccomp_string", plan.policy.text.encode())
    for variable, value in env.items():
        config.text("envar", f"{variable}={value}")
    if pass_fd is not None:
        config.number("pass_fd", pass_fd)
    for mount in layout.mounts:
        config.message("mount", mount)
    started = Message()
    started.text("path", argv[0] if program is None else f"/proc/self/fd/{program}")
    for argument in argv[1:]:
        started.text("arg", argument)
    if program is not None:
        started.text("arg0", argv[0])
        started.flag("exec_fd", True)
    config.message("exec_bin", started)
    return config.encode()
