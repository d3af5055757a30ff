"""The page of the tree contract: its example by hand is one of the vectors, byte for byte."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from support.vectors import load

PAGE = Path(__file__).parents[2] / "docs/formats/tree.md"


def test_the_example_by_hand_is_right() -> None:
    page = PAGE.read_text("utf-8")
    example = page.partition("### By hand")[2].partition("## Vectors")[0]
    lines = [line for line in example.splitlines() if re.match(r"    [ 0-9a-f]{16}", line)]
    stream = bytes.fromhex("".join(re.split(r" {3,}", line.strip())[0] for line in lines))
    digest = "sha256:" + hashlib.sha256(stream).hexdigest()
    assert digest in example
    assert [digest] == [v["digest"] for v in load()["trees"] if v["name"] == "executable"]
