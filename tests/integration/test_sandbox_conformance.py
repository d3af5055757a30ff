"""Our sandbox passes the conformance tests that every other one is held to."""

from __future__ import annotations

import os
from typing import Any

import attrs
import pytest
from support.jail import runtime, sandbox

from assay.api import JailSpec, Runtime
from assay.testing import SandboxConformance
from assay_sandbox.sandbox import NsjailSandbox
from assay_sandbox.session import JailSession


class TestNsjailSandbox(SandboxConformance):
    def sandbox(self) -> NsjailSandbox:
        return sandbox()

    def runtime(self) -> Runtime:
        return runtime()


class LeakySandbox(NsjailSandbox):
    """Hands the caller's environment on, ignores what may be written, and one limit."""

    def open(self, spec: JailSpec) -> JailSession:
        mounts = tuple(attrs.evolve(mount, writable=False) for mount in spec.mounts)
        limits = attrs.evolve(spec.limits, wall=30.0)
        return super().open(
            attrs.evolve(spec, mounts=mounts, limits=limits, env={**os.environ, **spec.env})
        )


class LeakyConformance(SandboxConformance):
    def sandbox(self) -> NsjailSandbox:
        return LeakySandbox()

    def runtime(self) -> Runtime:
        return runtime()


@pytest.mark.parametrize(
    "broken",
    [
        LeakyConformance.test_the_caller_s_environment_stays_outside,
        LeakyConformance.test_trees_are_read_only_unless_the_profile_may_write,
        LeakyConformance.test_limits_that_can_not_be_enforced_are_refused,
    ],
)
def test_a_sandbox_that_breaks_the_contract_fails(broken: Any) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        broken(LeakyConformance())
