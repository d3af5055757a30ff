"""Profiles: what differs between jails by who runs inside, as data.

All profiles share the read-only system, the empty network, the policy and the ids.
"""

from __future__ import annotations

import hashlib
import json

import attrs
from attrs import frozen

from assay.api import Profile

__all__ = ["PROFILES", "ProfileRules", "profiles_data", "profiles_digest"]

MIB = 1024**2


@frozen
class ProfileRules:
    """Permissions of one profile; sizes in bytes.

    `writable_mounts`: mounts may be writable. `loopback`: the network may be its own
    loopback. `shared_memory`: size of /dev/shm, 0 for none. `inodes`: files on each tmpfs.
    `disk` and `disk_entries`: what all writable trees together may hold.
    """

    writable_mounts: bool
    loopback: bool
    shared_memory: int
    inodes: int
    disk: int = 0
    disk_entries: int = 0


PROFILES: dict[Profile, ProfileRules] = {
    Profile.AGENT: ProfileRules(True, True, 16 * MIB, 16384, 1024 * MIB, 100_000),
    Profile.VISIBLE: ProfileRules(False, True, 16 * MIB, 8192),
    Profile.HIDDEN: ProfileRules(False, True, 16 * MIB, 8192),
    Profile.WORKER: ProfileRules(False, False, 0, 1024),
    Profile.BUILD: ProfileRules(True, False, 16 * MIB, 65536, 1024 * MIB, 100_000),
}


def profiles_data() -> dict[str, dict[str, bool | int]]:
    """All profiles as data, by name."""
    return {profile.value: attrs.asdict(rules) for profile, rules in PROFILES.items()}


def profiles_digest() -> str:
    """Digest of all profiles; enters the identity."""
    data = json.dumps(profiles_data(), sort_keys=True)
    return "sha256:" + hashlib.sha256(data.encode()).hexdigest()
