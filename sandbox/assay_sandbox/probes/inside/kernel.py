"""Attacks through system calls: namespaces, mounts, privileges, rare and rarely tested ones."""

import ctypes
import mmap
import os
import platform
import signal
import struct
import time
from collections.abc import Callable

from .report import Facts, Report

NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
WIDE = 1 << 32
TCGETS, TCSETS = 0x5401, 0x5402
TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY = 0x5412, 0x541C, 0x5423, 0x541D, 0x540E
SETUID = 0o4755
X32 = 0x40000000

RARE_CALLS: "dict[str, tuple[int, ...]]" = {
    "io_uring_setup": (425, 1, 0),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, 0, 0, 0, 0, 0),
    "request_key": (249, 0, 0, 0, 0),
    "bpf": (321, 0, 0, 0),
    "userfaultfd": (323, 1),
    "perf_event_open": (298, 0, 0, 0, 0, 0),
    "fanotify_init": (300, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "init_module": (175, 0, 0, 0),
    "finit_module": (313, -1, 0, 0),
    "delete_module": (176, 0, 0),
    "open_by_handle_at": (304, -1, 0, 0),
    "name_to_handle_at": (303, -1, 0, 0, 0, 0),
    "syslog": (103, 10, 0, 0),
    "acct": (163, 0),
    "swapon": (167, 0, 0),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "modify_ldt": (154, 0, 0, 0),
    "quotactl": (179, 0, 0, 0, 0),
    "mbind": (237, 0, 0, 0, 0, 0, 0),
    "move_pages": (279, 0, 0, 0, 0, 0, 0),
    "migrate_pages": (256, 0, 0, 0, 0),
    "memfd_secret": (447, 0),
    "process_madvise": (440, -1, 0, 0, 0, 0),
    "process_mrelease": (448, -1, 0),
    "landlock_create_ruleset": (444, 0, 0, 1),
    "statmount": (457, 0, 0, 0, 0),
    "listmount": (458, 0, 0, 0, 0),
    "lookup_dcookie": (212, 0, 0, 0),
    "vhangup": (153,),
    "kcmp": (312, 0, 0, 0, 0, 0),
    "remap_file_pages": (216, 0, 0, 0, 0, 0),
    "map_shadow_stack": (453, 0, 0, 0),
    "lsm_list_modules": (461, 0, 0, 0),
    "quotactl_fd": (443, -1, 0, 0, 0),
    "clone3": (435, 0, 0),
    "openat2": (437, -100, 0, 0, 0),
    "personality": (135, 0x400000),
}


def new_namespaces(report: Report, facts: Facts) -> None:
    """A user namespace brings every capability inside; the others need one."""
    for label, flags in (("user", NEWUSER), ("mount", NEWNS), ("network", NEWNET), ("pid", NEWPID)):
        report.call_in_child(f"unshare {label}", 272, flags)
        report.call_in_child(f"unshare {label} in 64 bits", 272, flags | WIDE)
    clone_away(report, "clone into a user namespace", 56, NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    arguments = ctypes.create_string_buffer(struct.pack("8Q", NEWUSER, 0, 0, 0, 17, 0, 0, 0), 88)
    clone_away(report, "clone3 into a user namespace", 435, arguments, 88)
    report.call("enter another one", 308, 0, 0)
    report.call("another root", 161, b"/tmp")


def clone_away(report: Report, label: str, number: int, *arguments: "int | object") -> None:
    """A clone; the child, if there is one, ends at once."""

    def clone() -> None:
        if report.system_call(number, *arguments) == 0:
            os._exit(0)
        os.wait()

    report.attempt(label, clone)


def mounting(report: Report, facts: Facts) -> None:
    """Mounts by the old calls and by the new ones; the source is the token, to be found by."""
    source = facts["token"].encode()
    report.call("mount", 165, source, b"/tmp", b"tmpfs", 0, 0)
    report.call("mount writable again", 165, source, b"/usr", 0, 0x1020, 0)
    report.call("bind", 165, b"/tmp", b"/usr", 0, 0x1000, 0)
    report.call("unmount", 166, b"/proc", 2)
    report.call("change the root", 155, b"/", b"/")
    report.call("open a file system", 430, b"tmpfs", 0)
    report.call("copy a mount", 428, -100, b"/usr", 1)
    report.call("move a mount", 429, -100, b"/usr", -100, b"/tmp", 0)
    report.call("change a mount's attributes", 442, -100, b"/usr", 0, 0, 0)


def rare_calls(report: Report, facts: Facts) -> None:
    """Calls that hardly any program needs and that many exploits do."""
    for name, (number, *arguments) in RARE_CALLS.items():
        try:
            report.system_call(number, *arguments)
        except OSError as error:
            if error.errno == 38:
                report.refused(name, "ENOSYS")
            elif error.errno in (1, 13):
                report.refused(name, "EPERM")
            else:
                report.partial(f"{name} reached the kernel", error.errno)
        else:
            report.open(name)


def wide_arguments(report: Report, facts: Facts) -> None:
    """Forbidden values with a bit above those that the kernel reads."""
    for name, command in (("TIOCSTI", TIOCSTI), ("TIOCLINUX", TIOCLINUX), ("TIOCSCTTY", TIOCSCTTY)):
        refused_by_filter(report, f"{name} in 64 bits", 16, 0, command | WIDE, b"x")
    report.call("a netlink socket in 64 bits", 41, 16 | WIDE, 3, 0)
    report.call("a setuid mode in 64 bits", 90, b"/tmp", SETUID | WIDE)


def refused_by_filter(report: Report, label: str, number: int, *arguments: "int | bytes") -> None:
    """The filter must say no before the kernel says that it does not fit."""
    try:
        report.system_call(number, *arguments)
    except OSError as error:
        if error.errno == 38:
            report.refused(label, "ENOSYS")
        else:
            report.partial(f"{label}, for want of a terminal only", error.errno)
    else:
        report.open(label)


def machine(report: Report, facts: Facts) -> None:
    """Calls in the machine's other modes, which have other numbers."""
    if platform.machine() != "x86_64":
        report.refused("other modes", "no such machine")
        return
    # mov eax, 20 (getpid of 32 bits); int 0x80; ret
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
    child = os.fork()
    if child == 0:
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid() else 1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        report.refused("a call of 32 bits", f"signal {os.WTERMSIG(status)}")
    elif os.WEXITSTATUS(status) == 0:
        report.open("a call of 32 bits")
    else:
        report.refused("a call of 32 bits", "ENOSYS")
    report.call("a call of the x32 mode", X32 | 39)
    report.call("a mount in the x32 mode", X32 | 165, b"x", b"/tmp", b"tmpfs", 0, 0)


def gain_privileges(report: Report, facts: Facts) -> None:
    """Set-user-id files by every way, other ids, capabilities in files."""
    file = "/tmp/privileged"
    open(file, "w").close()
    create = os.O_CREAT | os.O_WRONLY
    attempts: dict[str, Callable[[], object]] = {
        "chmod": lambda: os.chmod(file, SETUID),
        "chmod by descriptor": lambda: os.fchmod(os.open(file, os.O_RDONLY), SETUID),
        "chmod with flags": lambda: report.system_call(452, -100, file.encode(), SETUID, 0),
        "create": lambda: os.open(file + "1", create, SETUID),
        "create by the old call": lambda: report.system_call(85, file.encode() + b"2", SETUID),
        "an unnamed file": lambda: os.open("/tmp", os.O_TMPFILE | os.O_WRONLY, SETUID),
        "a folder": lambda: os.mkdir(file + "3", 0o2755),
        "a node": lambda: os.mknod(file + "4", SETUID),
        "a capability in a file": lambda: os.setxattr(
            file, "security.capability", bytes.fromhex("0100000201000000000000000000000000000000")
        ),
        "become root": lambda: os.setuid(0),
        "become another group": lambda: os.setgid(0),
        "another list of groups": lambda: os.setgroups([0]),
        "give a file away": lambda: os.chown(file, 0, 0),
        "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
        "another host name": lambda: report.system_call(170, b"x", 1),
        "a better priority": lambda: os.nice(-5),
        "a real-time scheduler": lambda: os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(10)
        ),
    }
    for label, action in attempts.items():
        report.attempt(label, action)
    with open("/proc/self/status") as stream:
        status = dict(line.split(":", 1) for line in stream.read().splitlines())
    held = [name for name in status if name.startswith("Cap") and int(status[name], 16)]
    if held or status["NoNewPrivs"].strip() != "1":
        report.open("capabilities", held)
    else:
        report.refused("capabilities", "user namespace")
    for name in os.listdir("/tmp"):
        if name.startswith("privileged"):
            path = f"/tmp/{name}"
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)


def memory_files(report: Report, facts: Facts) -> None:
    """Memory that belongs to no process, and so counts against none."""
    report.call("a memory file", 319, b"x", 0)
    report.call("a secret memory file", 447, 0)
    report.call("System V shared memory", 29, 0, 4096, 0o1600)
    report.call("System V semaphores", 64, 0, 1, 0o1600)
    report.call("a System V message queue", 68, 0, 0o1600)
    report.call("asynchronous requests", 206, 1, ctypes.byref(ctypes.c_ulong()))


def terminal(report: Report, facts: Facts) -> None:
    """Typing into the caller's terminal, or taking it."""
    held = [number for number in (0, 1, 2) if os.isatty(number)]
    if held:
        report.open("a terminal as a stream", held)
    else:
        report.refused("a terminal as a stream", "supervisor")
    report.attempt("/dev/tty", os.open, "/dev/tty", os.O_RDWR)
    for number in (0, 1, 2):
        settings = ctypes.create_string_buffer(256)
        try:
            report.system_call(16, number, TCGETS, settings)
            report.system_call(16, number, TCSETS, settings)
        except OSError:
            report.refused(f"settings of a terminal on stream {number}", "supervisor")
        else:
            report.open(f"settings of a terminal on stream {number}")
    for name, command in (
        ("TIOCSTI", TIOCSTI),
        ("TIOCLINUX", TIOCLINUX),
        ("TIOCSETD", TIOCSETD),
        ("TIOCCONS", TIOCCONS),
        ("TIOCSCTTY", TIOCSCTTY),
    ):
        for number in (0, 1, 2):
            refused_by_filter(report, f"{name} on stream {number}", 16, number, command, b"x")
