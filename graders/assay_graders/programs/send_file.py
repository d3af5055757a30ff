"""Sends one regular file over the private channel, or nothing at all.

Started as `python -P -s -B send_file.py PATH CAP` after the code that wrote the file has ended.
What is no regular file, a link to one, or larger than CAP bytes is not sent.
"""

from __future__ import annotations

import os
import stat
import sys

CHANNEL = int(os.environ["ASSAY_CHANNEL_FILE"])


def content(path: str, cap: int) -> bytes | None:
    """The file's bytes, or None when it can't be sent."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return None
        data = file.read(cap + 1)
    return data if len(data) <= cap else None


def main() -> None:
    """Send one frame, or none."""
    data = content(sys.argv[1], int(sys.argv[2]))
    if data is None:
        return
    left = memoryview(len(data).to_bytes(4, "big") + data)
    while left:
        left = left[os.write(CHANNEL, left) :]


if __name__ == "__main__":
    main()
