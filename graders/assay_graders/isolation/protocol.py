"""The words of the exchange, and the layers around it.

One conversation, strictly alternating. The driver asks the host in envelopes: one byte and,
for FORWARD, a time and a frame that the host hands to the worker unread. The host answers with
ANSWER and the worker's frame, or with LOST and one word. Inside, a message is a list: a number
that the answer must repeat, a word, and what belongs to it.
"""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "CALL_BACK",
    "CANCELLED",
    "CANCEL_BACK",
    "CLASS_BACK",
    "CONFIG",
    "DO_BACK",
    "ENVELOPE",
    "FILE",
    "FORWARD",
    "FORWARDS",
    "FREE",
    "LOST",
    "MAX_NESTING",
    "MILLISECONDS",
    "NEXT_BACK",
    "OK",
    "RAISE",
    "REFUSED",
    "RESTART",
    "START_BACK",
    "WIRE",
    "WITH",
    "WROTE",
]

WIRE = "wire"
"""Name of the private channel, on both sides."""
CONFIG = "ASSAY_WORKER_CONFIG"

FORWARD, RESTART = b"F", b"R"
ANSWER, LOST = b"A", b"X"

OK = "ok"
RAISE = "raise"
REFUSED = "refused"
CALL_BACK = "call-back"
NEXT_BACK = "next-back"
DO_BACK = "do-back"
CLASS_BACK = "class-back"
START_BACK = "start-back"
CANCEL_BACK = "cancel-back"

CANCELLED = "cancelled"
"""What came of a task, beside OK, RAISE and REFUSED."""

WITH = "with"
"""Second in a message of the driver's: a list of additions follows, then the message goes on."""
FILE = "file"
"""What became of a file: an addition there, a note here."""
FREE = "free"
"""Something that the other side can drop, and how often it was received: both ways."""
WROTE = "wrote"
"""A note: what became of a container of a test's object."""

FORWARDS = {
    "argv": "argv",
    "clock": "clock",
    "cwd": "cwd",
    "environ": "environ",
    "input": "stdin",
    "random": "random",
    "stdin": "stdin",
}
"""What can be handed on to the candidate's process, and the name that a task declares it by."""

MILLISECONDS = 4
"""Bytes after FORWARD: how many milliseconds the test in progress has left, 0 for no limit."""

ENVELOPE = 1 + MILLISECONDS
"""Bytes that an envelope adds to a frame, at most."""

MAX_NESTING = 40
"""How deep calls may go back and forth at one time."""
