"""Tries an init where it is to serve: one jail of the system alone, one command that aborts."""

from __future__ import annotations

import signal

from assay.api import Command, Digest, JailSpec, Profile, Runtime, SandboxFailed, TreeRef
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.layout import layout_of
from assay_sandbox.opening import open_session

__all__ = ["try_init"]

NOTHING = Runtime(TreeRef("none", Digest("none")), Digest("none"))
ABORTS = Command((b"/bin/sh", b"-c", b"kill -ABRT $$"))


def try_init(plan: LaunchPlan) -> None:
    """Raise SandboxFailed unless a jail of this plan is as planned, and its init tells the truth.

    Only a compiled init can be tried without a runtime.
    """
    spec = JailSpec(Profile.WORKER, NOTHING)
    with open_session(plan, spec, layout_of(spec, plan.init)) as session:
        outcome = session.run(ABORTS)
    if outcome.signal != signal.SIGABRT:
        raise SandboxFailed("init", "it does not tell how a command ended")
