"""Process 1 of a jail: starts one command at a time and reports how each ended.

`init.c` is the same program, compiled where the host has a compiler, and must answer like this
one. This one runs inside the jail, from the runtime's interpreter (`-I -S -B`), and so imports
nothing of assay. Both must keep three promises while everything else in the jail is hostile:

* One record a command. Nobody else can reach the control socket: it is close-on-exec, and
  this process is not dumpable, so its descriptors can't be opened through /proc.
* When a record is sent, every process that the command left behind is dead and reaped.
* When the supervisor is gone (end of file on the control socket), it kills and ends.

A signal that reaches it from outside the jail is passed on to the command; one from inside is
not. Only C modules are imported, because Python ones, `os` and `typing` first, treble the time that
it takes to start.
"""

import _ctypes
import _signal  # type: ignore[import-not-found]
import _socket
import errno
import fcntl
import posix as os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_DUMPABLE = 4
INT_BYTES = 4
MOST_FDS = 64
LEAST_FDS = 4
MESSAGE_BYTES = 4096
REQUEST_BYTES = 1 << 20
MOST_LIMITS = 16
RESERVED_FD = 64
NUMBER_BYTES = 9
SIGKILL = 9
SIGCHLD = 17
SIGSTOP = 19
FORWARDED = (1, 2, 3, 10, 12, 15)
SIGNAL_BYTES = 128
SI_USER = 0
SFD_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class Control:
    """The supervisor's socket, and the queue of the signals that process 1 listens to."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.socket = _socket.socket(fileno=descriptor)
        self._signals = queue_signals()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)

    def send(self, text: str) -> None:
        """One message to the supervisor."""
        self.socket.send(text.encode("ascii"))

    def receive(self) -> "tuple[bytes, list[int]]":
        """The next message and its descriptors; the jail ends when the supervisor is gone."""
        message, ancillary, flags, _ = self.socket.recvmsg(
            MESSAGE_BYTES - 1, _socket.CMSG_SPACE(MOST_FDS * INT_BYTES), _socket.MSG_CMSG_CLOEXEC
        )
        if not message:
            sys.exit(0)
        if flags & (_socket.MSG_TRUNC | _socket.MSG_CTRUNC):
            sys.exit(1)
        data = b"".join(part for _, _, part in ancillary)
        return message, memoryview(data).cast("i").tolist()

    def wait(self, command: int) -> bool:
        """Sleep until a message or a signal is there; True for a message."""
        ready = [descriptor for descriptor, _ in self._poll.poll()]
        self.forward(command)
        return self.socket.fileno() in ready

    def forward(self, command: int) -> None:
        """Empty the queue of signals; what was sent from outside the jail is for the command."""
        while True:
            try:
                got = os.read(self._signals, SIGNAL_BYTES)
            except BlockingIOError:
                return
            number, _, code, sender, *_ = memoryview(got).cast("i")
            if command and number != SIGCHLD and code == SI_USER and sender == 0:
                os.kill(command, number)


class Ending:
    """How a command ended, as wait status, and what all processes took that were reaped."""

    def __init__(self) -> None:
        self.status, self.cpu, self.peak_kib = 0, 0.0, 0

    def reap(self, command: int, kill_all: bool) -> bool:
        """Reap what is dead, or kill until none is left; whether the command was reaped."""
        found = False
        while True:
            try:
                if kill_all:
                    os.kill(-1, SIGKILL)
            except ProcessLookupError:
                pass
            try:
                pid, status, used = os.wait4(-1, 0 if kill_all else os.WNOHANG)
            except ChildProcessError:
                pid = 0
            if pid == 0:
                return found
            self.cpu += used.ru_utime + used.ru_stime
            self.peak_kib = max(self.peak_kib, used.ru_maxrss)
            if pid == command:
                self.status, found = status, True


def call(name: str, *arguments: "Any") -> int:
    """Call a function of the C library that returns a number."""
    this_program: Any = None
    function = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), name)
    result: int = _ctypes.call_function(function, arguments)
    if result < 0:
        raise OSError(name)
    return result


def queue_signals() -> int:
    """Ignore by default action whatever the jail sends; a descriptor that some are read from."""
    for number in _signal.valid_signals() - {SIGKILL, SIGSTOP}:
        _signal.signal(number, _signal.SIG_DFL)
    queued = (SIGCHLD, *FORWARDED)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, queued)
    numbers = sum(1 << (number - 1) for number in queued)
    return call("signalfd", -1, numbers.to_bytes(SIGNAL_BYTES, "little"), SFD_FLAGS)


def parse_request(data: bytes) -> "tuple[Any, ...]":
    """Program and arguments, environment, directory, limits; OSError if it is no request."""
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        require(at <= len(data))
        return data[at - size : at]

    def number(size: int, most: int) -> int:
        value = int.from_bytes(take(size), "little")
        require(value <= most)
        return value

    def text() -> bytes:
        whole = take(number(4, REQUEST_BYTES) + 1)
        require(whole.find(b"\0") == len(whole) - 1)
        return whole[:-1]

    argv = [text() for _ in range(number(4, REQUEST_BYTES))]
    env = [text() for _ in range(number(4, REQUEST_BYTES))]
    cwd = text()
    limits = [
        (number(4, MOST_LIMITS - 1), number(8, sys.maxsize), number(8, sys.maxsize))
        for _ in range(number(4, MOST_LIMITS))
    ]
    require(at == len(data) <= REQUEST_BYTES)
    require(argv != [] and argv[0] != b"" and cwd.startswith(b"/"))
    require(all(variable.find(b"=") > 0 for variable in env))
    require(all(soft <= hard for _, soft, hard in limits))
    return argv, env, cwd, limits


def require(held: bool) -> None:
    """Refuse a request."""
    if not held:
        raise OSError(errno.EINVAL, "")


def execute(argv: "list[bytes]", env: "list[bytes]") -> None:
    """Replace this process by the command; returns only by raising OSError."""
    environment = dict(variable.split(b"=", 1) for variable in env)
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


def become(fds: "list[int]", report: int) -> None:
    """In the child: take up the command's place and start it, or report why not."""
    stage = "session"
    try:
        os.setsid()
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        stage = "request"
        argv, env, cwd, limits = parse_request(os.pread(fds[0], REQUEST_BYTES + 1, 0))
        stage = "descriptors"
        report = move_up(report)
        for target, fd in enumerate([move_up(fd) for fd in fds[1:]]):
            os.dup2(fd, target)
        stage = "cwd"
        os.chdir(cwd)
        stage = "limits"
        for kind, soft, hard in limits:
            hardest = resource.getrlimit(kind)[1] % 2**64
            resource.setrlimit(kind, (min(soft, hardest), min(hard, hardest)))
        stage = "exec"
        execute(argv, env)
    except OSError as failed:
        os.write(report, f"{stage}:{failed.errno}".encode("ascii"))
    finally:
        os._exit(127)


def move_up(fd: int) -> int:
    """A duplicate above the numbers that the command will see, closed by its start."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RESERVED_FD)


def supervise(control: Control, number: str, command: int) -> None:
    """Wait for the command or for the order to kill it; then clean up and report."""
    began = time.monotonic()
    control.send("started " + number)
    ending, ended = Ending(), False
    while not ended:
        if control.wait(command):
            message, fds = control.receive()
            close_all(fds)
            if message == b"kill " + number.encode("ascii"):
                break
        ended = ending.reap(command, kill_all=False)
    wall = time.monotonic() - began
    ending.reap(command, kill_all=True)
    if os.WIFSIGNALED(ending.status):
        how = f"signalled {os.WTERMSIG(ending.status)}"
    else:
        how = f"exited {os.WEXITSTATUS(ending.status)}"
    control.send(f"done {number} {how} {ending.cpu:.6f} {wall:.6f} {ending.peak_kib}")


def serve(control: Control, number: str, fds: "list[int]") -> None:
    """Start one command and stay with it to its end."""
    if len(fds) < LEAST_FDS:
        sys.exit(1)
    report_read, report_write = os.pipe()
    control.forward(0)
    try:
        main = os.fork()
    except OSError as failed:
        close_all([*fds, report_read, report_write])
        control.send(f"failed {number} fork:{failed.errno}")
        return
    if main == 0:
        become(fds, report_write)
    close_all([*fds, report_write])
    problem = os.read(report_read, MESSAGE_BYTES)
    os.close(report_read)
    if problem:
        Ending().reap(main, kill_all=True)
        control.send(f"failed {number} {problem.decode()}")
    else:
        supervise(control, number, main)


def close_all(fds: "list[int]") -> None:
    """Close our copies."""
    for fd in fds:
        os.close(fd)


def main() -> None:
    """Say that the jail is up, and what is mounted in it; then serve."""
    call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
    control = Control(int(sys.argv[1]))
    os.umask(0o022)
    os.mkdir("/tmp/home", 0o700)
    with open("/proc/self/mountinfo", "rb") as mounts:  # noqa: PTH123 (pathlib is slow to load)
        control.socket.send(b"ready\n" + mounts.read())
    while True:
        message, fds = control.receive()
        word, _, number = message.partition(b" ")
        if word == b"start" and number.isdigit() and len(number) <= NUMBER_BYTES:
            serve(control, number.decode("ascii"), fds)
        else:
            close_all(fds)


if __name__ == "__main__":
    main()
