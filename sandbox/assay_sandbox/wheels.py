"""Reads a wheel without running or unpacking anything: only what belongs in site-packages.

A wheel is a zip from a stranger. Each name in it becomes a checked relative path, each file
must be listed in the wheel's record with its hash, and what an installer would put anywhere
else than in site-packages (programs, headers, data) is left out.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from email.parser import BytesParser

from attrs import frozen
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from assay.api import InvalidInput, RelPath, Requirement, is_ignored, relpath

__all__ = ["MOST_BYTES", "BadWheel", "PackageFile", "Wheel", "read_wheel"]

MOST_BYTES = 512 * 1024**2
"""Bound of a wheel's files together, unpacked."""

MOST_FILES = 20_000
INSTALLED = ("purelib", "platlib")
ELSEWHERE = ("data", "headers", "scripts")
COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
OWN_PACKAGES = frozenset({"assay", "assay_graders", "assay_sandbox"})
HASHES = ("sha256", "sha384", "sha512")
UNLISTED = frozenset({"RECORD", "RECORD.jws", "RECORD.p7s"})
UNREADABLE = (
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    UnicodeError,
    ValueError,
    csv.Error,
    zipfile.BadZipFile,
    zlib.error,
)


class BadWheel(InvalidInput):
    """A wheel breaks a rule; the message is the rule and holds nothing of the wheel."""


@frozen
class PackageFile:
    """One file below site-packages."""

    path: str
    content: bytes
    executable: bool = False


@frozen
class Wheel:
    """A distribution as its wheel brings it; `needs` are its requirements as they are written."""

    requirement: Requirement
    needs: tuple[str, ...]
    files: tuple[PackageFile, ...]


def read_wheel(filename: str, content: bytes, wanted: Requirement) -> Wheel:
    """The wheel of exactly the wanted version, for this interpreter; raises BadWheel."""
    _check_filename(filename, wanted)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {path: (info, data) for path, info, data in _contents(archive)}
        return _read(files, wanted)
    except BadWheel:
        raise
    except UNREADABLE:
        raise BadWheel("can't be read") from None


def _check_filename(filename: str, wanted: Requirement) -> None:
    try:
        name, version, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        raise BadWheel("has a name that is none of a wheel") from None
    if (name, version) != (wanted.name, Version(wanted.version)):
        raise BadWheel("is of another version or distribution")
    if tags.isdisjoint(sys_tags()):
        raise BadWheel("is for another interpreter or system")


def _contents(archive: zipfile.ZipFile) -> Iterator[tuple[RelPath, zipfile.ZipInfo, bytes]]:
    infos = archive.infolist()
    if len(infos) > MOST_FILES:
        raise BadWheel(f"holds more than {MOST_FILES} files")
    if sum(info.file_size for info in infos) > MOST_BYTES:
        raise BadWheel(f"is larger than {MOST_BYTES} bytes unpacked")
    seen: set[str] = set()
    for info in infos:
        path = _path(info)
        if path in seen:
            raise BadWheel("holds a path twice")
        seen.add(path)
        if not info.is_dir():
            yield path, info, archive.read(info)


def _path(info: zipfile.ZipInfo) -> RelPath:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        raise BadWheel("holds something that is neither a file nor a folder")
    if info.flag_bits & 1 or info.compress_type not in COMPRESSION:
        raise BadWheel("is encrypted, or compressed in a way that wheels don't use")
    if info.orig_filename != info.filename:
        raise BadWheel("holds a path with a NUL character")
    try:
        return relpath(info.filename.removesuffix("/"))
    except InvalidInput as error:
        raise BadWheel(f"holds an unsafe path: {error}") from None


def _read(files: Mapping[RelPath, tuple[zipfile.ZipInfo, bytes]], wanted: Requirement) -> Wheel:
    about = _own_folder(files, wanted)
    plain = {path: data for path, (_, data) in files.items()}
    _check_record(plain, about)
    metadata = BytesParser().parsebytes(_file(plain, f"{about}/METADATA"), headersonly=True)
    if not _is(str(metadata["Name"]), str(metadata["Version"]), wanted):
        raise BadWheel("describes another version or distribution than its name says")
    layout = BytesParser().parsebytes(_file(plain, f"{about}/WHEEL"), headersonly=True)
    if str(layout["Wheel-Version"]).partition(".")[0] != "1":
        raise BadWheel("is of an unknown version of the wheel format")
    found: dict[str, PackageFile] = {}
    for path, (info, data) in sorted(files.items()):
        place = _place(path, about)
        if place is None:
            continue
        if place in found:
            raise BadWheel("installs a path twice")
        found[place] = PackageFile(place, data, bool(info.external_attr >> 16 & 0o111))
    needs = tuple(str(need) for need in metadata.get_all("Requires-Dist", ()))
    return Wheel(wanted, needs, tuple(found[place] for place in sorted(found)))


def _own_folder(files: Mapping[RelPath, object], wanted: Requirement) -> str:
    """The one `NAME-VERSION.dist-info` folder, which must say the wanted name and version."""
    tops = {path.partition("/")[0] for path in files if "/" in path}
    abouts = [top for top in tops if top.endswith(".dist-info")]
    if len(abouts) != 1:
        raise BadWheel("does not hold exactly one .dist-info folder")
    name, _, version = abouts[0].removesuffix(".dist-info").rpartition("-")
    if not _is(name, version, wanted):
        raise BadWheel("describes another version or distribution than its name says")
    return abouts[0]


def _is(name: str, version: str, wanted: Requirement) -> bool:
    return (canonicalize_name(name), Version(version)) == (wanted.name, Version(wanted.version))


def _file(files: Mapping[RelPath, bytes], path: str) -> bytes:
    content = files.get(RelPath(path))
    if content is None:
        raise BadWheel("lacks a file that describes it")
    return content


def _check_record(files: Mapping[RelPath, bytes], about: str) -> None:
    listed: dict[str, str] = {}
    text = _file(files, f"{about}/RECORD").decode("utf-8")
    for row in csv.reader(io.StringIO(text, newline="")):
        if len(row) != 3 or listed.setdefault(row[0], row[1]) != row[1]:
            raise BadWheel("has a record that can't be read")
    unlisted = {f"{about}/{name}" for name in UNLISTED}
    if any(path not in files and not path.endswith("/") for path in listed):
        raise BadWheel("lacks a file that its record lists")
    for path, content in files.items():
        if path in unlisted:
            continue
        kind, _, digest = listed.get(path, "").partition("=")
        if kind not in HASHES:
            raise BadWheel("holds a file that its record does not list with a hash")
        measured = base64.urlsafe_b64encode(hashlib.new(kind, content).digest())
        if measured.rstrip(b"=").decode() != digest.rstrip("="):
            raise BadWheel("holds a file that differs from its record")


def _place(path: RelPath, about: str) -> str | None:
    """Where a file goes below site-packages, or None when it has no business there."""
    top, _, rest = path.partition("/")
    if top == about:
        return None if rest in UNLISTED else path
    if top == about.removesuffix(".dist-info") + ".data":
        kind, _, inside = rest.partition("/")
        if kind in ELSEWHERE:
            return None
        if kind not in INSTALLED or not inside:
            raise BadWheel("holds data of an unknown kind")
        path, top = RelPath(inside), inside.partition("/")[0]
    if top.endswith((".dist-info", ".egg-info", ".data")):
        raise BadWheel("holds a description of another distribution")
    if top.partition(".")[0] in OWN_PACKAGES:
        raise BadWheel("brings a package of this framework")
    if "__pycache__" in path.split("/"):
        return None
    if is_ignored(RelPath(f"site-packages/{path}")):
        raise BadWheel("holds a folder that trees can't keep")
    return path
