"""Runs a service and hands on to it whoever connects to a candidate's jail. Runs in a jail itself.

Started as `python -P -s -S -B service.py CONFIG` with CONFIG a JSON object: `argv`, `port`,
`ready_line`, `seconds`. The service listens at that port of this jail; connections arrive at the
socket in `ASSAY_CHANNEL_LISTENER`, which belongs to the candidate's jail. On the channel it
sends a frame of one byte: R when the service is ready, E when it has ended before, S when it
stayed silent for so long. From then on it answers every frame with L while the service lives,
and with E after it has ended.
"""

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from typing import Any

LOOPBACK = "127.0.0.1"
BLOCK = 64 * 1024
LOGGED = 256 * 1024
MOST_CONNECTIONS = 64
PAUSE = 0.02
FRAME = b"\0\0\0\1"


class Flow:
    """Bytes on their way from one socket to another."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held = b""
        self.is_open = True
        self.is_shut = False

    def take(self) -> None:
        """Read a block; its absence is the end of this direction."""
        self.held = self.source.recv(BLOCK)
        self.is_open = bool(self.held)

    def give(self) -> None:
        """Write what is held, and hand on the end."""
        if self.held:
            self.held = self.held[self.sink.send(self.held) :]
        if not self.held and not self.is_open and not self.is_shut:
            self.is_shut = True
            self.sink.shutdown(socket.SHUT_WR)


class Connection:
    """Both directions between one client and the service, which may be slow to accept."""

    def __init__(self, client: socket.socket, port: int) -> None:
        server = socket.socket()
        self.ends = client, server
        self.flows = Flow(client, server), Flow(server, client)
        self.is_pending = True
        for end in self.ends:
            end.setblocking(False)
        # Whether that works shows when the socket can be written to.
        server.connect_ex((LOOPBACK, port))

    def wanted(self, end: socket.socket) -> int:
        """Events of one end that would get on with it."""
        if self.is_pending:
            return selectors.EVENT_WRITE if end is self.ends[1] else 0
        there, back = self.flows if end is self.ends[0] else self.flows[::-1]
        reads = there.is_open and not there.held
        writes = back.held or (not back.is_open and not back.is_shut)
        return reads * selectors.EVENT_READ | bool(writes) * selectors.EVENT_WRITE

    def serve(self, end: socket.socket, events: int) -> None:
        """Get on with it; raises OSError when an end is gone."""
        if self.is_pending:
            self.is_pending = False
            if end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise ConnectionRefusedError
            return
        there, back = self.flows if end is self.ends[0] else self.flows[::-1]
        if events & selectors.EVENT_READ:
            there.take()
        if events & selectors.EVENT_WRITE:
            back.give()

    @property
    def is_over(self) -> bool:
        return all(flow.is_shut for flow in self.flows)


class Room:
    """The service, its output, the sockets, and who is connected."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.logged = 0
        self.seen = b""
        self.is_told = not config["ready_line"]
        self.channel = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_SERVICE"]))
        self.listener = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_LISTENER"]))
        self.listener.setblocking(False)
        self.service = subprocess.Popen(
            config["argv"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in os.environ.items() if "_CHANNEL_" not in name},
        )
        self.selector = selectors.DefaultSelector()
        assert self.service.stdout is not None
        self.output = self.service.stdout.fileno()
        os.set_blocking(self.output, False)
        self.selector.register(self.output, selectors.EVENT_READ, self.read_output)

    def become_ready(self) -> bytes:
        """Wait until the service can be connected to, and has said so if it must."""
        end = time.monotonic() + self.config["seconds"]
        while self.service.poll() is None:
            if self.is_told and self.can_connect():
                return b"R"
            if time.monotonic() > end:
                return b"S"
            self.turn(PAUSE)
        self.turn(0)
        return b"E"

    def can_connect(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self.config["port"]), 5).close()
        except OSError:
            return False
        return True

    def turn(self, seconds: float) -> None:
        """Do whatever can be done now."""
        for key, events in self.selector.select(seconds):
            key.data(events)

    def read_output(self, _: int) -> None:
        """Keep the first part of what the service says; the rest must not stop it."""
        data = os.read(self.output, BLOCK)
        if not data:
            self.selector.unregister(self.output)
            return
        kept = data[: LOGGED - self.logged]
        self.logged += len(kept)
        os.write(1, kept)
        if not self.is_told:
            lines = (self.seen + data).split(b"\n")
            wanted = str(self.config["ready_line"]).encode()
            self.is_told = any(wanted in line for line in lines[:-1])
            self.seen = lines[-1][-BLOCK:]

    def accept(self, _: int) -> None:
        """One more client, if there is room."""
        if len(self.selector.get_map()) > 2 * MOST_CONNECTIONS:
            self.selector.unregister(self.listener)
            return
        with contextlib.suppress(OSError):
            client, _ = self.listener.accept()
            self.watch(Connection(client, self.config["port"]))

    def watch(self, connection: Connection) -> None:
        """Look out for what gets the connection on; close it when nothing does."""
        for end in connection.ends:
            with contextlib.suppress(KeyError):
                self.selector.unregister(end)
            wanted = connection.wanted(end)
            if wanted:

                def serve(events: int, end: socket.socket = end) -> None:
                    self.serve(connection, end, events)

                self.selector.register(end, wanted, serve)
        if connection.is_over:
            self.part(connection)

    def serve(self, connection: Connection, end: socket.socket, events: int) -> None:
        if end.fileno() < 0:
            return
        try:
            connection.serve(end, events)
        except BlockingIOError:
            return
        except OSError:
            self.part(connection)
            return
        self.watch(connection)

    def part(self, connection: Connection) -> None:
        for end in connection.ends:
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(end)
            end.close()
        if self.listener not in {key.fileobj for key in self.selector.get_map().values()}:
            self.selector.register(self.listener, selectors.EVENT_READ, self.accept)

    def answer(self, _: int) -> None:
        """Whoever watches over this jail asks whether the service lives."""
        if not self.channel.recv(BLOCK):
            sys.exit(0)
        self.say(b"L" if self.service.poll() is None else b"E")

    def say(self, word: bytes) -> None:
        self.channel.sendall(FRAME + word)


def main() -> None:
    """Start the service, say how that went, then serve until the jail's end."""
    room = Room(json.loads(sys.argv[1]))
    word = room.become_ready()
    room.say(word)
    if word != b"R":
        sys.exit(0)
    room.selector.register(room.listener, selectors.EVENT_READ, room.accept)
    room.selector.register(room.channel, selectors.EVENT_READ, room.answer)
    while True:
        room.turn(60)


if __name__ == "__main__":
    main()
