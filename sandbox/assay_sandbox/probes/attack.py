"""A whole run: the weakened jail first, as nothing follows from a matrix that can't see."""

from __future__ import annotations

from collections.abc import Callable, Collection

import attrs

from assay.api import (
    Capabilities,
    Containment,
    Hasher,
    JailSpec,
    ProbeReport,
    ProbeResult,
    Profile,
    Runtime,
)
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.probes.bench import WIDE, Setting
from assay_sandbox.probes.canary import weakened
from assay_sandbox.probes.catalogue import Attack, attacks, chosen
from assay_sandbox.probes.matrix import run_profile
from assay_sandbox.probes.sentinels import Sentinels
from assay_sandbox.session import JailSession

__all__ = ["attack_sandbox"]

CANARY_PROFILE = Profile.AGENT
NOTICED_IN_CANARY = (
    *("secret file", "fixture digest", "socket", "abstract socket", "TCP port", "UDP port"),
    *("temporary folders", "secrets in answers"),
)
"""Sentinels that the escapes from the weak jail must show in."""

NOTICED_WHEN_DISTURBED = ("process", "shared memory", "processes left")


def attack_sandbox(
    opener: Callable[[JailSpec], JailSession],
    plan: LaunchPlan,
    capabilities: Capabilities,
    runtime: Runtime,
    hasher: Hasher,
    *,
    profiles: Collection[Profile],
    only: Collection[str],
) -> ProbeReport:
    """The canary, then every chosen probe under every chosen profile."""
    wanted = chosen(only)
    mode = capabilities.mode
    canary, blind_sentinels = _canary(plan, mode, runtime, hasher)
    results: list[ProbeResult] = []
    with Sentinels(plan.ids, hasher) as sentinels:
        setting = Setting(opener, runtime, plan.ids, hasher, sentinels)
        for profile in Profile:
            if not profiles or profile in profiles:
                results += run_profile(setting, profile, mode, wanted)
        names = sentinels.names
    seen = {result.probe for result in canary if result.containment is Containment.ESCAPED}
    return ProbeReport(
        mode=mode,
        probes=tuple(attack.probe for attack in wanted),
        results=tuple(results),
        sentinels=names,
        canary=canary,
        blind=(
            *(item.probe.name for item in _canaries() if item.probe.name not in seen),
            *(f"sentinel: {name}" for name in blind_sentinels),
        ),
        versions=dict(capabilities.versions),
    )


def _canaries() -> tuple[Attack, ...]:
    return tuple(attack for attack in attacks() if attack.canary)


def _canary(
    plan: LaunchPlan, mode: str, runtime: Runtime, hasher: Hasher
) -> tuple[tuple[ProbeResult, ...], list[str]]:
    """What escaped from the weak jail, and the sentinels that did not notice."""
    with Sentinels(plan.ids, hasher) as sentinels:
        setting = Setting(
            weakened(plan, sentinels),
            runtime,
            plan.ids,
            hasher,
            sentinels,
            limits=WIDE,
            strict=False,
        )
        results = run_profile(setting, CANARY_PROFILE, mode, _canaries())
        blind = [name for name in NOTICED_IN_CANARY if name not in sentinels.noticed]
        disturbed = sentinels.disturb()
        blind += [name for name in NOTICED_WHEN_DISTURBED if name not in disturbed]
    return tuple(attrs.evolve(r, expected=Containment.ESCAPED) for r in results), blind
