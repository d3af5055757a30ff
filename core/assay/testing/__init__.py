"""Conformance tests for plugin authors: subclass one, and pytest runs it on your plugin.

    from assay.testing import SandboxConformance

    class TestMySandbox(SandboxConformance):
        def sandbox(self): ...
        def runtime(self): ...

Nothing but `assay.api` is imported here, and pytest only when a test runs.
"""

from assay.testing.copiers import CopierConformance
from assay.testing.hashers import HasherConformance
from assay.testing.sandboxes import SandboxConformance

__all__ = ["CopierConformance", "HasherConformance", "SandboxConformance"]
