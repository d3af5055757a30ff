"""What is said to a service arrives whole, in order and in both directions, however it is cut."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import assay

PROGRAM = Path(assay.__file__).with_name("service_program.py")
PATIENCE = 30.0
ECHO = """
import os, socket, sys, threading
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
def answer(peer):
    try:
        while data := peer.recv(1 << 15):
            peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    peer.close()
while True:
    threading.Thread(target=answer, args=(server.accept()[0],)).start()
"""


@frozen
class Room:
    """A running program: where clients connect, and the channel that it answers on."""

    place: tuple[str, int]
    channel: socket.socket

    def says(self) -> bytes:
        """Its next word."""
        frame = self.channel.recv(5, socket.MSG_WAITALL)
        assert frame[:4] == b"\0\0\0\1"
        return frame[4:]

    def lives(self) -> bool:
        self.channel.sendall(b"\0\0\0\1?")
        return self.says() == b"L"


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [sys.executable, "-c", ECHO, str(port)]
    config = {"argv": argv, "port": port, "ready_line": "", "seconds": PATIENCE}
    with ours, theirs, socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        environment = {
            "ASSAY_CHANNEL_SERVICE": str(theirs.fileno()),
            "ASSAY_CHANNEL_LISTENER": str(listener.fileno()),
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", str(PROGRAM), json.dumps(config)],
            env=environment,
            pass_fds=(theirs.fileno(), listener.fileno()),
            process_group=0,
        )
        try:
            found = Room(listener.getsockname(), ours)
            assert found.says() == b"R"
            yield found
        finally:
            subprocess.run(["/bin/kill", "-KILL", "--", f"-{process.pid}"], check=True)
            process.wait(PATIENCE)


CHUNKS = st.lists(st.integers(1, 200_000), min_size=0, max_size=4)


@given(sizes=CHUNKS)
@settings(max_examples=20)
def test_every_byte_comes_back_in_order(room: Room, sizes: list[int]) -> None:
    chunks = [bytes([65 + index]) * size for index, size in enumerate(sizes)]
    with socket.create_connection(room.place, PATIENCE) as client:
        received = bytearray()
        reader = threading.Thread(target=lambda: received.extend(_all_of(client)))
        reader.start()
        for chunk in chunks:
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)
        reader.join(PATIENCE)
    assert bytes(received) == b"".join(chunks)


ENDINGS = st.sampled_from(["at once", "reset", "half", "unread"])


@given(endings=st.lists(ENDINGS, min_size=1, max_size=100))
@settings(max_examples=10)
def test_no_client_that_leaves_stops_the_next_one(room: Room, endings: list[str]) -> None:
    for ending in endings:
        with socket.create_connection(room.place, PATIENCE) as client:
            if ending == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1" + b"\0" * 7)
            if ending in ("unread", "reset"):
                client.sendall(b"x" * 10_000)
            if ending == "half":
                client.shutdown(socket.SHUT_RD)
    with socket.create_connection(room.place, PATIENCE) as client:
        client.sendall(b"still")
        client.shutdown(socket.SHUT_WR)
        assert _all_of(client) == b"still"
    assert room.lives()


def test_more_clients_than_there_is_room_for_wait_for_their_turn(room: Room) -> None:
    waiting = [socket.create_connection(room.place, PATIENCE) for _ in range(90)]
    for client in waiting[:80]:
        client.close()
    for client in waiting[80:]:
        client.sendall(b"late")
        client.shutdown(socket.SHUT_WR)
        assert _all_of(client) == b"late"
        client.close()


def _all_of(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(1 << 16), b""))
