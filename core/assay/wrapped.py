"""A sandbox around another one: what it does not do otherwise, the other one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.api import Capabilities, Finding, Hasher, Mount, Runtime, Sandbox, Store, Support

__all__ = ["WrappedSandbox"]


class WrappedSandbox:
    """All of a sandbox but its name and `open`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def capabilities(self) -> Capabilities:
        """What the other one can do."""
        return self._sandbox.capabilities()

    def diagnose(self) -> tuple[Finding, ...]:
        """What matters to the other one."""
        return self._sandbox.diagnose()

    def runtime(self, spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
        """A runtime of the other one."""
        return self._sandbox.runtime(spec, store, hasher)

    def mountable(self, mounts: tuple[Mount, ...]) -> Support:
        """Whether the other one can mount them."""
        return self._sandbox.mountable(mounts)
