"""`assay lint` over whole suites: manifests, trees, pins, graders; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.cli import assay
from support.json_schema import problems
from support.suites import StubGrader, StubRegistry
from support.tiny import FIXED, add_candidate, make_suite, task_manifest, write_json, write_tree

from assay.api import LintFinding, LintRule, LintSeverity, PluginFailed, Trust, UsageError
from assay.linting.report import LintReport
from assay.linting.static import lint_suite
from assay.locking import lock_suite
from assay.plugins import Registry
from assay.schemas import schema
from assay.shipped import builtin_names
from assay.suites import open_suite

README = "# Tiny\n\n## Origin\n\nOurs.\n\n## Expected behaviour\n\nGold passes.\n"


def report(folder: Path, *only: str, registry: Registry | None = None) -> LintReport:
    registry = registry or Registry()
    return lint_suite(open_suite(str(folder), registry, check_pins=False), registry, only)


def found(folder: Path, *only: str, registry: Registry | None = None) -> dict[str, list[str]]:
    """Details of the findings by rule, or where they are when they have none."""
    by_rule: dict[str, list[str]] = {}
    for item in report(folder, *only, registry=registry).findings:
        by_rule.setdefault(item.rule.id, []).append(item.detail or item.file or item.task)
    return by_rule


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite in which there is nothing to find."""
    folder = make_suite(tmp_path / "tiny")
    fails = {"verdict": "rejected", "required": ["hidden-tests-failed"]}
    add_candidate(folder / "add", "gold", {"src/calc.py": FIXED}, expect={"verdict": "accepted"})
    add_candidate(folder / "add", "bad", {"src/calc.py": "x = 1\n"}, expect=fails)
    write_tree(folder, {"LICENSE": "MIT", "README.md": README})
    lock_suite(folder)
    return folder


def pin_anew(suite: Path, registry: Registry | None = None) -> None:
    """Pin tasks that nobody has seen with their pins so far."""
    write_json(
        suite / "suite.json", {**json.loads((suite / "suite.json").read_text()), "tasks": {}}
    )
    lock_suite(suite, registry)


def changed(suite: Path, **changes: Any) -> Path:
    write_json(suite / "add" / "task.json", task_manifest(**changes))
    return suite


def graders(**changes: Any) -> list[dict[str, Any]]:
    """The task's graders, the hidden one changed."""
    visible, hidden = task_manifest()["graders"]
    return [visible, {**hidden, **changes}]


def test_a_sound_suite_has_no_findings(suite: Path) -> None:
    assert found(suite) == {}
    assert report(suite).exit_code(strict=True) == 0


def test_an_ignored_entry_in_a_fixture_or_among_hidden_files(suite: Path) -> None:
    write_tree(suite / "add/fixture", {"src/__pycache__/calc.pyc": "", "build/x": ""})
    write_tree(suite / "add/hidden", {".venv/x": ""})
    assert sorted(found(suite)["ignored-entry"]) == [
        "add/fixture/build",
        "add/fixture/src/__pycache__",
        "add/hidden/.venv",
    ]


def test_every_task_that_can_t_be_loaded_is_found(suite: Path) -> None:
    for name in ("b", "c"):
        write_json(suite / name / "task.json", {"id": name})
    (suite / "add" / "task.json").write_text("{")
    assert [item.task for item in report(suite).findings if item.rule.id == "invalid-task"] == [
        "add",
        "b",
        "c",
    ]


def test_of_a_retired_task_only_the_files_are_read(suite: Path) -> None:
    changed(suite, graders=graders()[:1])
    pin_anew(suite)
    assert list(found(suite)) == ["no-hidden-grader"]
    changed(suite, graders=graders()[:1], retired={"reason": "old"})
    assert found(suite) == {}
    assert report(suite).retired == ("add",)
    assert report(suite).loadable() == ()
    assert report(suite, "add").retired == ()


def test_a_tree_that_is_refused(suite: Path) -> None:
    (suite / "add" / "fixture" / "link").symlink_to("/etc/passwd")
    assert "symbolic link" in found(suite)["invalid-task"][0]


def test_every_problem_of_options_is_found(suite: Path) -> None:
    options = {"tests": ["a.txt", "/b.py"], "expect": ["a.txt::t"], "hidden": True}
    details = found(changed(suite, graders=graders(options=options)))["invalid-options"]
    assert len(details) == 3
    assert any("tests[0]" in detail for detail in details)


def test_options_that_can_t_be_read(suite: Path) -> None:
    details = found(changed(suite, graders=graders(options={"test": []})))["invalid-options"]
    assert details == ["add/task.json: graders[1].options.test: is not a known key"]


def test_a_grader_that_is_not_installed(suite: Path) -> None:
    assert (
        "unknown grader" in found(changed(suite, graders=graders(use="none")))["invalid-options"][0]
    )


@pytest.mark.parametrize(
    ("mode", "details"),
    [("isolated", None), ("unguarded", ["unguarded instead of isolated"])],
)
def test_trust_that_is_out_of_reach(suite: Path, mode: str, details: list[str] | None) -> None:
    document = json.loads((suite / "suite.json").read_text())
    write_json(suite / "suite.json", {**document, "require_trust": "isolated"})
    options = {**task_manifest()["graders"][1]["options"], "mode": mode}
    visible, hidden = graders(options=options)
    folder = changed(suite, graders=[{**visible, "required": False}, hidden])
    assert found(folder).get("low-trust") == details


def test_graders_that_leave_the_task_open(suite: Path) -> None:
    visible, hidden = graders()
    assert "no-hidden-grader" in found(changed(suite, graders=[visible]))
    assert "no-hidden-grader" in found(
        changed(suite, graders=[visible, {**hidden, "required": False}])
    )
    nothing = found(changed(suite, graders=[{**hidden, "required": False}]))
    assert "no-required-grader" in nothing
    assert "no-hidden-grader" not in nothing


@pytest.mark.parametrize(("candidate", "rule"), [("gold", "no-gold"), ("bad", "no-must-fail")])
def test_calibration_that_shows_one_side_only(suite: Path, candidate: str, rule: str) -> None:
    folder = suite / "add" / "candidates" / candidate
    document = json.loads((folder / "candidate.json").read_text())
    del document["expect"]
    write_json(folder / "candidate.json", document)
    assert found(suite) == {rule: ["add"]}


def test_pins(suite: Path) -> None:
    write_tree(suite / "add", {"fixture/more.txt": "", "hidden/more.txt": ""})
    assert found(suite)["pin-differs"] == ["fixture, hidden, task"]
    (suite / "suite.json").unlink()
    assert found(suite)["unpinned"] == ["add"]


def test_only_some_tasks(suite: Path) -> None:
    write_json(suite / "b" / "task.json", {"id": "b"})
    assert found(suite, "add") == {}
    with pytest.raises(UsageError):
        report(suite, "c")


def test_a_suite_without_a_task_is_not_clean(tmp_path: Path) -> None:
    (tmp_path / "empty" / "task").mkdir(parents=True)
    ran = assay("lint", tmp_path / "empty")
    assert (ran.code, ran.err) == (3, "assay: suite empty: has no task\n")


class Linting(StubGrader):
    """A grader with a rule of its own."""

    max_trust: ClassVar[Trust] = Trust.UNGUARDED
    lint_rules: ClassVar[tuple[LintRule, ...]] = (
        LintRule("odd", LintSeverity.WEAK, "It is odd.", "Even it out."),
    )
    findings: ClassVar[Any] = (LintFinding("odd", "x.py", line=3, excuse="so"),)

    def lint(self, options: Any, task: Any, files: Any) -> Any:
        assert files.paths(hidden=False) == ("README.md", "src/calc.py", "tests/test_calc.py")
        assert files.read("README.md", 100, hidden=False) == b"# calc\n"
        for absent in ("../task.json", "README", "/etc/passwd"):
            assert files.read(absent, 10**9, hidden=False) is None
        assert files.read("README.md", 3, hidden=False) is None
        return self.findings()


def stub_suite(suite: Path) -> Path:
    spec = {"id": "own", "use": "stub", "role": "hidden", "options": {"tests": ["x"]}}
    changed(suite, graders=[spec])
    pin_anew(suite, StubRegistry())
    return suite


def test_a_plugin_s_own_rules(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linting, "findings", lambda _: (LintFinding("odd", "x.py", line=3),))
    [item] = report(stub_suite(suite), registry=StubRegistry(Linting)).findings
    assert (item.rule.id, item.file, item.line) == ("odd", "add/fixture/x.py", 3)


def test_a_grader_without_rules_is_named(suite: Path) -> None:
    assert report(stub_suite(suite), registry=StubRegistry()).unread == (("add", "own"),)


@pytest.mark.parametrize(
    "broken", [lambda _: (LintFinding("other"),), lambda _: 1 / 0, lambda _: None]
)
def test_a_plugin_that_breaks_the_contract(
    suite: Path, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    monkeypatch.setattr(Linting, "findings", broken)
    with pytest.raises(PluginFailed):
        report(stub_suite(suite), registry=StubRegistry(Linting))


def test_the_document_and_the_exit_codes(suite: Path) -> None:
    ran = assay("lint", suite, "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["findings"]) == (0, [])
    (suite / "add/hidden/test_hidden.py").write_text(
        "def test_negative(): f()\ndef test_big(): f()\n"
    )
    ran = assay("lint", suite, "--json")
    document = json.loads(ran.out)
    assert problems(schema("lint-output"), document) == []
    assert ran.code == document["exit_code"] == 3
    assert [item["rule"] for item in document["findings"]] == [
        "proves-nothing",
        "no-assertion",
        "no-assertion",
        "pin-differs",
    ]


def test_weak_findings_fail_on_request(suite: Path) -> None:
    (suite / "add/candidates/bad/candidate.json").unlink()
    (suite / "add/candidates/bad/files/src/calc.py").unlink()
    for folder in ("bad/files/src", "bad/files", "bad"):
        (suite / "add/candidates" / folder).rmdir()
    assert assay("lint", suite).code == 0
    ran = assay("lint", suite, "--strict")
    assert ran.code == 3
    assert "no-must-fail" in ran.out


def test_hostile_names_are_shown_escaped(suite: Path) -> None:
    name = "a\x1b[31m\u202e.py"
    (suite / "add/fixture/__pycache__").mkdir()
    write_tree(suite / "add/fixture/__pycache__", {name: ""})
    (suite / "add/hidden/test_hidden.py").write_text(
        "def test_negative():  # assay: allow no-assertion: \x1b[31mred\u202e\n    f()\n"
        "def test_big(): f()\n"
        "def test_\u00e9\u0301(): f()\n"
    )
    ran = assay("lint", suite)
    assert ran.code == 3
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert "kept no-assertion" in ran.out


@pytest.mark.parametrize("name", builtin_names())
def test_the_shipped_suites_are_clean(name: str) -> None:
    registry = Registry()
    shipped = lint_suite(open_suite(f"builtin:{name}", registry, check_pins=False), registry)
    assert shipped.findings == ()
