"""The page of commands describes every command and every option that there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from support.repository import ROOT

from assay.cli.app import app

_PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
_SECTION = re.compile(r"^## `(assay [^`]+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _commands(child, f"{path} {name}")


COMMANDS = dict(_commands(typer.main.get_command(app), "assay"))
SECTIONS = {match[1]: match[2] for match in _SECTION.finditer(_PAGE)}


def test_each_command_has_a_section_and_no_other_is_there() -> None:
    assert sorted(SECTIONS) == sorted(COMMANDS)


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_each_option_is_described(path: str) -> None:
    options = {
        name
        for parameter in COMMANDS[path].params
        if parameter.param_type_name == "option" and not parameter.is_eager
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    options -= {"--help", "-h"}
    described = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", SECTIONS[path]))
    assert options <= described


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_no_option_is_described_that_does_not_exist(path: str) -> None:
    options = {name for p in COMMANDS[path].params for name in (*p.opts, *p.secondary_opts)}
    table = re.findall(r"^\| (`-[^|]*) \|", SECTIONS[path], re.MULTILINE)
    described = {name for cell in table for name in re.findall(r"`(--?[a-z-]+)`", cell)}
    assert described <= options


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_each_command_has_help_with_an_example(path: str) -> None:
    assert f"\n  {path} " in (COMMANDS[path].help or "") + " " or path == "assay"
