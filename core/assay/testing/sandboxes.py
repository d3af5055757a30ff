"""What every sandbox must do: lifecycle, outcomes, limits, output, channels, containment."""

from __future__ import annotations

from assay.testing.sandbox_containment import ContainmentTests
from assay.testing.sandbox_lifecycle import LifecycleTests
from assay.testing.sandbox_limits import LimitsTests

__all__ = ["SandboxConformance"]


class SandboxConformance(LifecycleTests, LimitsTests, ContainmentTests):
    """Subclass it with a name that starts with `Test`, and give `sandbox` and `runtime`."""
