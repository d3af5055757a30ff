"""Our sandbox passes the conformance tests that every other one is held to."""

from __future__ import annotations

from support.jail import runtime, sandbox

from assay.api import Runtime
from assay.testing import SandboxConformance
from assay_sandbox.sandbox import NsjailSandbox


class TestNsjailSandbox(SandboxConformance):
    def sandbox(self) -> NsjailSandbox:
        return sandbox()

    def runtime(self) -> Runtime:
        return runtime()
