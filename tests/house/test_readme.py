"""What README.md shows is true."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.repository import ROOT

import assay
from assay.api import Facts, GraderRole, Reason

_README = (ROOT / "README.md").read_text("utf-8")
_BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)
_PYTHON = [text for language, text in _BLOCKS if language == "python"]


def test_the_custom_grader_is_as_short_as_promised() -> None:
    assert len([line for line in _grader_text().splitlines() if line.strip()]) <= 20


def test_the_custom_grader_measures(tmp_path: Path) -> None:
    grader, options = _grader(tmp_path)
    assert grader.check(options(max_bytes=0), None)
    assert not grader.check(options(), None)
    assert grader.needs(options(), None).tools == ()
    small = _grade(grader, options(max_bytes=10), sizes=(1, 10))
    large = _grade(grader, options(max_bytes=10), sizes=(1, 11))
    assert small.passed
    assert not large.passed
    assert large.reasons == {Reason.STRUCTURE_FAILED}
    assert large.trust is grader.max_trust


def test_the_python_api_is_imported_by_its_public_names() -> None:
    for block in _PYTHON:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "assay":
                assert {alias.name for alias in node.names} <= set(assay.__all__)


def test_both_commands_are_written_out() -> None:
    plain = "\n".join(text for language, text in _BLOCKS if not language)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in plain
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "install -c constraints.txt -e .\n" in plain
    assert "assay run builtin:delivery-eval" in plain


def test_it_opens_with_what_it_is_for_in_five_lines() -> None:
    opening = _README.split("\n\n")[1]
    assert len(opening.splitlines()) == 5


def _grader_text() -> str:
    return next(text for text in _PYTHON if "def grade(" in text)


def _grader(folder: Path) -> tuple[Any, Any]:
    file = folder / "my_graders.py"
    file.write_text(_grader_text(), "utf-8")
    spec = importlib.util.spec_from_file_location("my_graders", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LargestFile(), module.Options


def _grade(grader: Any, options: Any, sizes: tuple[int, ...]) -> Facts:
    context = SimpleNamespace(
        options=options,
        spec=SimpleNamespace(id="size", role=GraderRole.STRUCTURE),
        tree=SimpleNamespace(entries=[SimpleNamespace(size=size) for size in sizes]),
    )
    facts = grader.grade(context)
    assert isinstance(facts, Facts)
    return facts
