"""What a jail's file system looks like: the read-only system, devices, /tmp and the mounts.

Every mount is one `Bind`, `Link`, `Blank` or `Text`; nothing is ever mounted at a place inside
another bind, because nsjail creates mount points on the host side, following links.
"""

from __future__ import annotations

import functools
import os
import posixpath
import stat
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from assay.api import JailSpec, Mount, MountKind, SandboxFailed
from assay_sandbox.disk import Held
from assay_sandbox.inits import Init
from assay_sandbox.profiles import PROFILES
from assay_sandbox.tables import read_table, rows
from assay_sandbox.textproto import Message

__all__ = ["Expected", "Layout", "disk_bound", "layout_of", "memory_room", "system_layout"]

INIT_PATH = "/.assay/init.py"
RESERVED = ("/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/usr")
SYSTEM_DIRECTORIES = (
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"),
    *("/usr/libexec", "/usr/share", "/usr/include", "/usr/local/bin", "/usr/local/lib"),
)
ROOT_NAMES = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("null", "zero", "full", "random", "urandom")
INSIDE_ID = 1000
ETC = {
    "passwd": f"jail:x:{INSIDE_ID}:{INSIDE_ID}:jail:/tmp/home:/bin/sh\n",
    "group": f"jail:x:{INSIDE_ID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "#\n",
}


@frozen
class Expected:
    """What must be true of one mount inside the jail."""

    dst: str
    writable: bool = False
    devices: bool = False


@frozen
class Layout:
    """Mounts as nsjail reads them, in order, and what the finished jail must show."""

    mounts: tuple[Message, ...]
    expected: tuple[Expected, ...]


class _Builder:
    def __init__(self) -> None:
        self.mounts: list[Message] = []
        self.expected: list[Expected] = []

    def bind(self, src: str, dst: str, *, writable: bool = False, device: bool = False) -> None:
        message = Message()
        message.text("dst", dst)
        message.text("src", src)
        message.flag("is_bind", True)
        message.flag("rw", writable or device)
        message.flag("nosuid", True)
        message.flag("noexec" if device else "nodev", True)
        self._add(message, Expected(dst, writable or device, device))

    def link(self, target: str, dst: str) -> None:
        message = Message()
        message.text("dst", dst)
        message.text("src", target)
        message.flag("is_symlink", True)
        self.mounts.append(message)

    def content(self, content: bytes, dst: str) -> None:
        message = Message()
        message.text("dst", dst)
        message.blob("src_content", content)
        message.flag("rw", False)
        message.flag("nosuid", True)
        message.flag("nodev", True)
        self._add(message, Expected(dst))

    def tmpfs(
        self, dst: str, size: int, inodes: int, *, writable: bool = True, noexec: bool = False
    ) -> None:
        message = Message()
        message.text("dst", dst)
        message.text("fstype", "tmpfs")
        message.text("options", f"size={size},nr_inodes={inodes},mode=1777")
        message.flag("rw", writable)
        message.flag("nosuid", True)
        message.flag("nodev", True)
        message.flag("noexec", noexec)
        self._add(message, Expected(dst, writable))

    def proc(self) -> None:
        message = Message()
        message.text("dst", "/proc")
        message.text("fstype", "proc")
        message.text("options", "subset=pid,hidepid=invisible")
        message.flag("rw", False)
        for name in ("nosuid", "nodev", "noexec"):
            message.flag(name, True)
        self._add(message, Expected("/proc"))

    def _add(self, message: Message, expected: Expected) -> None:
        self.mounts.append(message)
        self.expected.append(expected)


@functools.cache
def system_layout() -> Layout:
    """Only the read-only system, devices and /proc: enough to see whether a jail starts."""
    builder = _Builder()
    _system(builder)
    return Layout(tuple(builder.mounts), tuple(builder.expected))


def layout_of(spec: JailSpec, init: Init) -> Layout:
    """The whole layout of one jail; SandboxFailed when a mount breaks a rule."""
    rules, system = PROFILES[spec.profile], system_layout()
    builder = _Builder()
    builder.mounts += system.mounts
    builder.expected += system.expected
    builder.tmpfs("/tmp", spec.limits.tmp, rules.inodes)
    if rules.shared_memory:
        builder.tmpfs("/dev/shm", rules.shared_memory, 1024, noexec=True)
    if init.script:
        builder.content(init.script, INIT_PATH)
    mounts = (*spec.runtime.mounts, *spec.mounts)
    _check_places(mounts)
    for mount in mounts:
        if mount.writable and mount.kind is not MountKind.TMPFS and not rules.writable_mounts:
            raise SandboxFailed("mounts", f"profile {spec.profile.value} has no writable mounts")
        _mount(builder, mount, rules.inodes)
    return Layout(tuple(builder.mounts), tuple(builder.expected))


def memory_room(spec: JailSpec) -> int:
    """Bytes that the jail's file systems in memory can hold."""
    rules = PROFILES[spec.profile]
    mounts = (*spec.runtime.mounts, *spec.mounts)
    sizes = (mount.size for mount in mounts if mount.kind is MountKind.TMPFS)
    return spec.limits.tmp + rules.shared_memory + sum(sizes)


def disk_bound(spec: JailSpec) -> tuple[tuple[str, ...], Held]:
    """The jail's writable trees on the host's disk, and what they may hold together."""
    rules = PROFILES[spec.profile]
    trees = [mount for mount in spec.mounts if mount.writable and mount.kind is MountKind.TREE]
    size = sum(mount.size or rules.disk for mount in trees)
    return tuple(mount.source for mount in trees), Held(size, rules.disk_entries)


def _system(builder: _Builder) -> None:
    for directory in SYSTEM_DIRECTORIES:
        if Path(directory).is_dir() and not Path(directory).is_symlink():
            builder.bind(directory, directory)
    for name in ROOT_NAMES:
        place = Path("/", name)
        if place.is_symlink():
            builder.link(os.readlink(place).lstrip("/"), f"/{name}")
        elif place.is_dir():
            builder.bind(str(place), f"/{name}")
    for path in SYSTEM_FILES:
        if Path(path).exists():
            builder.bind(path, path)
    for name, text in ETC.items():
        builder.content(text.encode(), f"/etc/{name}")
    for device in DEVICES:
        builder.bind(f"/dev/{device}", f"/dev/{device}", device=True)
    builder.link("/proc/self/fd", "/dev/fd")
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        builder.link(f"/proc/self/fd/{number}", f"/dev/{stream}")
    builder.proc()
    hidden = _own_packages()
    for directory in hidden:
        builder.tmpfs(directory, 4096, 1, writable=False, noexec=True)


def _own_packages() -> tuple[str, ...]:
    """Where this framework is installed inside the system: suites ship hidden tests there."""
    packages = {Path(__file__).resolve().parents[1]}
    packages |= {Path(os.path.realpath(path)) for path in _framework_paths()}
    return tuple(
        sorted(
            str(package)
            for package in packages
            if any(package.is_relative_to(directory) for directory in SYSTEM_DIRECTORIES)
        )
    )


def _framework_paths() -> list[str]:
    import assay.api

    return [str(Path(place).parent.parent) for place in assay.api.__path__]


def _check_places(mounts: Iterable[Mount]) -> None:
    seen: list[Mount] = []
    for mount in mounts:
        dst = mount.dst
        if not dst.startswith("/") or dst == "/" or posixpath.normpath(dst) != dst:
            raise SandboxFailed("mounts", "a mount's place must be a normal absolute path")
        if any(_inside(dst, reserved) for reserved in (*RESERVED, INIT_PATH)):
            raise SandboxFailed("mounts", "a mount's place lies in the system")
        for other in seen:
            clash = _inside(dst, other.dst) and other.kind is not MountKind.TMPFS
            if clash or _inside(other.dst, dst):
                raise SandboxFailed("mounts", "a mount lies inside another one")
        if _inside("/tmp", dst):
            raise SandboxFailed("mounts", "a mount hides /tmp")
        seen.append(mount)


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _mount(builder: _Builder, mount: Mount, inodes: int) -> None:
    if mount.kind is MountKind.TMPFS:
        if mount.size <= 0:
            raise SandboxFailed("mounts", "a tmpfs needs a size")
        builder.tmpfs(mount.dst, mount.size, inodes, writable=mount.writable)
    elif mount.content is not None:
        if mount.kind is not MountKind.FILE or mount.source or mount.writable:
            raise SandboxFailed("mounts", "content belongs to a read-only file without a source")
        if not mount.content:
            raise SandboxFailed("mounts", "the content of a file is empty")
        builder.content(mount.content, mount.dst)
    else:
        source = checked_source(mount.source, directory=mount.kind is MountKind.TREE)
        builder.bind(source, mount.dst, writable=mount.writable)


def checked_source(source: str, *, directory: bool) -> str:
    """The real path of a mount's source: no link itself, of its kind, without other mounts."""
    if not source.startswith("/"):
        raise SandboxFailed("mounts", "a mount has no absolute source")
    try:
        mode = os.lstat(source).st_mode
    except (OSError, ValueError):
        mode = 0
    if stat.S_ISLNK(mode):
        raise SandboxFailed("mounts", "a mount's source is a symbolic link")
    if not (stat.S_ISDIR(mode) if directory else stat.S_ISREG(mode)):
        raise SandboxFailed("mounts", "a mount's source is absent or of another kind")
    real = os.path.realpath(source)
    if any(place != real and _inside(place, real) for place in host_mounts()):
        raise SandboxFailed("mounts", "a mount's source holds other mounts")
    return real


def host_mounts() -> list[str]:
    """Mount points of this process, as paths."""
    return [unescape(row.split(" ")[4]) for row in rows(read_table("/proc/self/mountinfo"))]


def unescape(field: str) -> str:
    """A path as the kernel escapes it in mountinfo."""
    if "\\" not in field:
        return field
    for code in ("\\040", "\\011", "\\012"):
        field = field.replace(code, chr(int(code[1:], 8)))
    return field.replace("\\134", "\\")
