"""Attacks on other processes: the host's, the init, and the end of one's own."""

import ctypes
import os
import resource
import signal
import socket
import time

from .report import Facts, Report

PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE = 0, 16, 0x4206
MOST_VISIBLE = 6
RECORD = b"done %d exited 0 0.000000 0.000000 1"


def ignore_signals() -> None:
    """Ignore every signal that can be ignored."""
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue


def own_channels() -> set[int]:
    """Descriptors that the host handed over on purpose."""
    prefix = "ASSAY_CHANNEL_"
    return {int(value) for name, value in os.environ.items() if name.startswith(prefix)}


def see_processes(report: Report, facts: Facts) -> None:
    """Processes of the host by listing, number, group and descriptor."""
    mine = [name for name in os.listdir("/proc") if name.isdigit()]
    if len(mine) <= MOST_VISIBLE:
        report.refused("more processes than its own", "pid namespace")
    else:
        report.open("more processes than its own", len(mine))
    victim = facts["pid"]
    if str(victim) not in mine:
        report.attempt("find the host's process", os.kill, victim, 0)
        report.attempt("hold the host's process", os.pidfd_open, victim)
        report.attempt("read its state", os.open, f"/proc/{victim}/stat", os.O_RDONLY)
        report.attempt("find its group", os.getpgid, victim)
        report.attempt("its priority", os.getpriority, os.PRIO_PROCESS, victim)


def signal_everything(report: Report, facts: Facts) -> None:
    """Every signal to everybody, to the init, and to the host's process."""
    ignore_signals()
    for deadly in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(-1, deadly)
        except OSError:
            continue
    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            continue
    own = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    if facts["pid"] not in own:
        report.attempt("kill the host's process", os.kill, facts["pid"], signal.SIGKILL)
        report.attempt("kill its group", os.killpg, facts["pid"], signal.SIGKILL)
    report.seen("signals were sent", "to all")


def read_init(report: Report, facts: Facts) -> None:
    """What process 1 has: its files, memory, environment and descriptors."""
    for name in ("fd", "environ", "mem", "maps", "root", "cwd", "exe", "stack", "syscall", "auxv"):
        path = f"/proc/1/{name}"
        report.attempt(name, os.open, path, os.O_RDONLY)
    for number in range(64):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            path = f"/proc/1/fd/{number}"
            try:
                os.open(path, flags)
            except OSError:
                continue
            report.open(f"descriptor {number} of process 1")
            return
    report.refused("descriptors of process 1 by number", "init")


def change_init(report: Report, facts: Facts) -> None:
    """Limits, priority, processors and fate of process 1."""
    report.call("limits", 302, 1, resource.RLIMIT_CORE, b"\0" * 16, 0)
    report.call("priority", 141, 0, 1, 19)
    report.call("priority of all", 141, 2, 1000, 19)
    report.call("scheduler", 144, 1, 5, b"\0" * 4)
    report.call("scheduling parameters", 142, 1, b"\0" * 4)
    report.call("processors", 203, 1, 8, b"\1" + b"\0" * 7)
    report.call("disk priority", 251, 1, 1, 7)
    report.attempt("fate", os.open, "/proc/1/oom_score_adj", os.O_WRONLY)


def forge_record(report: Report, facts: Facts) -> None:
    """A record of success through every descriptor that can be had, then another end."""
    channels = own_channels()
    reached = []
    for number in range(64):
        for path in (f"/proc/1/fd/{number}", f"/proc/self/fd/{number}", f"/dev/fd/{number}"):
            if number in (0, 1, 2, *channels):
                continue
            try:
                end = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue
            reached.append(path)
            for command in range(1, 200):
                os.write(end, RECORD % command)
    for number in range(3, 4096):
        if number in channels:
            continue
        try:
            os.fstat(number)
        except OSError:
            continue
        reached.append(f"inherited {number}")
        for command in range(1, 200):
            try:
                os.write(number, RECORD % command)
            except OSError:
                break
    for line in (b"done 1 exited 0 0.000000 0.000000 1\n", b"[I] exited with status: 0\n"):
        os.write(1, line)
        os.write(2, line)
    if reached:
        report.open("descriptors that are not its own", reached)
    else:
        report.refused("descriptors that are not its own", "init")


def inherited(report: Report, facts: Facts) -> None:
    """What was open before the program started."""
    found = {}
    for number in range(3, 1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        found[number] = os.readlink(f"/proc/self/fd/{number}")
    # The runner's own: its channel, and the pipe for this answer.
    extra = {
        number: name for number, name in found.items() if not name.startswith(("pipe:", "socket:"))
    }
    if extra or len(found) > 3 or not own_channels() <= set(found):
        report.open("inherited descriptors", found)
    else:
        report.refused("inherited descriptors", "init")
    for number in (0, 1, 2):
        try:
            socket.socket(fileno=os.dup(number)).getpeername()
        except OSError:
            report.refused(f"stream {number} is a socket of the host's", "supervisor")
        else:
            report.open(f"stream {number} is a socket of the host's")


def memory_of_others(report: Report, facts: Facts) -> None:
    """Debugging calls on process 1, on a child and on oneself."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    try:
        vector = (ctypes.c_long * 2)(0, 0)
        for label, number, arguments in (
            ("attach to process 1", 101, (PTRACE_ATTACH, 1, 0, 0)),
            ("seize a child", 101, (PTRACE_SEIZE, child, 0, 0)),
            ("read a child's memory", 310, (child, vector, 0, vector, 0, 0)),
            ("write a child's memory", 311, (child, vector, 0, vector, 0, 0)),
            ("take a descriptor of process 1", 438, (0, 0, 0)),
            ("compare with process 1", 312, (1, os.getpid(), 0, 0, 0)),
            ("advise a child's memory", 440, (0, 0, 0, 0, 0)),
        ):
            report.call(label, number, *arguments)
        report.call_in_child("be traced", 101, PTRACE_TRACEME, 0, 0, 0)
        report.attempt("open process 1's memory", os.open, "/proc/1/mem", os.O_RDWR)
        report.attempt("write a child's memory file", os.open, f"/proc/{child}/mem", os.O_RDWR)
    finally:
        os.close(write)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def disarm(report: Report, facts: Facts) -> None:
    """Switch off what ends this process with its parent, or shape what debuggers may do."""
    report.call("no death with the parent", 157, 1, 0, 0, 0, 0)
    report.call("another signal at the parent's death", 157, 1, 9, 0, 0, 0)
    report.call("the same in 64 bits", 157, 1 | 1 << 32, 0, 0, 0, 0)
    report.call("move the parts of its memory", 157, 35, 1, 0, 0, 0)
    report.call("let anybody trace", 157, 0x59616D61, -1 & 0xFFFFFFFF, 0, 0, 0)


def outlive(report: Report, facts: Facts) -> None:
    """A daemon that nothing of its ancestry can reach, left behind."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ignore_signals()
            os.write(write, b"up")
            for descriptor in range(64):
                try:
                    os.close(descriptor)
                except OSError:
                    continue
            for _ in range(100):
                time.sleep(0.05)
        os._exit(0)
    os.read(read, 2)
    report.seen("a daemon stays", "up")


def ignore_termination(report: Report, facts: Facts) -> None:
    """Ignore every signal and stay for seconds."""
    ignore_signals()
    time.sleep(4)


def stopped(report: Report, facts: Facts) -> None:
    """Children that are stopped, and then oneself."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(4)
            os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(4)
