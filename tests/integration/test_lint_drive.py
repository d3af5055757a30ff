"""`assay lint --drive` in real jails: what only running the tests can tell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.json_schema import problems
from support.tiny import add_candidate, make_suite, task_manifest, write_tree

from assay.schemas import schema

FIXED = """
class Sum:
    def __init__(self, total):
        self.total = total

    def __eq__(self, other):
        return type(other) is Sum and other.total == self.total

def add(a, b):
    return a + b

def total(values):
    values.sort()
    return Sum(add(values[0], values[1]))
"""
BROKEN = FIXED.replace("a + b", "a - b - 1").replace("values.sort()", "pass")
TESTS = """
from calc import Sum, add, total


def test_negative():
    assert add(-1, -1) == -2


def test_total():
    values = [3, 1]
    assert total(values).total == 4
    assert values == [1, 3]


def test_objects():
    assert (total([3, 1]) == Sum(4)) is True


class Mine(Sum):
    limit = 3


def test_derived():
    assert Mine(3).total == 3
"""
NAMES = ("negative", "total", "objects", "derived")


def make(folder: Path, text: str, *names: str) -> Path:
    """A suite of one task: the same tests visible (unguarded) and hidden (isolated)."""
    make_suite(folder)
    visible, hidden = task_manifest()["graders"]
    for spec, file, mode in (
        (visible, "tests/test_calc.py", "unguarded"),
        (hidden, "test_hidden.py", "isolated"),
    ):
        expect = [f"{file}::test_{name}" for name in names]
        spec["options"] = {**spec["options"], "expect": expect, "mode": mode}
    (folder / "add/task.json").write_text(json.dumps(task_manifest(graders=[visible, hidden])))
    write_tree(
        folder / "add",
        {
            "fixture/src/calc.py": BROKEN,
            "fixture/tests/test_calc.py": text,
            "hidden/test_hidden.py": text,
        },
    )
    add_candidate(folder / "add", "good", {"src/calc.py": FIXED}, expect={"verdict": "accepted"})
    return folder


def details(document: Any, rule: str, grader: str) -> dict[str, str]:
    """By test, what the findings of a rule say of one grader."""
    return {
        item["test"].rpartition("::")[2]: item["detail"]
        for item in document["findings"]
        if (item["rule"], item["grader"]) == (rule, grader)
    }


def test_what_can_t_be_isolated_is_found_before_anything_is_graded(tmp_path: Path) -> None:
    suite = make(tmp_path / "tiny", TESTS, *NAMES)
    ran = assay("lint", suite, "--drive", "--mutants", "1", "--json")
    document = json.loads(ran.out)

    assert problems(schema("lint-output"), document) == []
    assert ran.code == document["exit_code"] == 3
    assert details(document, "unsupported-test", "hidden") == {"test_derived": "subclass"}
    # The same tests, where the task asks for less: no fault of the suite, but told.
    assert details(document, "unsupported-test", "visible") == {}
    assert details(document, "not-isolatable", "visible")["test_derived"] == "subclass"

    visible, hidden = sorted(document["driven"], key=lambda run: run["trust"], reverse=True)
    assert (visible["trust"], hidden["trust"]) == ("unguarded", "isolated")
    tests = {test["id"].rpartition("::")[2]: test for test in hidden["tests"]}
    assert list(tests) == [f"test_{name}" for name in NAMES]
    assert (tests["test_negative"]["level"], tests["test_negative"]["trips"]) == (0, 1)
    assert "write-back" in tests["test_total"]["features"]
    assert tests["test_derived"]["unsupported"] == ["subclass"]
    assert [mutant["id"] for mutant in hidden["mutants"]] == ["@mutant-1"]
    assert hidden["mutants"][0]["what"].startswith("src/calc.py:")
    assert hidden["mutants"][0]["in_process"] == hidden["mutants"][0]["isolated"] != []
    assert "add @mutant-1 isolated: " in ran.err
    assert "add @mutant-1 in-process: " in ran.err


def test_tests_that_fit_are_clean_and_the_table_says_so(tmp_path: Path) -> None:
    text = TESTS.partition("def test_objects")[0]
    suite = make(tmp_path / "tiny", text, *NAMES[:2])
    # Hidden tests that the fixture shows would be no hidden ones.
    other = text.replace("(-1, -1) == -2", "(-2, -2) == -4").replace("[3, 1]", "[3, 2]")
    other = other.replace("total == 4", "total == 5").replace("[1, 3]", "[2, 3]")
    write_tree(suite / "add/hidden", {"test_hidden.py": other})

    ran = assay("lint", suite, "--drive", "--mutants", "0", "--display", "none")

    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("add ")]
    assert rows[0][:5] == ["add", "visible", "unguarded", "2/2", "4"]
    assert rows[1][:5] == ["add", "hidden", "isolated", "2/2", "4"]


def test_a_mutant_that_no_test_notices_is_told_with_its_place(tmp_path: Path) -> None:
    suite = make(tmp_path / "tiny", TESTS.partition("def test_total")[0], *NAMES[:1])
    fixed = FIXED.replace("values.sort()", "limit = 17")
    add_candidate(suite / "add", "good", {"src/calc.py": fixed}, expect={"verdict": "accepted"})

    ran = assay("lint", suite, "--drive", "--mutants", "6", "--display", "none")

    assert re.search(r"^survives add/hidden: @mutant-\d: src/calc\.py:\d+ \w+$", ran.out, re.M)


@pytest.mark.parametrize("arguments", [("--mutants", "2"), ("--drive", "--mutants", "-1")])
def test_mutants_are_made_on_request_only(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert assay("lint", "builtin:delivery-eval", *arguments).code == 2


def test_mutants_need_their_library(tmp_path: Path) -> None:
    (tmp_path / "mutmut.py").write_text("raise ImportError")
    arguments = ("lint", "builtin:delivery-eval", "--drive", "--mutants", "1")
    ran = assay(*arguments, env={"PYTHONPATH": str(tmp_path)})
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "assay: mutants need the library mutmut: install assay[mutants]\n"


def test_a_task_without_gold_is_not_driven(tmp_path: Path) -> None:
    suite = make(tmp_path / "tiny", TESTS, *NAMES)
    manifest = suite / "add/candidates/good/candidate.json"
    document = json.loads(manifest.read_text())
    del document["expect"]
    manifest.write_text(json.dumps(document))
    ran = assay("lint", suite, "--drive")
    assert "not driven add: it has no candidate that is expected to be accepted" in ran.out
