"""What a jail leaves in its workspace for whoever reads it afterwards, or meanwhile."""

import ctypes
import os
import socket
import time

from .report import Facts, Report

DEEP = 200
MANY = 300


def leave_traps(report: Report, facts: Facts) -> None:
    """Links, FIFOs, sockets, deep and unreadable folders, names that hurt."""
    root = "/workspace"
    os.chdir(root)
    os.symlink(facts["secret"], "link")
    os.symlink("/no-such-place", "dangling")
    os.symlink("..", "up")
    os.symlink(".", "loop")
    os.mkdir("linked")
    os.symlink(facts["folder"], "linked/folder")
    os.mkfifo("fifo")
    end = socket.socket(socket.AF_UNIX)
    end.bind("socket")
    open("twice", "w").close()
    os.link("twice", "again")
    for name in (b"new\nline", b"escape\x1b[31m", b"invalid\xff\xfe", b"end. ", b"back\\slash"):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    os.mkdir("many")
    for number in range(MANY):
        open(f"many/{number}", "w").close()
    sparse = os.open("sparse", os.O_CREAT | os.O_WRONLY)
    os.ftruncate(sparse, facts["limits"]["file_size"])
    os.close(sparse)
    os.mkdir("locked")
    open("locked/file", "w").close()
    os.mkdir("locked/inner")
    os.chmod("locked/inner", 0)
    os.chmod("locked", 0)
    place = os.open(".", os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=place)
        place, above = os.open("d", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    report.seen("traps are laid", DEEP + MANY)


def replace_result(report: Report, facts: Facts) -> None:
    """A result that is something else than a file, in each way."""
    os.chdir("/workspace")
    os.symlink(facts["secret"], "by-link")
    os.symlink("/dev/zero", "by-device")
    os.symlink("/no-such-place", "by-dangling")
    os.mkfifo("by-fifo")
    os.mkdir("by-folder")
    os.symlink(facts["folder"], "by-parent")
    open("other", "w").close()
    os.link("other", "by-hard-link")
    end = socket.socket(socket.AF_UNIX)
    end.bind("by-socket")
    report.seen("results are replaced", "in each way")


def swap(report: Report, facts: Facts) -> None:
    """A file that becomes a link and a file again, as fast as it can, while the host reads."""
    os.chdir("/workspace")
    os.mkdir("dir")
    with open("dir/name", "w") as stream:
        stream.write("plain")
    os.symlink(facts["folder"], "bad-dir")
    channel = int(os.environ["ASSAY_CHANNEL_NOISE"])
    os.write(channel, b"\0\0\0\2up")
    end = time.monotonic() + 15
    while time.monotonic() < end:
        with open("next", "w") as stream:
            stream.write("plain")
        os.rename("next", "swapped")
        os.symlink(facts["secret"], "next")
        os.rename("next", "swapped")
        os.rename("dir", "aside")
        os.rename("bad-dir", "dir")
        os.rename("dir", "bad-dir")
        os.rename("aside", "dir")


def mount_link(report: Report, facts: Facts) -> None:
    """A folder of the workspace that leads to a folder of the host."""
    os.symlink(facts["folder"], "/workspace/sub")
    report.seen("a link lies in the workspace", "sub")


def carry_over(report: Report, facts: Facts) -> None:
    """Something of each kind in one jail, looked for in the next."""
    token = facts["token"]
    files = [f"{folder}/{token}" for folder in ("/tmp", "/tmp/home", "/dev/shm", "/var/tmp")]
    sizes = (ctypes.c_long * 8)(0, 1, 16)
    queue = (240, token.encode(), os.O_CREAT | os.O_RDWR, 0o600, sizes)
    end = socket.socket(socket.AF_UNIX)
    if facts["leaves"]:
        left = 0
        for path in files:
            try:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
                left += 1
            except OSError:
                continue
        report.system_call(*queue)
        end.bind("\0" + token)
        end.listen()
        if os.fork() == 0:
            time.sleep(30)
        report.seen("things are left", left + 3)
        return
    for path in files:
        report.attempt(path, os.stat, path)
    report.call("a queue of messages", 240, token.encode(), os.O_RDONLY, 0, 0)
    report.attempt("a socket by its name", end.connect, "\0" + token)
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    if others:
        report.open("a process", others)
    else:
        report.refused("a process", "pid namespace")
