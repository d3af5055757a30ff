"""The copier of a run: the one that was asked for if it works on this host, else plain copies."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from assay.api import Copier, Fault, InvalidInput, Support, Unavailable
from assay.host import Components, Fallback
from assay.tree import tree_manifest

__all__ = ["with_working_copier"]


def with_working_copier(components: Components, scratch: str) -> Components:
    """The same components, or with `copy` and the reason.

    A copier that gives no folder on the host works only if jails can mount its workspaces, so
    one is made beneath `scratch` and mounted.
    """
    chosen = components.copier
    support = chosen.supports(scratch)
    if support.ok and not chosen.host_visible:
        support = _tried(components, scratch)
    if support.ok or chosen.name == "copy":
        return components
    copier: Copier = components.registry.load("assay.copiers", "copy")()
    return evolve(components, copier=copier, fallback=Fallback(chosen.name, support.reason))


def _tried(components: Components, scratch: str) -> Support:
    source = Path(scratch) / "tried"
    source.mkdir()
    (source / "file").write_bytes(b"shown to a jail\n")
    try:
        manifest = tree_manifest(str(source), components.hasher)
        prepared = components.copier.prepare(str(source), manifest, components.store)
        ids = components.sandbox.capabilities().ids
        with components.copier.open(
            prepared, scratch, hasher=components.hasher, ids=ids
        ) as workspace:
            for writable in (False, True):
                mounts = workspace.mounts("/workspace", writable=writable)
                support = components.sandbox.mountable(mounts)
                if not support.ok:
                    return support
    except (Fault, InvalidInput, Unavailable) as error:
        return Support(False, str(error))
    return Support(True)
