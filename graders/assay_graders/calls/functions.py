"""Trusted functions of the hidden files, by the name that a case gives them."""

from __future__ import annotations

import re
import sys
from typing import Any

from attrs import frozen

from assay_graders.calls.document import DataFault, text
from assay_graders.expected import path_problem

__all__ = ["Function", "read_function"]

_FUNCTION = re.compile(r"((?:.+/)?([^\W\d]\w*)\.py):([^\W\d]\w*)")


@frozen
class Function:
    """A trusted function in a hidden Python file."""

    file: str
    name: str


def read_function(item: Any, place: str) -> Function:
    """A hidden function, written as `folder/file.py:name`; raises DataFault."""
    match = _FUNCTION.fullmatch(text(item, place))
    if match is None or path_problem(match[1]):
        raise DataFault(f"{place}: must be a hidden file and a function, as file.py:name")
    if match[2] in sys.stdlib_module_names:
        raise DataFault(f"{place}: its file has the name of a module of Python")
    return Function(match[1], match[3])
