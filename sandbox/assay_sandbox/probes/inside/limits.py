"""Attacks on what a jail may use up; each stops by itself soon after the claimed limit."""

import os
import resource
import time

from .report import Facts, Report, name_of

SIGKILL = 9
FACTOR = 2
LOWEST_BOUND = 10**6


def fork_bomb(report: Report, facts: Facts) -> None:
    """More processes than the limit allows."""
    children: list[int] = []
    most = facts["limits"]["processes"] * FACTOR
    met = ""
    while len(children) < most and not met:
        try:
            child = os.fork()
        except OSError as error:
            met = name_of(error)
            break
        if child == 0:
            time.sleep(30)
        children.append(child)
    for child in children:
        os.kill(child, SIGKILL)
        os.waitpid(child, 0)
    judge(report, "processes", met)


def judge(report: Report, label: str, met: str) -> None:
    """Whether a limit was met before the probe stopped by itself."""
    if met:
        report.refused(label, met)
    else:
        report.open(label, "no limit was met")


def growing_forks(report: Report, facts: Facts) -> None:
    """All processes fork at once, for a moment."""
    end = time.monotonic() + 0.15
    while time.monotonic() < end:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)
    os._exit(0)


def thread_bomb(report: Report, facts: Facts) -> None:
    """More threads than the limit allows."""
    import threading

    done = threading.Event()
    threads: list[threading.Thread] = []
    met = ""
    threading.stack_size(65536)
    for _ in range(facts["limits"]["processes"] * FACTOR):
        thread = threading.Thread(target=done.wait, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            met = "EAGAIN"
            break
        threads.append(thread)
    done.set()
    for thread in threads:
        thread.join()
    judge(report, "threads", met)


def fill_tmp(report: Report, facts: Facts) -> None:
    """More bytes and more files on each tmpfs than it is meant to hold."""
    for folder in ("/tmp", "/dev/shm"):
        if not os.path.isdir(folder):
            report.refused(folder, "mount namespace")
            continue
        size = facts["limits"]["tmp"] if folder == "/tmp" else facts["shared_memory"]
        judge(report, f"bytes in {folder}", fill(folder, size * FACTOR))
        files = os.statvfs(folder).f_files
        if files > LOWEST_BOUND or not files:
            report.open(f"files in {folder}", files)
        elif files > 10_000:
            report.refused(f"files in {folder}", "tmpfs size")
        else:
            judge(report, f"files in {folder}", crowd(folder, files * FACTOR))


def fill(folder: str, size: int) -> str:
    """Write files up to a total size; the error that stopped it, or nothing."""
    block, written, number, met = bytes(256 * 1024), 0, 0, ""
    names = []
    while written < size and not met:
        names.append(f"{folder}/fill-{number}")
        number += 1
        descriptor = os.open(names[-1], os.O_CREAT | os.O_WRONLY)
        try:
            for _ in range(2):
                written += os.write(descriptor, block)
        except OSError as error:
            met = name_of(error)
        os.close(descriptor)
    for name in names:
        os.unlink(name)
    return met


def crowd(folder: str, most: int) -> str:
    """Make empty files; the error that stopped it, or nothing."""
    names: list[str] = []
    met = ""
    while len(names) < most and not met:
        name = f"{folder}/crowd-{len(names)}"
        try:
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        except OSError as error:
            met = name_of(error)
        else:
            names.append(name)
    for name in names:
        os.unlink(name)
    return met


def fill_workspace(report: Report, facts: Facts) -> None:
    """Twice what the workspace may hold, for a while."""
    size = facts["limits"]["disk"] * FACTOR
    block, met = bytes(256 * 1024), ""
    for number in range(size // (2 * len(block))):
        descriptor = os.open(f"/workspace/fill-{number}", os.O_CREAT | os.O_WRONLY)
        try:
            for _ in range(2):
                os.write(descriptor, block)
        except OSError as error:
            met = name_of(error)
            break
        finally:
            os.close(descriptor)
    time.sleep(facts["patience"])
    judge(report, "bytes in the workspace", met)


def huge_files(report: Report, facts: Facts) -> None:
    """One file that is larger than allowed: sparse, allocated, and written at its end."""
    # Python ignores the signal of this limit from its start on.
    size = facts["limits"]["file_size"] + 1
    path = "/tmp/huge"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    report.attempt("a sparse file of 1 TiB", os.ftruncate, descriptor, 1 << 40)
    report.attempt("a sparse file over the limit", os.ftruncate, descriptor, size)
    report.attempt("space over the limit", os.posix_fallocate, descriptor, 0, size)
    report.attempt("a byte beyond the limit", os.pwrite, descriptor, b"x", size)
    os.close(descriptor)
    os.unlink(path)


def open_files(report: Report, facts: Facts) -> None:
    """More descriptors than the limit allows."""
    held: list[int] = []
    met = ""
    while len(held) < facts["limits"]["open_files"] * FACTOR and not met:
        try:
            held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            met = name_of(error)
    for descriptor in held:
        os.close(descriptor)
    judge(report, "open files", met)


def raise_limits(report: Report, facts: Facts) -> None:
    """Every limit, up."""
    for name in (
        *("AS", "CPU", "FSIZE", "NOFILE", "NPROC", "CORE", "STACK", "MEMLOCK", "MSGQUEUE"),
        *("RTPRIO", "DATA", "SIGPENDING", "NICE"),
    ):
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            report.open(f"no limit {name}")
            continue
        try:
            resource.setrlimit(kind, (hard + 1, hard + 1))
        except (ValueError, OSError):
            report.refused(f"raise {name}", "rlimit")
        else:
            report.open(f"raise {name}")


def timers(report: Report, facts: Facts) -> None:
    """Timers without end: each holds memory of the kernel."""
    import ctypes

    number = ctypes.c_int()
    met = ""
    for _ in range(2000):
        try:
            report.system_call(222, 1, 0, ctypes.byref(number))
        except OSError as error:
            met = name_of(error)
            break
    judge(report, "timers", met)


def processor_time(report: Report, facts: Facts) -> None:
    """Compute without end."""
    while True:
        pass


def processor_time_of_all(report: Report, facts: Facts) -> None:
    """Children that compute, each well within its own limit, one pair after the other."""
    share = facts["limits"]["cpu"] / 20
    while True:
        for _ in range(2):
            if os.fork() == 0:
                while time.process_time() < share:
                    pass
                os._exit(0)
        os.wait()
        os.wait()


def processors(report: Report, facts: Facts) -> None:
    """Processors that the supervisor was not given, or gave away."""
    given = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(1024))
    gained = os.sched_getaffinity(0) - given
    if gained:
        report.partial("processors beyond its own", len(gained))
    else:
        report.refused("processors beyond its own", "cgroup")


def shared_numbers(report: Report, facts: Facts) -> None:
    """One of each thing of which the kernel gives every user of the host only some."""
    report.call("watch files", 294, 0)
    report.call("watch files by the old call", 253)
    report.call("watch a whole file system", 300, 0, 0)
    report.call("asynchronous requests", 206, 1, b"\0" * 8)
