"""From a plan and a layout to a live session that was found to be what was asked for."""

from __future__ import annotations

from assay.api import JailSpec, Network, SandboxFailed
from assay_sandbox.cgroups import Group
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.disk import DiskUse
from assay_sandbox.launch import Jail, launch
from assay_sandbox.layout import Layout, disk_bound, memory_room
from assay_sandbox.mounted import check_mounts
from assay_sandbox.processor import ProcessorTime
from assay_sandbox.session import JailSession
from assay_sandbox.spares import SPARES

__all__ = ["open_session"]


def open_session(plan: LaunchPlan, spec: JailSpec, layout: Layout) -> JailSession:
    """Start a jail and check its own view of itself; raises SandboxFailed, and then it is gone."""
    loopback = spec.network is Network.LOOPBACK
    room = memory_room(spec)
    jail = launch(plan, layout, spec.limits, room, loopback=loopback)
    try:
        # While nsjail makes the jail, this process would only wait.
        SPARES.provide(plan, spec.limits, room)
        mounts, inside = jail.handshake()
        if inside != plan.ids:
            raise SandboxFailed("ids", "the init runs as another user than planned")
        check_mounts(mounts, layout.expected)
        jail.guards += (_processor_time(jail),)
        trees, most = disk_bound(spec)
        if trees:
            jail.guards += (DiskUse(jail.init_pid, trees, most),)
    except BaseException:
        jail.close()
        raise
    return JailSession(jail, spec, plan.ids)


def _processor_time(jail: Jail) -> ProcessorTime:
    group = next((guard for guard in jail.guards if isinstance(guard, Group)), None)
    return ProcessorTime(jail.init_pid, group)
