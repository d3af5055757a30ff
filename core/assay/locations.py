"""Where a suite is: `builtin:NAME`, `SCHEME:PLACE` or a plain path."""

from __future__ import annotations

from pathlib import Path

from assay.api.errors import InvalidInput
from assay.api.paths import printable
from assay.api.running import SuiteFiles, SuiteReader
from assay.plugins import Registry
from assay.shipped import builtin_folder

__all__ = ["BUILTIN", "open_location"]

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


def _reader(registry: Registry, name: str) -> SuiteReader:
    reader: SuiteReader = registry.make(_READERS, name)
    return reader
