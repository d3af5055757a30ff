"""What a jail's file system looks like: the read-only system, devices, /tmp and the mounts.

Every mount is one `Bind`, `Link`, `Blank` or `Text`; nothing is ever mounted at a place inside
another bind, because nsjail creates mount points on the host side, following links.
"""

from __future__ import annotations

import functools
import os
import posixpath
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from assay.api import JailSpec, Mount, MountKind, SandboxFailed
from assay_sandbox.disk import Held
from assay_sandbox.inits import Init
from assay_sandbox.profiles import PROFILES
from assay_sandbox.sources import (
    capacity,
    check_capacity,
    checked_source,
    inside,
    is_folder,
    layers,
)
from assay_sandbox.textproto import Message

__all__ = [
    "Expected",
    "Layout",
    "disk_bound",
    "layout_of",
    "layout_with",
    "memory_room",
    "system_layout",
]

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
ON_DISK = (MountKind.TREE, MountKind.OVERLAY)
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
    kind: str = ""
    """The file system's type, where it matters."""


@frozen
class Layout:
    """Mounts as nsjail reads them, in order, and what the finished jail must show.

    `descriptors` are those of this process that nsjail needs for its mounts; no jail gets them.
    """

    mounts: tuple[Message, ...]
    expected: tuple[Expected, ...]
    descriptors: tuple[int, ...] = ()


class _Builder:
    def __init__(self) -> None:
        self.mounts: list[Message] = []
        self.expected: list[Expected] = []
        self.descriptors: list[int] = []

    def bind(self, src: str, dst: str, *, writable: bool = False, device: bool = False) -> None:
        message = Message()
        message.text("dst", dst)
        message.text("src", src)
        message.flag("is_bind", True)
        message.flag("rw", writable or device)
        message.flag("nosuid", True)
        message.flag("noexec" if device else "nodev", True)
        self._add(message, Expected(dst, writable or device, device))

    def held(self, descriptor: int, dst: str, *, writable: bool) -> None:
        self.descriptors.append(descriptor)
        self.bind(f"/proc/self/fd/{descriptor}", dst, writable=writable)

    def overlay(self, dst: str, options: str, *, writable: bool) -> None:
        message = Message()
        message.text("dst", dst)
        message.text("fstype", "overlay")
        message.text("options", options)
        message.flag("rw", writable)
        message.flag("nosuid", True)
        message.flag("nodev", True)
        self._add(message, Expected(dst, writable, kind="overlay"))

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
        check_capacity(mount, rules.disk)
        _mount(builder, mount, rules.inodes)
    return Layout(tuple(builder.mounts), tuple(builder.expected), tuple(builder.descriptors))


def layout_with(mounts: tuple[Mount, ...]) -> Layout:
    """The read-only system and these mounts, to see whether they work."""
    system = system_layout()
    builder = _Builder()
    builder.mounts += system.mounts
    builder.expected += system.expected
    _check_places(mounts)
    for mount in mounts:
        _mount(builder, mount, 1)
    return Layout(tuple(builder.mounts), tuple(builder.expected), tuple(builder.descriptors))


def memory_room(spec: JailSpec) -> int:
    """Bytes that the jail's file systems in memory can hold."""
    rules = PROFILES[spec.profile]
    mounts = (*spec.runtime.mounts, *spec.mounts)
    sizes = [mount.size for mount in mounts if mount.kind is MountKind.TMPFS]
    sizes += [capacity(mount) for mount in mounts if mount.writable and mount.descriptor >= 0]
    return spec.limits.tmp + rules.shared_memory + sum(sizes)


def disk_bound(spec: JailSpec) -> tuple[tuple[str, ...], Held]:
    """The jail's writable trees on the host's disk, and what they may hold together."""
    rules = PROFILES[spec.profile]
    places = {
        mount.upper if mount.kind is MountKind.OVERLAY else mount.source: mount.size or rules.disk
        for mount in spec.mounts
        if mount.writable and mount.kind in ON_DISK and mount.descriptor < 0
    }
    return tuple(places), Held(sum(places.values()), rules.disk_entries)


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
        if any(inside(dst, reserved) for reserved in (*RESERVED, INIT_PATH)):
            raise SandboxFailed("mounts", "a mount's place lies in the system")
        for other in seen:
            clash = inside(dst, other.dst) and other.kind is not MountKind.TMPFS
            if clash or inside(other.dst, dst):
                raise SandboxFailed("mounts", "a mount lies inside another one")
        if inside("/tmp", dst):
            raise SandboxFailed("mounts", "a mount hides /tmp")
        seen.append(mount)


def _mount(builder: _Builder, mount: Mount, inodes: int) -> None:
    if mount.kind is MountKind.TMPFS:
        if mount.size <= 0:
            raise SandboxFailed("mounts", "a tmpfs needs a size")
        builder.tmpfs(mount.dst, mount.size, inodes, writable=mount.writable)
    elif mount.kind is MountKind.OVERLAY:
        builder.overlay(mount.dst, layers(mount), writable=mount.writable)
    elif mount.descriptor >= 0:
        if mount.kind is not MountKind.TREE or mount.source or not is_folder(mount.descriptor):
            raise SandboxFailed("mounts", "a descriptor stands for a folder without a source")
        builder.held(mount.descriptor, mount.dst, writable=mount.writable)
    elif mount.content is not None:
        if mount.kind is not MountKind.FILE or mount.source or mount.writable:
            raise SandboxFailed("mounts", "content belongs to a read-only file without a source")
        if not mount.content:
            raise SandboxFailed("mounts", "the content of a file is empty")
        builder.content(mount.content, mount.dst)
    else:
        source = checked_source(mount.source, directory=mount.kind is MountKind.TREE)
        builder.bind(source, mount.dst, writable=mount.writable)
