"""What a probe tells the host: single attempts, and how each one ended.

An attempt that meets an error of the system's was refused. Any other exception is a fault of
the probe, which then gives no answer at all. Few modules are imported, and late, because
starting Python is most of what a probe costs.
"""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Facts = dict[str, Any]
else:
    Facts = dict

MOST_TEXT = 400


def name_of(error: OSError) -> str:
    """The name of a system's error."""
    return errno.errorcode.get(error.errno or 0, "unknown")


class Report:
    """Attempts of one probe, in order: label, what happened, and a detail."""

    def __init__(self) -> None:
        self.checks: list[tuple[str, str, str]] = []
        self._libc: Any = None

    def refused(self, label: str, by: str) -> None:
        """It did not work; `by` is the name of an error, or of a layer."""
        self.checks.append((label, "refused", by))

    def open(self, label: str, value: object = "") -> None:
        """It worked, and must not."""
        self.checks.append((label, "open", str(value)[:MOST_TEXT]))

    def partial(self, label: str, value: object = "") -> None:
        """It worked within a bound that another layer would make tighter."""
        self.checks.append((label, "partial", str(value)[:MOST_TEXT]))

    def seen(self, label: str, value: object) -> None:
        """What was there to see, for the host to judge."""
        self.checks.append((label, "seen", str(value)[:MOST_TEXT]))

    def attempt(self, label: str, action: "Callable[..., object]", *arguments: "Any") -> None:
        """Do what must be refused."""
        try:
            value = action(*arguments)
        except OSError as error:
            self.refused(label, name_of(error))
        else:
            self.open(label, value)

    def call(self, label: str, number: int, *arguments: "Any") -> None:
        """Make a system call that must be refused."""
        self.attempt(label, self.system_call, number, *arguments)

    def system_call(self, number: int, *arguments: "Any") -> int:
        """A system call by number, arguments in full width; raises OSError."""
        import ctypes

        if self._libc is None:
            self._libc = ctypes.CDLL(None, use_errno=True)
        ctypes.set_errno(0)
        wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
        result = self._libc.syscall(ctypes.c_long(number), *wide)
        if result < 0:
            raise OSError(ctypes.get_errno(), "")
        return int(result)

    def call_in_child(self, label: str, number: int, *arguments: "Any") -> None:
        """Make a system call in a process of its own, which it may change for good."""
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                self.system_call(number, *arguments)
            except OSError as error:
                os.write(write, name_of(error).encode())
            else:
                os.write(write, b"open")
            finally:
                os._exit(0)
        os.close(write)
        answer = os.read(read, 64).decode()
        os.close(read)
        _, status = os.wait()
        if os.WIFSIGNALED(status):
            self.refused(label, f"signal {os.WTERMSIG(status)}")
        elif answer == "open":
            self.open(label)
        elif answer:
            self.refused(label, answer)
