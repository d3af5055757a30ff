"""The programs that report test results: ids, outcomes, and what takes no part in a run."""

from pathlib import Path

from support.programs import run_node, run_pytest, write_tree

from assay_graders.report import RunReport


def outcomes(report: RunReport | None) -> dict[str, str]:
    assert report is not None
    found = {test.id: test.outcome.value for test in report.tests}
    assert len(found) == len(report.tests)
    return found


OUTCOMES = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("set-up")

@pytest.fixture
def late():
    yield
    raise RuntimeError("tear-down")

def test_passed(): pass
def test_failed(): assert 1 == 2
def test_skipped(): pytest.skip()
@pytest.mark.skip
def test_marked_skip(): pass
@pytest.mark.xfail
def test_xfailed(): assert 0
@pytest.mark.xfail
def test_xpassed(): pass
@pytest.mark.xfail(strict=True)
def test_strict_xpass(): pass
def test_setup(broken): pass
def test_teardown(late): pass
def test_exits(): raise SystemExit(0)
def test_subtests(subtests):
    with subtests.test(): assert 0
"""


def test_each_outcome_of_pytest_is_told_apart(tmp_path: Path):
    write_tree(tmp_path, {"test_o.py": OUTCOMES})

    report = run_pytest(tmp_path, "test_o.py")

    assert outcomes(report) == {
        "test_o.py::test_passed": "passed",
        "test_o.py::test_failed": "failed",
        "test_o.py::test_skipped": "skipped",
        "test_o.py::test_marked_skip": "skipped",
        "test_o.py::test_xfailed": "xfailed",
        "test_o.py::test_xpassed": "xfailed",
        "test_o.py::test_strict_xpass": "failed",
        "test_o.py::test_setup": "error",
        "test_o.py::test_teardown": "error",
        "test_o.py::test_exits": "failed",
        "test_o.py::test_subtests": "failed",
    }
    messages = {test.id: test.message for test in report.tests}
    assert "assert 1 == 2" in messages["test_o.py::test_failed"]
    assert messages["test_o.py::test_passed"] == ""


def test_pytest_ids_are_exact(tmp_path: Path):
    test = """
import pytest
@pytest.mark.parametrize("v", ["a b - c", "a b - d", "x] - y"])
def test_q(v): assert v != "a b - d"
class TestGroup:
    def test_in(self): pass
def test_\u00e9(): pass
"""
    write_tree(tmp_path, {"tests/t.py": test, "tests/\U0001f600.py": "def test_a(): pass\n"})

    report = run_pytest(tmp_path, "tests/t.py", "tests/\U0001f600.py")

    assert outcomes(report) == {
        "tests/t.py::test_q[a b - c]": "passed",
        "tests/t.py::test_q[a b - d]": "failed",
        "tests/t.py::test_q[x] - y]": "passed",
        "tests/t.py::TestGroup::test_in": "passed",
        "tests/t.py::test_\u00e9": "passed",
        "tests/\U0001f600.py::test_a": "passed",
    }


def test_no_configuration_of_the_tree_takes_part(tmp_path: Path):
    hostile = "import pytest\n@pytest.hookimpl(hookwrapper=True)\n"
    hostile += "def pytest_runtest_makereport(item, call):\n"
    hostile += "    (yield).get_result().outcome = 'passed'\n"
    options = "--collect-only -k nothing"
    write_tree(
        tmp_path,
        {
            "conftest.py": hostile,
            "tests/conftest.py": hostile,
            "pytest.ini": f"[pytest]\naddopts = {options}\n",
            "pytest.toml": f'[pytest]\naddopts = ["{options}"]\n',
            "tox.ini": f"[pytest]\naddopts = {options}\n",
            "setup.cfg": f"[tool:pytest]\naddopts = {options}\n",
            "pyproject.toml": f"[tool.pytest.ini_options]\naddopts = '{options}'\n",
            "tests/test_a.py": "def test_a(): assert 0\n",
        },
    )

    assert outcomes(run_pytest(tmp_path, "tests/test_a.py")) == {
        "tests/test_a.py::test_a": "failed"
    }


def test_modules_of_the_tree_never_replace_the_runners_own(tmp_path: Path):
    hostile = "import os\nos._exit(0)\n"
    names = ("pytest", "_pytest", "pluggy", "json", "shlex", "sitecustomize", "usercustomize")
    write_tree(tmp_path, {f"src/{name}.py": hostile for name in names})
    write_tree(
        tmp_path,
        {
            "src/calc.py": "def two(): return 2\n",
            "test_a.py": "import json, calc\ndef test_a(): assert calc.two() == 2\n",
        },
    )

    report = run_pytest(tmp_path, "test_a.py", roots=("src",))

    assert outcomes(report) == {"test_a.py::test_a": "passed"}


def test_helpers_beside_the_tests_win_over_the_code_under_test(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "src/helper.py": "VALUE = 'hostile'\n",
            "tests/helper.py": "VALUE = 'trusted'\n",
            "tests/test_a.py": "import helper\ndef test_a(): assert helper.VALUE == 'trusted'\n",
        },
    )

    report = run_pytest(tmp_path, "tests/test_a.py", roots=("src",))

    assert outcomes(report) == {"tests/test_a.py::test_a": "passed"}


def test_a_file_that_does_not_load_is_reported(tmp_path: Path):
    write_tree(tmp_path, {"test_a.py": "import absent\n", "test_b.py": "def test_b(): pass\n"})

    report = run_pytest(tmp_path, "test_a.py", "test_b.py")

    assert report is not None
    assert [error.file for error in report.errors] == ["test_a.py"]
    assert "absent" in report.errors[0].message


def test_a_leaving_process_gives_no_passes(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "test_hard.py": "import os\nos._exit(0)\n",
            "test_soft.py": "import sys\nsys.exit(0)\ndef test_a(): pass\n",
            "test_polite.py": "import pytest\ndef test_a(): pass\n"
            "def test_b(): pytest.exit('bye', returncode=0)\ndef test_c(): assert 0\n",
        },
    )

    assert run_pytest(tmp_path, "test_hard.py") is None
    assert run_pytest(tmp_path, "test_soft.py") == RunReport()
    assert outcomes(run_pytest(tmp_path, "test_polite.py")) == {"test_polite.py::test_a": "passed"}


def test_long_and_odd_messages_fit_the_report(tmp_path: Path):
    test = """
import pytest
@pytest.mark.parametrize("n", range(300))
def test_a(n): raise ValueError("\\udc80\\x1b[31m" + "x" * 100_000)
"""
    write_tree(tmp_path, {"test_a.py": test})

    report = run_pytest(tmp_path, "test_a.py")

    assert report is not None
    assert len(report.tests) == 300
    assert {test.outcome.value for test in report.tests} == {"failed"}
    assert "[cut]" in report.tests[0].message


NODE = """
import test, { after, before, describe, it } from "node:test";
import assert from "node:assert/strict";
describe("outer", () => {
  it("passes", () => {});
  it("fails", () => assert.equal(1, 2));
  it.skip("skipped", () => {});
  it.todo("todo", () => {});
  describe("inner", () => { it("deep", () => {}); });
});
test("parent", async (t) => { await t.test("child", () => {}); });
describe("late", () => { after(() => { throw new Error("hook"); }); it("fine", () => {}); });
describe("early", () => { before(() => { throw new Error("hook"); }); it("never", () => {}); });
describe.skip("left out", () => { it("hidden", () => {}); });
test("\U0001f600 a > b", () => {});
"""


def test_each_outcome_of_node_is_told_apart(tmp_path: Path):
    write_tree(tmp_path, {"tests/a.test.mjs": NODE})

    report = run_node(tmp_path, "tests/a.test.mjs")

    assert outcomes(report) == {
        "tests/a.test.mjs > outer > passes": "passed",
        "tests/a.test.mjs > outer > fails": "failed",
        "tests/a.test.mjs > outer > skipped": "skipped",
        "tests/a.test.mjs > outer > todo": "xfailed",
        "tests/a.test.mjs > outer > inner > deep": "passed",
        "tests/a.test.mjs > parent > child": "passed",
        "tests/a.test.mjs > parent": "passed",
        "tests/a.test.mjs > late > fine": "passed",
        "tests/a.test.mjs > late": "failed",
        "tests/a.test.mjs > early > never": "failed",
        "tests/a.test.mjs > early": "failed",
        "tests/a.test.mjs > \U0001f600 a > b": "passed",
    }
    assert report is not None
    messages = {test.id: test.message for test in report.tests}
    assert "1 !== 2" in messages["tests/a.test.mjs > outer > fails"]


def test_node_files_that_leave_early_report_no_test(tmp_path: Path):
    tap = "TAP version 13\\nok 1 - a\\n1..1"
    write_tree(
        tmp_path,
        {
            "exit.mjs": "process.exit(0);\n",
            "forged.mjs": f'console.log("{tap}");\nprocess.exit(0);\n',
            "noise.mjs": 'console.log("ok");\nconsole.log("okay then");\n',
        },
    )

    assert run_node(tmp_path, "exit.mjs", "forged.mjs", "noise.mjs") == RunReport()


def test_node_files_that_fail_outside_of_tests_are_reported(tmp_path: Path):
    passing = 'import test from "node:test";\ntest("a", () => {});\n'
    write_tree(
        tmp_path,
        {
            "load.mjs": 'import "./absent.mjs";\n',
            "code.mjs": passing + "process.exitCode = 3;\n",
        },
    )

    report = run_node(tmp_path, "load.mjs", "code.mjs")

    assert outcomes(report) == {"code.mjs > a": "passed"}
    assert report is not None
    assert sorted(error.file for error in report.errors) == ["code.mjs", "load.mjs"]


def test_a_repeated_node_test_is_reported_twice(tmp_path: Path):
    body = 'import test from "node:test";\ntest("a", () => {});\ntest("a", () => {});\n'
    write_tree(tmp_path, {"a.mjs": body})

    report = run_node(tmp_path, "a.mjs")

    assert report is not None
    assert [test.id for test in report.tests] == ["a.mjs > a", "a.mjs > a"]


def test_a_node_test_file_has_no_private_channel(tmp_path: Path):
    body = """
import test from "node:test";
import { readdirSync, readlinkSync } from "node:fs";
test("a", () => {
  const ends = readdirSync("/proc/self/fd").map((fd) => {
    try { return readlinkSync(`/proc/self/fd/${fd}`); } catch { return ""; }
  });
  const end = readlinkSync(`/proc/${process.ppid}/fd/${process.env.ASSAY_CHANNEL_REPORT}`);
  if (!end.startsWith("socket:") || ends.includes(end)) throw new Error(ends.join());
});
"""
    write_tree(tmp_path, {"a.mjs": body})

    assert outcomes(run_node(tmp_path, "a.mjs")) == {"a.mjs > a": "passed"}
