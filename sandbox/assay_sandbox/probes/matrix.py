"""Runs probes under profiles and judges each: what the host saw comes before what it was told."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.api import (
    Containment,
    ProbeResult,
    Profile,
    SandboxFailed,
    printable,
)
from assay_sandbox.probes.answers import Check
from assay_sandbox.probes.bench import Bench, Setting
from assay_sandbox.probes.catalogue import Attack, attacks

__all__ = ["containment_of", "layers_seen", "run_profile"]

MOST_FOUND, MOST_LABEL = 6, 80
LAYER_OF = {
    "mount namespace": ("ENOENT", "EXDEV", "ENOTDIR", "ENXIO", "ELOOP"),
    "read-only mounts": ("EROFS",),
    "pid namespace": ("ESRCH", "ECHILD"),
    "network namespace": (
        *("ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED", "EADDRNOTAVAIL", "ETIMEDOUT", "ENETDOWN"),
    ),
    "user namespace": ("EPERM", "EACCES", "EINVAL"),
    "seccomp": ("ENOSYS", "EAFNOSUPPORT", "signal 31"),
    "rlimit": ("EAGAIN", "EMFILE", "EFBIG", "ENOMEM"),
    "tmpfs size": ("ENOSPC", "EDQUOT"),
}
"""By layer, the errors that its refusal shows as; whatever else is the kernel's own no."""

_BY_ERROR = {error: layer for layer, errors in LAYER_OF.items() for error in errors}
LAYERS = (
    *("mount namespace", "read-only mounts", "pid namespace", "network namespace"),
    *("user namespace", "seccomp", "rlimit", "tmpfs size", "cgroup", "systemd scope"),
    *("watchdog", "supervisor", "init", "collector", "store"),
)


def run_profile(
    setting: Setting, profile: Profile, mode: str, wanted: Iterable[Attack]
) -> tuple[ProbeResult, ...]:
    """Every attack of this profile, one after the other; sentinels are compared after each."""
    mine = [attack for attack in wanted if profile in attack.probe.profiles]
    # Those that the runner serves come first, as each of the others needs a jail at rest.
    mine.sort(key=lambda attack: attack.drive is not None)
    results = []
    if not mine:
        return ()
    with Bench(setting, profile) as bench:
        for attack in mine:
            try:
                checks = _checks(bench, attack)
            except SandboxFailed as failed:
                checks = bench.dead(failed)
            idle = attack.drive is not None
            changed = setting.sentinels.changes(bench.take(), idle=idle)
            results.append(_result(attack, profile, mode, checks, changed, setting))
        bench.end()
        if changed := setting.sentinels.changes(bench.take(), idle=True):
            results[-1] = _result(mine[-1], profile, mode, [], changed, setting)
    order = {attack.probe.name: number for number, attack in enumerate(attacks())}
    return tuple(sorted(results, key=lambda result: order[result.probe]))


def _checks(bench: Bench, attack: Attack) -> list[Check]:
    if attack.drive is None:
        return bench.ask(attack.program)
    return attack.drive(bench, attack.program)


def _result(
    attack: Attack,
    profile: Profile,
    mode: str,
    checks: list[Check],
    changed: list[str],
    setting: Setting,
) -> ProbeResult:
    return ProbeResult(
        probe=attack.probe.name,
        profile=profile,
        containment=containment_of(checks, changed),
        expected=attack.probe.expected(mode),
        by=layers_seen(checks),
        found=found(checks, changed),
        checks=len(checks),
        sentinels=len(setting.sentinels.names),
    )


def containment_of(checks: Collection[Check], changed: Collection[str]) -> Containment:
    """The worst of what was seen; a sentinel that changed is an escape whatever was reported."""
    states = {check.state for check in checks}
    if changed or "open" in states:
        return Containment.ESCAPED
    if "silent" in states or not states & {"refused", "partial"}:
        return Containment.NO_ANSWER
    return Containment.PARTIAL if "partial" in states else Containment.CONTAINED


def layers_seen(checks: Iterable[Check]) -> tuple[str, ...]:
    """The layers whose refusals were met, in a fixed order."""
    seen = set()
    for check in checks:
        if check.state == "refused":
            seen.add(_layer(check.detail))
    return tuple(layer for layer in (*LAYERS, "kernel") if layer in seen)


def _layer(detail: str) -> str:
    """The layer that a refusal shows, by the error or by the name that it gives."""
    layer = _BY_ERROR.get(detail, detail)
    known = (name for name in LAYERS if layer == name or layer.startswith(f"{name} "))
    return next(known, "kernel")


def found(checks: Iterable[Check], changed: Iterable[str]) -> tuple[str, ...]:
    """What got through, as safe text without content of the host; sentinels come first."""
    texts = [f"changed on the host: {name}" for name in changed]
    texts += [
        printable(check.label[:MOST_LABEL]) + (f" ({check.state})" if check.state != "open" else "")
        for check in checks
        if check.state in ("open", "partial", "silent")
    ]
    return tuple(texts[:MOST_FOUND])
