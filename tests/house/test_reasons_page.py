"""The page of reasons lists exactly the closed list."""

from __future__ import annotations

import re

from support.repository import ROOT

from assay.api import REASONS_VERSION, Reason

_ROW = re.compile(r"^\| `([a-z-]+)` \| (\w+) \| (\w+) \| (.+) \|$", re.MULTILINE)
_PAGE = (ROOT / "docs" / "reference" / "reasons.md").read_text("utf-8")


def test_every_reason_has_its_row_in_order() -> None:
    rows = [match.groups()[:3] for match in _ROW.finditer(_PAGE)]
    assert rows == [(r.value, r.klass.value, r.layer.value) for r in Reason]


def test_every_reason_has_a_meaning() -> None:
    meanings = [match[4] for match in _ROW.finditer(_PAGE)]
    assert len(set(meanings)) == len(Reason)
    assert all(meaning.endswith(".") for meaning in meanings)


def test_the_page_names_the_version() -> None:
    assert f"this is version {REASONS_VERSION}." in _PAGE
