"""The page of lint rules says what the tables say, and its examples break what they show."""

from __future__ import annotations

import re

import pytest
from support.linting import rules
from support.repository import ROOT

from assay.api import LintRule, LintSeverity
from assay.linting.answers import ANSWER_RULES
from assay.linting.papers import PAPER_RULES
from assay.linting.private import PRIVATE_RULES
from assay.linting.rules import DRIVEN_RULES, SUITE_RULES
from assay_graders.linting.case_files import CALL_RULES, STREAM_RULES
from assay_graders.linting.rules import PYTHON_RULES

_PAGE = (ROOT / "docs" / "reference" / "lint-rules.md").read_text("utf-8")
_ROW = re.compile(r"^\| `([a-z-]+)` \| (\w+) \| (.+) \| (.+) \|$", re.MULTILINE)
_SECTION = re.compile(
    r"^### ([a-z-]+)\n\n`(\w+)`: ([^\n]+)\n\n```python\n(.*?)```\n\n```python\n(.*?)```$",
    re.MULTILINE | re.DOTALL,
)
CASE_RULES = tuple(dict.fromkeys((*CALL_RULES, *STREAM_RULES)))
PUBLISHING_RULES = (*ANSWER_RULES, *PRIVATE_RULES, *PAPER_RULES)
IN_TABLES = (*SUITE_RULES, *PUBLISHING_RULES, *DRIVEN_RULES, *CASE_RULES)
SECTIONS = {match[1]: match for match in _SECTION.finditer(_PAGE)}


def _said(rule: LintRule) -> tuple[str, ...]:
    return rule.id, rule.severity.value, rule.follows, rule.cure


def test_every_rule_of_a_table_has_its_row_in_order() -> None:
    rows = [match.groups() for match in _ROW.finditer(_PAGE)]
    assert rows == [_said(rule) for rule in IN_TABLES]


def test_every_rule_of_tests_has_its_section_in_order() -> None:
    found = [(name, match[2], match[3]) for name, match in SECTIONS.items()]
    assert found == [
        (rule.id, rule.severity.value, f"{rule.follows} {rule.cure}") for rule in PYTHON_RULES
    ]


@pytest.mark.parametrize("name", [rule.id for rule in PYTHON_RULES])
def test_the_first_example_breaks_the_rule_and_no_other(name: str) -> None:
    found = set(rules(SECTIONS[name][4]))
    assert name in found
    assert found - {name} <= {"proves-nothing", "no-assertion", "truth-only"}
    if name != "proves-nothing":
        assert found - {name, "proves-nothing"} == set()


@pytest.mark.parametrize("name", [rule.id for rule in PYTHON_RULES])
def test_the_second_example_breaks_no_rule(name: str) -> None:
    found = set(rules(SECTIONS[name][5]))
    assert found - ({"truth-only"} if name == "proves-nothing" else set()) == set()


def test_no_rule_has_two_owners() -> None:
    names = [rule.id for rule in (*IN_TABLES, *PYTHON_RULES)]
    assert sorted(set(names)) == sorted(names)


def test_every_severity_is_described() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", _PAGE, re.MULTILINE)
    assert rows == [severity.value for severity in LintSeverity]


@pytest.mark.parametrize("rule", [*IN_TABLES, *PYTHON_RULES], ids=lambda r: r.id)
def test_a_rule_says_what_follows_and_what_to_do(rule: LintRule) -> None:
    for text in (rule.follows, rule.cure):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "\n" not in text
