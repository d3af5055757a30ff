"""Reference pages name everything that the code has: error branches, records, report, words."""

from __future__ import annotations

import re

import attrs
import pytest
from support.repository import ROOT

from assay import api
from assay.api import AssayError, TrialRecord, Trust
from assay.draft import STAGES
from assay.schemas import schema


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def _named(page: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", page))


def test_every_branch_of_errors_has_its_exit_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", _page("reference/exit-codes.md"), re.MULTILINE)
    branches = {cls.__name__: str(cls.exit_code) for cls in AssayError.__subclasses__()}
    assert dict(rows) == {name: code for name, code in branches.items() if name in set(api.__all__)}


def test_every_key_of_a_record_is_described() -> None:
    named = _named(_page("formats/run-folder.md"))
    assert {field.name for field in attrs.fields(TrialRecord)} - named == set()


def test_every_key_of_a_report_is_described() -> None:
    page = _page("formats/run-folder.md")
    named = {name.partition(".")[0] for name in _named(page)}
    assert set(schema("report")["required"]) - named == set()


def test_every_stage_is_described_in_order() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| ", _page("explanation/flow.md"), re.MULTILINE)
    assert tuple(row for row in rows if row in STAGES) == STAGES


@pytest.mark.parametrize("page", ["explanation/trust.md", "index.md"])
def test_every_level_of_trust_is_named(page: str) -> None:
    assert {trust.value for trust in Trust} <= _named(_page(page))
