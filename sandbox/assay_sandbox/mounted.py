"""Checks a started jail's own view of its mounts against what was asked for.

nsjail only warns when a mount's flags can't be applied, so the jail is asked itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay.api import SandboxFailed
from assay_sandbox.layout import Expected
from assay_sandbox.sources import unescape
from assay_sandbox.tables import rows

__all__ = ["check_mounts"]


def check_mounts(mountinfo: bytes, expected: Iterable[Expected]) -> None:
    """Raise SandboxFailed unless every expected mount is there, read-only where it must be."""
    flags: dict[str, frozenset[str]] = {}
    kinds: dict[str, str] = {}
    for line in rows(mountinfo.decode("utf-8", "surrogateescape")):
        fields = line.split(" ")
        flags[unescape(fields[4])] = frozenset(fields[5].split(","))
        kinds[unescape(fields[4])] = fields[fields.index("-") + 1]
    known = {mount.dst: mount for mount in expected}
    for dst, mount in known.items():
        have = flags.get(dst)
        if have is None:
            raise SandboxFailed("mounts", "a mount is missing in the jail")
        wanted = {"nosuid"}
        wanted |= set() if mount.devices else {"nodev"}
        wanted |= set() if mount.writable else {"ro"}
        if mount.kind not in ("", kinds[dst]):
            raise SandboxFailed("mounts", "a mount is of another kind than asked for")
        if not wanted <= have:
            raise SandboxFailed("mounts", "a mount has wider permissions than asked for")
    for dst, have in flags.items():
        if dst not in known and "ro" not in have:
            raise SandboxFailed("mounts", "the jail has a writable mount that nobody asked for")
