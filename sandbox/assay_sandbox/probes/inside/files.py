"""Attacks on what lies outside the jail's own files."""

import os
import socket
import stat

from .report import Facts, Report

SECRET_PREFIX = "assay-secret-"
GLOBAL_FILES = (
    *("cmdline", "kallsyms", "kmsg", "kcore", "keys", "config.gz", "sysrq-trigger", "modules"),
    *("mounts", "version", "cpuinfo", "meminfo", "bus", "sys", "net", "stat", "uptime"),
)
WRITES = (
    *("self/oom_score_adj", "self/oom_adj", "self/uid_map", "self/gid_map", "self/setgroups"),
    *("self/loginuid", "self/coredump_filter", "self/attr/current", "self/timerslack_ns"),
    *("self/clear_refs", "self/comm", "self/mem", "self/sched", "self/autogroup"),
    *("sys/kernel/core_pattern", "sys/vm/drop_caches", "sysrq-trigger"),
)
ELSEWHERE = (
    *("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs"),
    *("/sys/fs/cgroup/memory/tasks", "/dev/kmsg", "/dev/mem", "/dev/port"),
)
DEVICES = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}


def read(path: str) -> object:
    """The start of a file, or the names in a folder."""
    if os.path.isdir(path):
        return os.listdir(path)[:5]
    with open(path, "rb") as stream:
        return stream.read(200)


def append(path: str) -> None:
    """Add a letter to a file, or make it."""
    with open(path, "a") as stream:
        stream.write("x")


def reopen(path: str, flags: int) -> None:
    """Open a file, and leave it as it is."""
    os.close(os.open(path, flags))


def read_host_files(report: Report, facts: Facts) -> None:
    """The secret by every way that leads to it, and places that hold secrets anywhere."""
    secret = facts["secret"]
    for label, path in (
        ("the secret file", secret),
        ("its folder", facts["folder"]),
        ("the shared memory file", facts["shm"]),
        ("it through the root of process 1", "/proc/1/root" + secret),
        ("it through this root", "/proc/self/root/../.." + secret),
        ("it through this folder", "/proc/self/cwd/../../../../.." + secret),
        ("it through the host's process", f"/proc/{facts['pid']}/root{secret}"),
        ("the caller's home", facts["home"]),
        ("/etc/shadow", "/etc/shadow"),
        ("/etc/ssh", "/etc/ssh"),
        ("/root", "/root"),
        ("/home", "/home"),
        ("/var", "/var"),
        ("/run", "/run"),
        ("/sys", "/sys"),
        ("/boot", "/boot"),
    ):
        report.attempt(label, read, path)


def read_environment(report: Report, facts: Facts) -> None:
    """Environments, arguments and start values of every process in sight."""
    texts = ["\n".join(f"{name}={value}" for name, value in os.environ.items())]
    places = (
        [name for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []
    )
    for place in (*places, "1", str(facts["pid"])):
        for kind in ("environ", "cmdline", "auxv", "maps"):
            try:
                with open(f"/proc/{place}/{kind}", "rb") as stream:
                    texts.append(stream.read(100_000).decode("utf-8", "replace"))
            except OSError:
                continue
    hits = [
        text[max(0, at - 40) : at + 80] for text in texts if (at := text.find(SECRET_PREFIX)) >= 0
    ]
    report.seen("names of variables", sorted(os.environ))
    if hits:
        report.open("a secret of the caller's environment", hits[0])
    else:
        report.refused("a secret of the caller's environment", "mount namespace")


def write_fixture(report: Report, facts: Facts) -> None:
    """Every way to change a tree that is mounted read-only."""
    file, token = "/fixture/a.txt", facts["token"]
    report.attempt("append", append, file)
    report.attempt("truncate", os.truncate, file, 0)
    report.attempt("unlink", os.unlink, "/fixture/sub/b.txt")
    report.attempt("create", append, f"/fixture/{token}")
    report.attempt("make a folder", os.mkdir, f"/fixture/sub/{token}")
    report.attempt("chmod", os.chmod, file, 0o777)
    report.attempt("utime", os.utime, file)
    report.attempt("chown", os.chown, file, -1, os.getgid())
    report.attempt("setxattr", os.setxattr, file, "user.x", b"x")
    report.attempt("link inside", os.link, file, "/fixture/linked.txt")
    descriptor = os.open(file, os.O_RDONLY)
    again = f"/proc/self/fd/{descriptor}"
    report.attempt("open its descriptor again for writing", reopen, again, os.O_RDWR)
    report.attempt("chmod its descriptor", os.fchmod, descriptor, 0o777)
    report.attempt("utime its descriptor", os.utime, descriptor)
    os.close(descriptor)
    report.attempt("rename", os.rename, file, "/fixture/c.txt")


def write_outside(report: Report, facts: Facts) -> None:
    """A new file in every folder that is not the jail's own."""
    token = facts["token"]
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    for folder in (
        *("/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/dev", "/bin", "/lib", "/proc/self"),
        *("/runtime", "/runtime/venv", "/probe", "/.assay", "/fixture", "/var/tmp", "/sys"),
    ):
        report.attempt(f"create in {folder}", reopen, f"{folder}/{token}", flags)
    report.attempt("create beside the secret", reopen, f"{facts['folder']}/{token}", flags)
    for path in ("/etc/passwd", "/etc/hosts", "/.assay/init.py", "/probe/inside/runner.py"):
        report.attempt(f"append to {path}", append, path)
    report.attempt("write to the secret", append, facts["secret"])


def links_out(report: Report, facts: Facts) -> None:
    """Links and renames that lead out of the jail's own folder."""
    place = "/tmp/links"
    os.mkdir(place)
    secret = facts["secret"]
    for number, target in enumerate(
        (secret, "../../../../../../.." + secret, "/proc/1/root" + secret)
    ):
        os.symlink(target, f"{place}/{number}")
        report.attempt(f"read through symbolic link {number + 1}", read, f"{place}/{number}")
    report.attempt("link a file of the fixture", os.link, "/fixture/run.sh", f"{place}/a")
    report.attempt("link /etc/passwd", os.link, "/etc/passwd", f"{place}/b")
    descriptor = os.open("/fixture/run.sh", os.O_RDONLY)
    report.attempt(
        "link a descriptor",
        lambda: os.link(f"/proc/self/fd/{descriptor}", f"{place}/c", follow_symlinks=True),
    )
    os.close(descriptor)
    report.attempt("rename the fixture", os.rename, "/fixture/sub", f"{place}/d")
    for name in os.listdir(place):
        os.unlink(f"{place}/{name}")
    os.rmdir(place)


def through_proc(report: Report, facts: Facts) -> None:
    """The magic links of other processes, and the running interpreter itself."""
    for number in ("1", str(facts["pid"])):
        for name in ("root", "cwd", "exe", "fd", "map_files", "ns"):
            path = f"/proc/{number}/{name}"
            report.attempt(f"{name} of process {'1' if number == '1' else 'outside'}", read, path)
    report.attempt("write to the interpreter", reopen, "/proc/self/exe", os.O_RDWR)
    report.attempt(
        "replace the interpreter",
        os.rename,
        "/runtime/python/bin/python3",
        f"/runtime/python/bin/{facts['token']}",
    )


def global_proc(report: Report, facts: Facts) -> None:
    """Files of /proc that tell of the whole host."""
    for name in GLOBAL_FILES:
        report.attempt(f"/proc/{name}", read, f"/proc/{name}")


def mount_sources(report: Report, facts: Facts) -> None:
    """Where on the host the jail's mounts come from."""
    with open("/proc/self/mountinfo") as stream:
        text = stream.read()
    words = [word for word in ("hidden", "fixture-of", facts["suite"]) if word in text]
    if words:
        report.open("names of tasks and tests", words)
    else:
        report.refused("names of tasks and tests", "store")
    if facts["token"] in text:
        report.partial("the host's path of a mounted folder")
    else:
        report.refused("the host's path of a mounted folder", "mount namespace")


def write_proc(report: Report, facts: Facts) -> None:
    """Settings of the kernel and of processes that are files."""
    for name in WRITES:
        report.attempt(f"/proc/{name}", reopen, f"/proc/{name}", os.O_WRONLY)
    for path in ELSEWHERE:
        report.attempt(path, reopen, path, os.O_WRONLY)


def devices(report: Report, facts: Facts) -> None:
    """Device nodes: those that are there, and new ones."""
    there = set(os.listdir("/dev"))
    if there <= DEVICES:
        report.refused("other devices in /dev", "mount namespace")
    else:
        report.open("other devices in /dev", sorted(there - DEVICES))
    for name in ("tty", "ptmx", "console", "fuse", "kvm", "loop-control", "net/tun", "sda"):
        report.attempt(f"/dev/{name}", reopen, f"/dev/{name}", os.O_RDWR)
    for label, kind, number in (
        ("memory", stat.S_IFCHR, os.makedev(1, 1)),
        ("terminal", stat.S_IFCHR, os.makedev(5, 0)),
        ("disk", stat.S_IFBLK, os.makedev(8, 0)),
    ):
        path = f"/tmp/device-{label}"
        report.attempt(
            f"make a {label} device",
            os.mknod,
            path,
            0o600 | kind,
            number,
        )


def unix_sockets(report: Report, facts: Facts) -> None:
    """Sockets of the host by path and in the abstract space."""
    for label, address in (
        ("abstract socket", "\0" + facts["abstract"]),
        ("socket beside the secret", facts["socket"]),
        ("container daemon", "/var/run/docker.sock"),
        ("system bus", "/run/dbus/system_bus_socket"),
    ):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_UNIX, kind) as end:
                end.settimeout(1)
                report.attempt(label, end.connect, address)
