"""The suites that the how-to pages build, file by file, do what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.cli import assay
from support.repository import ROOT

_FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["grade-a-function", "grade-a-program"])
def test_the_suite_of_the_page_is_calibrated(page: str, tmp_path: Path):
    text = (ROOT / f"docs/how-to/{page}.md").read_text("utf-8")
    lines = [line for session in _SESSION.findall(text) for line in session.splitlines()]
    folder = tmp_path / lines[0].split()[-1]
    files = _FILE.findall(text)
    for name, content in files:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, "utf-8")

    assert len(files) > 5
    assert text.count("\n```") == 2 * (len(files) + len(_SESSION.findall(text)))
    for at, line in enumerate(lines):
        if line.startswith("$ assay "):
            _, _, command, suite = line.split()
            done = assay(command, tmp_path / suite)
            assert done.code == 0, done.out + done.err
            if lines[at + 1 :] and not lines[at + 1].startswith("$"):
                assert lines[at + 1] in done.out
