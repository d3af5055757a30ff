"""Plugins that are shipped beside us see the API alone, as everybody's do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.repository import ROOT

SOURCES = sorted((ROOT / "plugins").glob("*/src/**/*.py"))


def _imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_the_api_is_imported(source: Path) -> None:
    ours = {name for name in _imported(source) if name.split(".")[0] == "assay"}
    assert {name for name in ours if not f"{name}.".startswith("assay.api.")} == set()


def test_there_are_some() -> None:
    assert SOURCES
