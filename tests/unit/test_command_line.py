"""What the command line says before any command runs."""

from __future__ import annotations

import pytest
from support.cli import assay


@pytest.mark.parametrize("group", [[], ["new"]])
def test_without_arguments_the_help_is_shown_as_it_is(group: list[str]) -> None:
    done, asked = assay(*group), assay(*group, "--help")
    assert (done.code, done.out) == (2, "")
    assert (asked.code, asked.err) == (0, "")
    assert done.err.split() == asked.out.split()


def test_each_command_is_told_in_one_whole_line() -> None:
    shown = assay("--help", env={"COLUMNS": "80"}).out
    commands = shown.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert all(line.endswith(".") and not line.endswith("..") for line in commands)


@pytest.mark.parametrize("arguments", [["frob"], ["run"], ["run", "--frob", "x"]])
def test_a_wrong_call_is_one_line_with_code_2(arguments: list[str]) -> None:
    done = assay(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("assay: ")
    assert done.err.count("\n") == 1
