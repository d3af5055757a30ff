"""Runs one probe, or one after the other as the host asks, and sends what each reported.

Each asked probe runs in a process of its own, so that one that breaks takes none with it. A
message is a frame on the private channel: its length as four bytes, then JSON.
"""

import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from .report import Facts, Report

SECONDS = 8.0
MOST_BYTES = 60_000


def main() -> None:
    """`ask`: serve the host's questions; `run MODULE FUNCTION`: one probe in this process."""
    facts: Facts = json.load(sys.stdin)
    end = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_PROBE"]))
    if sys.argv[1] == "ask":
        while question := receive(end):
            send(end, answer(question["module"], question["function"], facts))
    else:
        send(end, perform(sys.argv[2], sys.argv[3], facts))
        os._exit(facts["exit_code"])


def perform(module: str, function: str, facts: Facts) -> "dict[str, Any]":
    """Run one probe; its answer says that it came to its end."""
    report = Report()
    getattr(importlib.import_module("inside." + module), function)(report, facts)
    return {"checks": report.checks, "ended": True}


def answer(module: str, function: str, facts: Facts) -> "dict[str, Any]":
    """Run one probe in a child; what is not an answer in time is none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            text = json.dumps(perform(module, function, facts)).encode()[:MOST_BYTES]
        except BaseException as fault:
            text = json.dumps({"fault": type(fault).__name__ + ": " + str(fault)}).encode()
        os.write(write, text)
        os._exit(0)
    os.close(write)
    text, deadline = b"", time.monotonic() + SECONDS
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(read, MOST_BYTES)
        if not data:
            break
        text += data
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        found = {"fault": "it died"}
    return found


def receive(end: socket.socket) -> "dict[str, Any] | None":
    """The next question, or None when there is no other."""
    header = end.recv(4, socket.MSG_WAITALL)
    if len(header) < 4:
        return None
    question: dict[str, Any] = json.loads(
        end.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL)
    )
    return question


def send(end: socket.socket, message: "dict[str, Any]") -> None:
    """One frame."""
    text = json.dumps(message).encode()[:MOST_BYTES]
    end.sendall(len(text).to_bytes(4, "big") + text)
