"""Where a suite is: `builtin:NAME`, `SCHEME:PLACE` or a plain path."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from assay.api.errors import InvalidInput, UsageError
from assay.api.paths import is_slug, printable
from assay.api.running import SuiteFiles, SuiteReader
from assay.plugins import Registry

__all__ = ["BUILTIN", "builtin_folder", "builtin_names", "open_location"]

BUILTIN = "builtin"

_READERS = "assay.suite_readers"
_FOLDER_READER = "dir"


def open_location(location: str, registry: Registry) -> SuiteFiles:
    """The files of the suite at a location; raises UsageError or InvalidInput."""
    scheme, colon, place = location.partition(":")
    if colon and scheme == BUILTIN:
        return _reader(registry, _FOLDER_READER).open(str(builtin_folder(place)))
    known = registry.names(_READERS)
    if colon and scheme in known:
        return _reader(registry, scheme).open(place)
    folder_reader = _reader(registry, _FOLDER_READER)
    if folder_reader.sniff(location):
        return folder_reader.open(location)
    for name in known:
        if name != _FOLDER_READER and (reader := _reader(registry, name)).sniff(location):
            return reader.open(location)
    raise InvalidInput(f"suite {printable(Path(location).name)[:64]}: no such folder")


def builtin_folder(name: str) -> Path:
    """The folder of a shipped suite; raises UsageError for an unknown one."""
    known = builtin_names()
    if not is_slug(name) or name not in known:
        raise UsageError(f"unknown builtin suite; known: {', '.join(known) or 'none'}")
    return _shipped() / name


def builtin_names() -> tuple[str, ...]:
    """Names of the suites that come with this installation, sorted."""
    return tuple(
        sorted(path.parent.name for path in _shipped().glob("*/suite.json") if path.is_file())
    )


def _shipped() -> Path:
    """Inside an installed wheel, or beside the sources of a checkout; never the cwd."""
    package = Path(str(files("assay")))
    installed = package / "_fixtures"
    return installed if installed.is_dir() else package.parent.parent / "fixtures"


def _reader(registry: Registry, name: str) -> SuiteReader:
    reader: SuiteReader = registry.make(_READERS, name)
    return reader
