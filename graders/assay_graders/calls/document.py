"""Strict JSON of a suite's own data files, with values in the text form of the wire.

A value is what JSON has, or an object with exactly one key that names what JSON lacks:
`{"t": [1, 2]}` is a tuple, `{"d": [["key", 1]]}` a dict. An error names the place and the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay_graders.strict_json import load_strictly
from assay_graders.wire.faults import WireFault
from assay_graders.wire.values import Codec

__all__ = ["DataFault", "fields", "integer", "items", "load", "text", "value"]

MAX_DATA_BYTES = 16 * 1024**2


class DataFault(ValueError):
    """A data file of the suite breaks a rule; the message is `place: rule`."""


def load(data: bytes) -> Any:
    """One JSON document; raises DataFault."""
    return load_strictly(data, "it", DataFault)


def fields(
    item: Any, place: str, required: Iterable[str], optional: Iterable[str] = ()
) -> Mapping[str, Any]:
    """An object with these keys and no others."""
    if type(item) is not dict:
        raise DataFault(f"{place}: must be an object")
    for key in required:
        if key not in item:
            raise DataFault(f"{place}: {key} is missing")
    if set(item) - {*required, *optional}:
        raise DataFault(f"{place}: has an unknown key")
    return item


def items(item: Any, place: str, most: int) -> list[Any]:
    """A list of at most `most` entries."""
    if type(item) is not list:
        raise DataFault(f"{place}: must be a list")
    if len(item) > most:
        raise DataFault(f"{place}: holds more than {most} entries")
    return item


def text(item: Any, place: str, *, most: int = 4_096, empty: bool = False) -> str:
    """Unicode text of at most `most` bytes."""
    if type(item) is not str or not (item or empty):
        raise DataFault(f"{place}: must be text")
    try:
        size = len(item.encode("utf-8"))
    except UnicodeEncodeError:
        raise DataFault(f"{place}: must be Unicode text") from None
    if size > most:
        raise DataFault(f"{place}: is longer than {most} bytes")
    return item


def integer(item: Any, place: str, least: int, most: int) -> int:
    """A whole number in these bounds."""
    if type(item) is not int or not least <= item <= most:
        raise DataFault(f"{place}: must be a whole number from {least} to {most}")
    return item


def value(item: Any, place: str, codec: Codec) -> Any:
    """The value that a document's part stands for."""
    try:
        return codec.decode(_tree(item, place))
    except WireFault as fault:
        raise DataFault(f"{place}: {fault}") from None


def _tree(item: Any, place: str) -> Any:
    if type(item) is list:
        return [_tree(part, place) for part in item]
    if type(item) is dict:
        if len(item) != 1:
            raise DataFault(f"{place}: an object in a value must have exactly one key, its tag")
        ((tag, payload),) = item.items()
        return (tag, _tree(payload, place))
    return item
