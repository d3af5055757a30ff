"""Trial records as plain JSON data, and back.

What a record holds is measured and already free of content: captured streams enter as
counts only (their bytes are artifacts), private messages not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import cattrs
from cattrs.preconf.json import make_converter

from assay.api import Captured, Reason, TestOutcome, TestResult, TrialRecord

__all__ = ["record_from_json", "record_to_json", "to_plain"]


def _converter() -> cattrs.Converter:
    converter = make_converter()
    converter.register_unstructure_hook(
        Captured, lambda stream: {"total": stream.total, "truncated": stream.truncated}
    )
    converter.register_structure_hook(
        Captured,
        lambda data, _: Captured(total=int(data["total"]), truncated=bool(data["truncated"])),
    )
    converter.register_unstructure_hook(
        TestResult,
        lambda test: {
            "id": test.id,
            "outcome": test.outcome.value,
            "message": test.message_public,
        },
    )
    converter.register_structure_hook(
        TestResult,
        lambda data, _: TestResult(
            id=str(data["id"]),
            outcome=TestOutcome(data["outcome"]),
            message_public=str(data["message"]),
        ),
    )
    converter.register_unstructure_hook(Reason, lambda reason: reason.value)
    converter.register_structure_hook(Reason, lambda code, _: _reason(code))
    return converter


def _reason(code: object) -> Reason:
    return next(reason for reason in Reason if reason.value == code)


_CONVERTER = _converter()


def to_plain(value: Any) -> Any:
    """Any of our data as JSON values; sets become sorted lists, tuples lists."""
    return _plain(_CONVERTER.unstructure(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def record_to_json(record: TrialRecord) -> dict[str, Any]:
    """One record as JSON values."""
    plain: dict[str, Any] = to_plain(record)
    return plain


def record_from_json(data: Mapping[str, Any]) -> TrialRecord:
    """The record that `record_to_json` wrote; raises ValueError when it is not one."""
    try:
        return _CONVERTER.structure(data, TrialRecord)
    except (cattrs.BaseValidationError, KeyError, TypeError, StopIteration) as error:
        raise ValueError("not a trial record") from error
