"""New suites and tasks load, and behave as their candidates promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest
from attrs import frozen
from support.suites import StubGrader, StubRegistry, encoded

from assay.api import InvalidInput, Trust, UsageError
from assay.scaffold import new_suite, new_task
from assay.suites import open_suite


@frozen
class Options:
    """The options that a skeleton writes."""

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    roots: tuple[str, ...]
    mode: str
    hidden: bool = False


class Loose(StubGrader):
    """Stands in for the pytest grader."""

    Options: ClassVar[type] = Options


def run_tests(source: str, tests: str) -> set[str]:
    """Names of failing test functions of a skeleton, whose code is our own text."""
    module: dict[str, object] = {}
    exec(source, module)  # noqa: S102
    names = {"count_words": module["count_words"]}
    exec(tests.replace("from words import count_words", ""), names)  # noqa: S102
    failing = set()
    for name, function in names.items():
        if name.startswith("test_"):
            try:
                function()  # type: ignore[operator]
            except AssertionError:
                failing.add(name)
    return failing


def test_a_new_suite_loads_and_its_candidates_keep_their_promises(tmp_path: Path) -> None:
    written = new_suite(tmp_path / "my-suite")
    assert all((tmp_path / "my-suite" / path).is_file() for path in written)
    suite = open_suite(str(tmp_path / "my-suite"), StubRegistry(Loose, name="pytest"))
    (task_id,) = suite.task_ids()
    task = suite.task(task_id)
    assert task.task.require_trust is Trust.TAMPER_EVIDENT
    assert {spec.options["mode"] for spec in task.task.graders} == {"isolated"}
    visible = Path(task.fixture, "tests/test_words.py").read_text()
    hidden = Path(task.hidden or "", "test_hidden.py").read_text()
    sources = {c.id: c.files["src/words.py"].decode() for c in suite.candidates(task_id)}
    fixture = Path(task.fixture, "src/words.py").read_text()
    assert run_tests(fixture, visible)
    assert run_tests(fixture, hidden)
    reference, must_fail = sources["reference"], sources["visible-only"]
    assert run_tests(reference, visible) | run_tests(reference, hidden) == set()
    assert run_tests(must_fail, visible) == set()
    assert run_tests(must_fail, hidden)
    for spec, text in zip(task.task.graders, (visible, hidden), strict=True):
        for expected in spec.options["expect"]:
            assert f"def {expected.partition('::')[2]}(" in text


def test_a_new_task_takes_the_suites_first_category(tmp_path: Path) -> None:
    suite = tmp_path / "s"
    suite.mkdir()
    header = {"schema": 1, "id": "s", "categories": {"version": 1, "ids": ["http", "text"]}}
    (suite / "suite.json").write_bytes(encoded(header))
    new_task(suite / "first")
    assert json.loads((suite / "first/task.json").read_text())["category"] == "http"
    assert open_suite(str(suite), StubRegistry(Loose, name="pytest")).task("first").id == "first"


def test_nothing_that_exists_is_touched(tmp_path: Path) -> None:
    new_suite(tmp_path / "s")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for make, target in ((new_suite, "s"), (new_task, "s/word-count")):
        with pytest.raises(UsageError, match="is there already"):
            make(tmp_path / target)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["My Suite", "..", "a_b", "-a"])
def test_names_must_be_legal_ids(tmp_path: Path, name: str) -> None:
    for make in (new_suite, new_task):
        with pytest.raises(InvalidInput, match="name must be 1 to 64"):
            make(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_task_needs_its_suites_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="suite none: no such folder"):
        new_task(tmp_path / "none/task")
