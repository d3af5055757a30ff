"""Process 1 of a jail: starts one command at a time and reports how each ended.

It runs inside the jail, from the runtime's interpreter (`-I -S -B`), and so imports nothing of
assay. It must keep three promises while everything else in the jail is hostile:

* One record a command. Nobody else can reach the control socket: it is close-on-exec, and
  this process is not dumpable, so its descriptors can't be opened through /proc.
* When a record is sent, every process that the command left behind is dead and reaped.
* When the supervisor is gone (end of file on the control socket), it kills and ends.

Only C modules are imported, because Python ones, `os` and `typing` first, treble the time that
it takes to start.
"""

import _ctypes
import _signal  # type: ignore[import-not-found]
import _socket
import errno
import fcntl
import marshal
import posix as os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_DUMPABLE = 4
FD_SIZE = 4
MAX_FDS = 64
MESSAGE_BYTES = 4096
RESERVED_FD = 64
SIGKILL = 9
SIGCHLD = 17


class Control:
    """The supervisor's socket and the wake-up pipe of SIGCHLD."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.socket = _socket.socket(fileno=descriptor)
        self._wake, wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_end, False)
        _signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    def send(self, text: str) -> None:
        """One message to the supervisor."""
        self.socket.send(text.encode("ascii"))

    def receive(self) -> "tuple[bytes, list[int]]":
        """The next message and its descriptors; an empty one when the supervisor is gone."""
        size = MAX_FDS * FD_SIZE
        message, ancillary, _, _ = self.socket.recvmsg(
            MESSAGE_BYTES, _socket.CMSG_SPACE(size), _socket.MSG_CMSG_CLOEXEC
        )
        fds: list[int] = []
        for _, _, data in ancillary:
            for at in range(0, len(data), FD_SIZE):
                fds.append(int.from_bytes(data[at : at + FD_SIZE], sys.byteorder))
        return message, fds

    def wait(self) -> bool:
        """Sleep until a message or a dead child is there; True for a message."""
        ready = [descriptor for descriptor, _ in self._poll.poll()]
        if self._wake in ready:
            try:
                while os.read(self._wake, MESSAGE_BYTES):
                    pass
            except BlockingIOError:
                pass
        return self.socket.fileno() in ready


class Usage:
    """Processor seconds and largest resident size of all processes reaped."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.peak_kib = 0

    def add(self, used: "Any") -> None:
        self.cpu += used.ru_utime + used.ru_stime
        self.peak_kib = max(self.peak_kib, used.ru_maxrss)


def make_undumpable() -> None:
    """Close /proc/1 to everybody else in the jail."""
    this_program: Any = None
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, 0, 0, 0, 0)) != 0:
        raise OSError("prctl")


def default_signals() -> None:
    """As process 1, ignore by default action whatever the jail sends; wake up on SIGCHLD."""
    for number in range(1, _signal.NSIG):
        try:
            _signal.signal(number, _signal.SIG_DFL)
        except (OSError, ValueError):
            continue
    _signal.signal(SIGCHLD, lambda number, frame: None)


def read_request(descriptor: int) -> "dict[str, Any]":
    """What to start; the supervisor wrote it, so it is trusted."""
    with open(descriptor, "rb") as stream:
        stream.seek(0)
        request: dict[str, Any] = marshal.load(stream)
    return request


def execute(request: "dict[str, Any]") -> None:
    """Replace this process by the command; returns only by raising OSError."""
    argv = request["argv"]
    environment = dict(request["env"])
    if b"/" in argv[0]:
        places = [b""]
    else:
        path = environment.get(b"PATH", b"/usr/bin:/bin")
        places = [place + b"/" for place in path.split(b":") if place]
    problem = OSError(errno.ENOENT, "")
    for place in places:
        try:
            os.execve(place + argv[0], argv, environment)
        except OSError as failed:
            if problem.errno == errno.ENOENT:
                problem = failed
    raise problem


def become(request: "dict[str, Any]", fds: "list[int]", report: int) -> None:
    """In the child: take up the command's place and start it, or report why not."""
    stage = "session"
    try:
        os.setsid()
        for number in range(1, _signal.NSIG):
            try:
                _signal.signal(number, _signal.SIG_DFL)
            except (OSError, ValueError):
                continue
        stage = "descriptors"
        report = move_up(report)
        for target, fd in enumerate([move_up(fd) for fd in fds]):
            os.dup2(fd, target)
        stage = "cwd"
        os.chdir(request["cwd"])
        stage = "limits"
        for kind, wanted in request["limits"]:
            hardest = resource.getrlimit(kind)[1]
            soft, hard = (
                value if hardest == resource.RLIM_INFINITY else min(value, hardest)
                for value in wanted
            )
            resource.setrlimit(kind, (soft, hard))
        stage = "exec"
        execute(request)
    except OSError as failed:
        name = errno.errorcode.get(failed.errno or 0, "unknown")
        os.write(report, (stage + ":" + name).encode("ascii"))
    finally:
        os._exit(127)


def move_up(fd: int) -> int:
    """A duplicate above the numbers that the command will see, closed by its start."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RESERVED_FD)


def kill_and_reap(usage: Usage, status: "int | None", main: int) -> int:
    """Kill every other process of the jail until none is left; the main one's wait status."""
    while True:
        try:  # noqa: SIM105 (contextlib is slow to load)
            os.kill(-1, SIGKILL)
        except ProcessLookupError:
            pass
        try:
            pid, ended, used = os.wait4(-1, 0)
        except ChildProcessError:
            return status if status is not None else 0
        usage.add(used)
        if pid == main:
            status = ended


def supervise(control: Control, number: str, main: int) -> None:
    """Wait for the command or for the order to kill it; then clean up and report."""
    began = time.monotonic()
    control.send("started " + number)
    usage = Usage()
    status = None
    while status is None:
        if control.wait():
            message, _ = control.receive()
            if not message:
                sys.exit(0)
            if message == b"kill " + number.encode("ascii"):
                break
        status = reap(usage, main)
    wall = time.monotonic() - began
    status = kill_and_reap(usage, status, main)
    if os.WIFSIGNALED(status):
        ended = f"signalled {os.WTERMSIG(status)}"
    else:
        ended = f"exited {os.WEXITSTATUS(status)}"
    control.send(f"done {number} {ended} {usage.cpu:.6f} {wall:.6f} {usage.peak_kib}")


def reap(usage: Usage, main: int) -> "int | None":
    """Collect every dead process without waiting; the main one's status when it is dead."""
    status = None
    while True:
        try:
            pid, ended, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        usage.add(used)
        if pid == main:
            status = ended


def serve(control: Control, number: str, fds: "list[int]") -> None:
    """Start one command and stay with it to its end."""
    request = read_request(fds[0])
    report_read, report_write = os.pipe()
    try:
        main = os.fork()
    except OSError as failed:
        for fd in (*fds[1:], report_read, report_write):
            os.close(fd)
        name = errno.errorcode.get(failed.errno or 0, "unknown")
        control.send(f"failed {number} fork:{name}")
        return
    if main == 0:
        become(request, fds[1:], report_write)
    for fd in (*fds[1:], report_write):
        os.close(fd)
    problem = os.read(report_read, MESSAGE_BYTES)
    os.close(report_read)
    if problem:
        kill_and_reap(Usage(), None, main)
        control.send(f"failed {number} {problem.decode()}")
    else:
        supervise(control, number, main)


def main() -> None:
    """Say that the jail is up, and what is mounted in it; then serve."""
    default_signals()
    control = Control(int(sys.argv[1]))
    make_undumpable()
    os.umask(0o022)
    os.mkdir("/tmp/home", 0o700)
    with open("/proc/self/mountinfo", "rb") as mounts:  # noqa: PTH123 (pathlib is slow to load)
        control.socket.send(b"ready\n" + mounts.read())
    while True:
        message, fds = control.receive()
        if not message:
            sys.exit(0)
        word, _, number = message.decode("ascii").partition(" ")
        if word == "start":
            serve(control, number, fds)


if __name__ == "__main__":
    main()
