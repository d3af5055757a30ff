"""docs/reference/graders.md describes every option and every outcome."""

from __future__ import annotations

import re

import attrs
import pytest
from support.grading import GRADERS
from support.repository import ROOT

from assay.api import TestOutcome

_PAGE = (ROOT / "docs/reference/graders.md").read_text("utf-8")


@pytest.mark.parametrize("name", GRADERS)
def test_every_option_has_its_row(name: str):
    section = _PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]

    options = section.partition("| option |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|", options, re.MULTILINE)
    assert rows == [field.name for field in attrs.fields(GRADERS[name].Options)]


def test_every_outcome_has_its_row():
    section = _PAGE.partition("\n## Expected tests\n")[2].partition("\n## ")[0]

    rows = re.findall(r"^\| [^|]+ \| `(\w+)`[^|]*\|", section, re.MULTILINE)
    assert set(rows) == {outcome.value for outcome in TestOutcome}
