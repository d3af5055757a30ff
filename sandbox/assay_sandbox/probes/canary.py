"""The jail that is weak on purpose: in it, probes must see that they escape.

Nothing but this module makes one. A JailSpec has no way to ask for it, so no suite, grader or
agent can reach it. It shares the network, filters no system call, has wider limits than the
probes are told, and shows the sentinels' folder, writable. Process numbers stay apart: the
init ends its jail by killing everything in sight.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from assay.api import JailSpec, SandboxFailed
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.launch import launch
from assay_sandbox.layout import layout_of, memory_room
from assay_sandbox.memory import open_hold
from assay_sandbox.policy import Policy
from assay_sandbox.probes.sentinels import Sentinels
from assay_sandbox.session import JailSession
from assay_sandbox.textproto import Message

__all__ = ["NO_POLICY", "weakened"]

NO_POLICY = Policy("any", "POLICY none { } USE none DEFAULT ALLOW", "none")


def weakened(
    plan: LaunchPlan, sentinels: Sentinels, init: bytes
) -> Callable[[JailSpec], JailSession]:
    """What opens weak jails around these sentinels, which are the canary's own."""
    weak = attrs.evolve(plan, policy=NO_POLICY, share_network=True)

    def open_weak(spec: JailSpec) -> JailSession:
        layout = layout_of(spec, init)
        holes = tuple(
            _writable(str(place), inside)
            for place, inside in (
                (sentinels.private, str(sentinels.private)),
                (sentinels.fixture, "/fixture"),
            )
        )
        layout = attrs.evolve(layout, mounts=(*layout.mounts, *holes))
        hold = open_hold(plan.memory, spec.limits, memory_room(spec))
        jail = launch(weak, layout, hold, loopback=True)
        try:
            _, inside = jail.handshake()
            if inside != plan.ids:
                raise SandboxFailed("ids", "the init runs as another user than planned")
        except BaseException:
            jail.close()
            raise
        return JailSession(jail, spec, plan.ids)

    return open_weak


def _writable(source: str, place: str) -> Message:
    message = Message()
    message.text("dst", place)
    message.text("src", source)
    message.flag("is_bind", True)
    message.flag("rw", True)
    return message
