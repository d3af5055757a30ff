"""Every probe, read from `catalogue.toml`: what it wants, what it does, what must stop it."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Collection
from importlib import resources
from typing import Any

from attrs import frozen

from assay.api import Containment, Probe, Profile, UsageError, printable
from assay_sandbox.probes.drives import DRIVES, Drive
from assay_sandbox.profiles import PROFILES

__all__ = ["Attack", "attacks", "chosen"]

KEYS = {
    *("name", "threat", "how", "layers", "program", "drive", "profiles"),
    *("root", "user", "why", "canary"),
}


@frozen
class Attack:
    """A probe, its program `module.function` if it has one, and how it is run.

    Without a drive the runner performs it. `canary`: in the weakened jail it must escape.
    """

    probe: Probe
    program: str
    drive: Drive | None
    canary: bool


@functools.cache
def attacks() -> tuple[Attack, ...]:
    """All of them, in the order of the reports."""
    text = (resources.files("assay_sandbox.probes") / "catalogue.toml").read_text("utf-8")
    return tuple(_attack(row) for row in tomllib.loads(text)["probe"])


def _attack(row: dict[str, Any]) -> Attack:
    if not set(row) <= KEYS:
        raise ValueError(f"catalogue.toml: unknown keys in {row['name']}")
    probe = Probe(
        name=row["name"],
        threat=row["threat"],
        how=row["how"],
        layers=tuple(row["layers"]),
        root=Containment(row.get("root", "contained")),
        user=Containment(row.get("user", "contained")),
        why=row.get("why", ""),
        profiles=_profiles(row.get("profiles", "all")),
    )
    drive = DRIVES[row["drive"]] if "drive" in row else None
    return Attack(probe, row.get("program", ""), drive, row.get("canary", False))


def _profiles(word: str) -> tuple[Profile, ...]:
    """Profiles by a word: `all`, `writers`, `loopback`, or the name of one."""
    if word == "all":
        return tuple(Profile)
    if word == "writers":
        return tuple(profile for profile in Profile if PROFILES[profile].writable_mounts)
    if word == "loopback":
        return tuple(profile for profile in Profile if PROFILES[profile].loopback)
    return (Profile(word),)


def chosen(only: Collection[str]) -> tuple[Attack, ...]:
    """The named ones, or all; raises UsageError for an unknown name."""
    known = {attack.probe.name for attack in attacks()}
    for name in only:
        if name not in known:
            raise UsageError(f"unknown probe {printable(name)}; known: {', '.join(sorted(known))}")
    return tuple(attack for attack in attacks() if not only or attack.probe.name in only)
