"""Which cases of a file a grader runs: those that its options name, all of them sound.

A grader and its lint ask the same, so what is unfit for grading is found before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Protocol, TypeVar

from assay.api import GradeContext
from assay_graders.calls.document import DataFault
from assay_graders.calls.functions import Function

__all__ = ["chosen_cases", "hidden_names"]


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Case = TypeVar("Case", bound=_Named)


def chosen_cases(
    cases: tuple[Case, ...],
    ids: Sequence[str],
    functions: Callable[[Case], Iterable[Function | None]],
    hidden: Set[str],
) -> tuple[Case, ...]:
    """The cases named by `ids`, or all if there are none.

    `functions` gives what a case has in files, which must be `hidden` ones. Raises DataFault.
    """
    known = {case.id for case in cases}
    for index, case_id in enumerate(ids):
        if case_id not in known:
            raise DataFault(f"ids[{index}] is no case of the file")
    for index, case in enumerate(cases):
        for function in functions(case):
            if function is not None and function.file not in hidden:
                raise DataFault(f"cases[{index}]: names no hidden file")
    return tuple(case for case in cases if not ids or case.id in ids)


def hidden_names(ctx: GradeContext) -> frozenset[str]:
    """Paths of the hidden files."""
    return frozenset() if ctx.hidden is None else frozenset(e.path for e in ctx.hidden.entries)
