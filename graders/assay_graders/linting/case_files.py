"""Lint of files of cases: what would make every grade unfit, and cases that prove little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.api import LintFinding, LintRule, LintSeverity, TaskFiles
from assay_graders.calls.cases import Case
from assay_graders.calls.document import MAX_DATA_BYTES, DataFault
from assay_graders.streams.cases import StreamCase

__all__ = ["CALL_RULES", "STREAM_RULES", "of_calls", "of_streams", "read_hidden", "unfit"]

_UNFIT = LintRule(
    "unfit-cases",
    LintSeverity.UNSUPPORTED,
    "The file of cases can't be used as it is, so every grade of the task would be unfit.",
    "Correct what the message names.",
)
CALL_RULES: tuple[LintRule, ...] = (
    _UNFIT,
    LintRule(
        "cases-raise-only",
        LintSeverity.WEAK,
        "All cases of this function expect an exception: one that always raises it passes.",
        "Add a case with a value, for an input that is legal.",
    ),
    LintRule(
        "cases-by-property-only",
        LintSeverity.WEAK,
        "No case says which result is right, so any result with the property passes.",
        "Add a case with a value or a reference.",
    ),
)
STREAM_RULES: tuple[LintRule, ...] = (
    _UNFIT,
    LintRule(
        "exit-code-only",
        LintSeverity.WEAK,
        "No case looks at what the program writes: one that only ends with the code passes.",
        "Add a case with standard output or a checker.",
    ),
)
"""By severity, gravest first."""


def read_hidden(files: TaskFiles, path: str, cap: int = MAX_DATA_BYTES) -> bytes:
    """Content of a hidden file; raises DataFault."""
    content = files.read(path, cap, hidden=True)
    if content is None:
        raise DataFault(f"a hidden file is absent or larger than {cap} bytes")
    return content


def unfit(file: str, fault: DataFault) -> LintFinding:
    """The finding for a file of cases that can't be used."""
    return LintFinding("unfit-cases", file, hidden=True, detail=str(fault))


def of_calls(file: str, cases: Iterable[Case]) -> Iterator[LintFinding]:
    """Functions whose cases prove little, each once."""
    by_function: dict[str, list[Case]] = {}
    for case in cases:
        by_function.setdefault(case.call, []).append(case)
    for function, of_function in by_function.items():
        if all(case.raises is not None for case in of_function):
            yield LintFinding("cases-raise-only", file, hidden=True, test=function)
        elif not any(case.expect or case.reference for case in of_function):
            yield LintFinding("cases-by-property-only", file, hidden=True, test=function)


def of_streams(file: str, cases: Iterable[StreamCase]) -> Iterator[LintFinding]:
    """A file of cases none of which looks at output."""
    if all(case.stdout is None and case.compare.checker is None for case in cases):
        yield LintFinding("exit-code-only", file, hidden=True)
