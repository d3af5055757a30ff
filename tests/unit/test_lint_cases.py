"""Files of cases, read before anything is graded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.linting import Files

from assay.api import LintFinding, RelPath, Task
from assay_graders.call import CallGrader, CallOptions
from assay_graders.stdio import StdioGrader, StdioOptions

TASK = Task("task", "text", "", RelPath("fixture"), hidden=RelPath("hidden"))


def files(cases: Any, **more: bytes) -> Files:
    content = cases if isinstance(cases, bytes) else document(cases)
    return Files(hidden={"cases.json": content, "oracle.py": b"", **more})


def document(cases: Any) -> bytes:
    return json.dumps({"schema": 1, "cases": cases}).encode()


def calls(cases: Any, **options: Any) -> tuple[LintFinding, ...]:
    made = CallOptions("cases.json", roots=("src",), **options)
    return CallGrader().lint(made, TASK, files(cases))


def streams(cases: Any, **options: Any) -> tuple[LintFinding, ...]:
    made = StdioOptions("cases.json", argv=("python", "x.py"), **options)
    return StdioGrader().lint(made, TASK, files(cases))


def case(name: str, call: str = "m:f", **demand: Any) -> dict[str, Any]:
    return {"id": name, "call": call, **demand}


RAISES, EXPECT = {"raises": "ValueError"}, {"expect": 1}
HOLDS, LIKE = {"property": "oracle.py:p"}, {"reference": "oracle.py:r"}


@pytest.mark.parametrize(
    ("demands", "rule"),
    [
        ([EXPECT], None),
        ([RAISES, EXPECT], None),
        ([HOLDS, RAISES, LIKE], None),
        ([RAISES, RAISES], "cases-raise-only"),
        ([HOLDS], "cases-by-property-only"),
        ([HOLDS, RAISES], "cases-by-property-only"),
    ],
)
def test_functions_whose_cases_prove_little(demands: list[Any], rule: str | None) -> None:
    good = case("good", "m:other", **EXPECT)
    found = calls([good, *(case(str(n), **demand) for n, demand in enumerate(demands))])
    assert [(item.rule, item.test) for item in found] == ([(rule, "m:f")] if rule else [])


def test_only_cases_that_are_run_count() -> None:
    cases = [case("a", **RAISES), case("b", **EXPECT)]
    assert calls(cases, ids=("b",)) == ()
    assert [item.rule for item in calls(cases, ids=("a",))] == ["cases-raise-only"]


@pytest.mark.parametrize(
    ("cases", "detail"),
    [
        (b"{", "it is not JSON"),
        (document([]), "cases: is empty, and nothing tested is nothing passed"),
        (document([case("a")]), "needs exactly one of"),
        (document([case("a", **EXPECT), case("a", **EXPECT)]), "is the id of an earlier case"),
        (document([case("a", property="none.py:p")]), "names no hidden file"),
        (b"x" * (16 * 1024**2 + 1), "absent or larger"),
    ],
    ids=["json", "empty", "nothing", "twice", "function", "large"],
)
def test_a_file_that_would_make_every_grade_unfit(cases: bytes, detail: str) -> None:
    [found] = calls(cases)
    assert (found.rule, found.file, found.hidden) == ("unfit-cases", "cases.json", True)
    assert detail in found.detail


def test_a_file_or_a_case_that_is_not_there() -> None:
    [found] = calls([case("a", **EXPECT)], ids=("b",))
    assert found.detail == "ids[0] is no case of the file"
    made = CallOptions("other.json", roots=("src",))
    [found] = CallGrader().lint(made, TASK, files([]))
    assert (found.rule, found.file) == ("unfit-cases", "other.json")


def test_programs_judged_by_their_exit_code_only() -> None:
    ends = {"id": "a", "exit_code": 0}
    assert [item.rule for item in streams([ends])] == ["exit-code-only"]
    for more in ({"stdout": ""}, {"compare": {"checker": "oracle.py:c"}}):
        assert streams([ends, {"id": "b", **more}]) == ()


@pytest.mark.parametrize(
    "cases",
    [
        [{"id": "a"}],
        [{"id": "a", "stdout": {"file": "none.txt"}}],
        [{"id": "a", "compare": {"checker": "none.py:c"}}],
    ],
)
def test_cases_of_programs_that_are_unfit(cases: Any) -> None:
    assert [item.rule for item in streams(cases)] == ["unfit-cases"]
