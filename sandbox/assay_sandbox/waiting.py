"""An nsjail that waits for its configuration, with all that belongs to one jail and no other."""

from __future__ import annotations

import contextlib
import socket

from attrs import frozen

from assay.api import Limits, SandboxFailed
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.memory import MemoryHold, open_hold
from assay_sandbox.notes import Note
from assay_sandbox.nsjail_process import NsjailProcess, start_nsjail

__all__ = ["Waiting", "start_waiting"]


@frozen
class Waiting:
    """Nothing of a jail is there yet but its nsjail, control socket, bound of memory and note.

    `inherited` is the number of the socket's other end in nsjail.
    """

    plan: LaunchPlan
    nsjail: NsjailProcess
    control: socket.socket
    inherited: int
    hold: MemoryHold
    note: Note

    def can_serve(self, plan: LaunchPlan, limits: Limits, room: int) -> bool:
        """Whether it is alive and can become this jail; its memory is bounded anew."""
        return not self.nsjail.wait(0) and plan == self.plan and self.hold.bind_again(limits, room)

    def abandon(self) -> None:
        """No jail is made of it; raises SandboxFailed when something can't be removed."""
        self.control.close()
        self.nsjail.discard()
        try:
            self.hold.release()
        finally:
            self.note.remove()


def start_waiting(
    plan: LaunchPlan, limits: Limits, room: int, descriptors: tuple[int, ...] = ()
) -> Waiting:
    """Start one whose memory is bounded, and which inherits these descriptors.

    Raises SandboxFailed, and then nothing is left.
    """
    try:
        with contextlib.ExitStack() as undo:
            hold = open_hold(plan.memory, limits, room)
            undo.callback(hold.release)
            note = Note()
            undo.callback(note.remove)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(ours.close)
            with theirs:
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                inherited = theirs.fileno()
                program = () if plan.init.program is None else (plan.init.program,)
                passed = (inherited, *program, *descriptors)
                nsjail = start_nsjail(plan.mount_interface, passed, hold=hold)
                undo.callback(nsjail.discard)
                note.add(nsjail.pid)
            undo.pop_all()
    except OSError:
        raise SandboxFailed("start", "the host lacks what it needs") from None
    return Waiting(plan, nsjail, ours, inherited, hold, note)
