"""The jail that is weak on purpose: in it, probes must see that they escape.

Nothing but this module makes one. A JailSpec has no way to ask for it, so no suite, grader or
agent can reach it. It shares the network, filters no system call, has wider limits than the
probes are told, and shows the sentinels' folder, writable. Process numbers stay apart: the
init ends its jail by killing everything in sight.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from assay.api import JailSpec, Network
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.layout import Expected, layout_of
from assay_sandbox.opening import open_session
from assay_sandbox.policy import PolicyKind, policy_of_this_host
from assay_sandbox.probes.sentinels import Sentinels
from assay_sandbox.session import JailSession
from assay_sandbox.textproto import Message

__all__ = ["weakened"]


def weakened(plan: LaunchPlan, sentinels: Sentinels) -> Callable[[JailSpec], JailSession]:
    """What opens weak jails around these sentinels, which are the canary's own."""
    unfiltered = policy_of_this_host(PolicyKind.UNFILTERED)
    weak = attrs.evolve(plan, policy=unfiltered, share_network=True)
    holes = {str(sentinels.private): sentinels.private, "/fixture": sentinels.fixture}

    def open_weak(spec: JailSpec) -> JailSession:
        layout = layout_of(spec, plan.init)
        layout = attrs.evolve(
            layout,
            mounts=(*layout.mounts, *(_writable(str(src), dst) for dst, src in holes.items())),
            expected=(*layout.expected, *(Expected(dst, writable=True) for dst in holes)),
        )
        return open_session(weak, attrs.evolve(spec, network=Network.LOOPBACK), layout)

    return open_weak


def _writable(source: str, place: str) -> Message:
    message = Message()
    message.text("dst", place)
    message.text("src", source)
    message.flag("is_bind", True)
    for flag in ("rw", "nosuid", "nodev"):
        message.flag(flag, True)
    return message
