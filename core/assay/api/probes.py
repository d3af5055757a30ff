"""What a sandbox's attacks on itself are, and what came of them.

A sandbox that brings probes has the two methods of `Probed` beside those of `Sandbox`. What a
jailed probe says is untrusted: only the host's own measurements can make an attack contained
where the host can measure at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Protocol

from attrs import field, frozen

from assay.api.jail import Profile
from assay.api.workspaces import Hasher, Store

__all__ = ["Containment", "Probe", "ProbeReport", "ProbeResult", "Probed"]


class Containment(Enum):
    """How an attack ended, from best to worst.

    PARTIAL: bounded, but not as tightly as another layer could. NO_ANSWER: the probe died, so
    nobody knows. ESCAPED: it reached something that it must not reach.
    """

    CONTAINED = "contained"
    PARTIAL = "partial"
    NO_ANSWER = "no-answer"
    ESCAPED = "ESCAPED"

    @property
    def rank(self) -> int:
        """Position from best (0) to worst."""
        return list(Containment).index(self)


@frozen
class Probe:
    """One attack.

    `threat` is what hostile code wants, `how` what the probe does, `layers` what is expected to
    stop it. `root` and `user` are the worst results that are expected when root or an ordinary
    user runs it; `why` says why one of them is not "contained".
    """

    name: str
    threat: str
    how: str
    layers: tuple[str, ...]
    root: Containment = Containment.CONTAINED
    user: Containment = Containment.CONTAINED
    why: str = ""
    profiles: tuple[Profile, ...] = tuple(Profile)

    def expected(self, mode: str) -> Containment:
        """The worst result that is expected in this mode (`root` or `user`)."""
        return self.root if mode == "root" else self.user


@frozen
class ProbeResult:
    """What one probe found under one profile.

    `by` names the layers that were seen to stop it, `found` what got through, as safe text.
    `checks` counts single attempts, `sentinels` host objects compared after it.
    """

    probe: str
    profile: Profile
    containment: Containment
    expected: Containment
    by: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    checks: int = 0
    sentinels: int = 0

    @property
    def as_expected(self) -> bool:
        """Whether it is no worse than expected."""
        return self.containment.rank <= self.expected.rank


@frozen
class ProbeReport:
    """The matrix of a host.

    `canary` are the results in a jail that was weakened on purpose, each of which must be
    ESCAPED; `blind` names what did not see that, and makes the matrix void.
    """

    mode: str
    probes: tuple[Probe, ...]
    results: tuple[ProbeResult, ...]
    sentinels: tuple[str, ...]
    canary: tuple[ProbeResult, ...]
    blind: tuple[str, ...]
    versions: Mapping[str, str] = field(factory=dict)

    @property
    def void(self) -> bool:
        """Whether nothing follows from the matrix."""
        return bool(self.blind) or not self.canary

    @property
    def worse(self) -> tuple[ProbeResult, ...]:
        """Results that are worse than expected."""
        return tuple(result for result in self.results if not result.as_expected)


class Probed(Protocol):
    """A sandbox that can attack itself."""

    def probes(self) -> tuple[Probe, ...]:
        """Every built-in probe, in a fixed order; starts nothing."""
        ...

    def attack(
        self,
        store: Store,
        hasher: Hasher,
        *,
        profiles: Collection[Profile] = (),
        only: Collection[str] = (),
    ) -> ProbeReport:
        """Run probes under profiles (none named: all), and the canary.

        Raises SandboxUnavailable, RuntimeUnavailable, UsageError for an unknown probe.
        """
        ...
