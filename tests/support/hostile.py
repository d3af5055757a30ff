"""A worker that a test plays: the real channel, and a thread that answers as the test likes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from assay.api import Command, Limits, Outcome, OutcomeStatus
from assay_graders.calls.conversation import Conversation
from assay_graders.wire.frames import FrameStream
from assay_graders.wire.values import Codec
from assay_sandbox.channel import SocketChannel

Play = Callable[[socket.socket], None]


def question(codec: Codec, peer: socket.socket) -> list[Any]:
    """The next question, as an honest worker reads it."""
    frame = FrameStream(peer.fileno()).recv()
    assert frame is not None
    asked = codec.loads(frame)
    assert isinstance(asked, list)
    return asked


@define
class PlayedProcess:
    """Ends when the played side has said all it had to say."""

    channels: Mapping[str, SocketChannel]
    thread: threading.Thread

    def wait(self, deadline: float | None = None) -> Outcome:
        self.thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        if self.thread.is_alive():
            return Outcome(OutcomeStatus.TIMED_OUT)
        return Outcome(OutcomeStatus.EXITED, exit_code=0)

    def kill(self) -> None:
        self.channels["call"].close()


@define
class PlayedSession:
    """Starts the play instead of a command."""

    play: Play

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> PlayedProcess:
        mine, peer = socket.socketpair()

        def run() -> None:
            with peer, contextlib.suppress(OSError):
                self.play(peer)

        thread = threading.Thread(target=run, daemon=True)
        process = PlayedProcess({"call": SocketChannel(mine)}, thread)
        thread.start()
        return process


@define
class PlayedContext:
    """As much of a grader's context as a conversation needs."""

    limits: Limits = field(factory=Limits)


@contextmanager
def conversation(play: Play, codec: Codec | None = None) -> Iterator[Conversation]:
    """A conversation with a played worker."""
    context: Any = PlayedContext()
    session: Any = PlayedSession(play)
    with Conversation(context, session, Command((b"worker",)), codec or Codec()) as talk:
        yield talk
