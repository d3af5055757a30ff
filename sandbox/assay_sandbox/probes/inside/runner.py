"""Runs one probe, or one after the other as the host asks, and sends what each reported.

Each asked probe runs in a process of its own, so that one that breaks takes none with it. A
message is a frame on the private channel: its length as four bytes, then a question of two
words or an answer in JSON.
"""

import marshal
import os
import select
import sys
import time

from .report import Facts, Report

SECONDS = 20.0
MOST_BYTES = 60_000
SIGKILL = 9


def main() -> None:
    """`ask`: serve the host's questions; `run MODULE FUNCTION`: one probe in this process."""
    facts: Facts = marshal.load(sys.stdin.buffer)
    channel = int(os.environ["ASSAY_CHANNEL_PROBE"])
    if sys.argv[1] != "ask":
        send(channel, perform(sys.argv[2], sys.argv[3], facts))
        os._exit(facts["exit_code"])
    while question := receive(channel):
        module, function = question.decode().split(" ")
        send(channel, answer(module, function, facts))


def perform(module: str, function: str, facts: Facts) -> bytes:
    """Run one probe; its answer says that it came to its end."""
    report = Report()
    getattr(__import__("inside." + module, fromlist=[function]), function)(report, facts)
    checks = ", ".join(
        "[" + ", ".join(quoted(part) for part in check) + "]" for check in report.checks
    )
    return f'{{"ended": true, "checks": [{checks}]}}'.encode()


def quoted(text: str) -> str:
    """A string as JSON has it; the module for that takes long to load."""
    plain = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(plain.get(char) or escape(char) for char in text) + '"'


def escape(char: str) -> str:
    """Anything but printable ASCII as one escape, beyond that as none."""
    if " " <= char <= "~":
        return char
    return f"\\u{min(ord(char), 0xFFFD):04x}"


def answer(module: str, function: str, facts: Facts) -> bytes:
    """Run one probe in a child; what is not an answer in time is none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            text = perform(module, function, facts)
        except BaseException as fault:
            text = f'{{"fault": {quoted(type(fault).__name__ + ": " + str(fault))}}}'.encode()
        os.write(write, text)
        os._exit(0)
    os.close(write)
    found, deadline = b"", time.monotonic() + SECONDS
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(read, MOST_BYTES)
        if not data:
            break
        found += data
    os.close(read)
    os.kill(child, SIGKILL)
    os.waitpid(child, 0)
    return found or b'{"fault": "it died"}'


def receive(channel: int) -> bytes:
    """The next question; nothing when there is no other."""
    return exactly(channel, int.from_bytes(exactly(channel, 4), "big"))


def exactly(channel: int, size: int) -> bytes:
    """So many bytes, or what there is before the end."""
    found = b""
    while len(found) < size and (data := os.read(channel, size - len(found))):
        found += data
    return found


def send(channel: int, message: bytes) -> None:
    """One frame."""
    message = message[:MOST_BYTES]
    left = len(message).to_bytes(4, "big") + message
    while left:
        left = left[os.write(channel, left) :]
