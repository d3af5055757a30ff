"""`assay lint` on what is published: answers in the open, private things, what readers need."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support import tiny
from support.cli import assay
from support.tiny import FIXED, add_candidate, make_suite, task_manifest, write_json, write_tree

from assay.api import (
    LintedSuite,
    LintRule,
    LintSeverity,
    PluginFailed,
    SuiteFinding,
    UsageError,
)
from assay.builtin.hasher import TreeHasher
from assay.linting.installed import answers_below
from assay.linting.static import lint_suite, see_task
from assay.plugins import PluginInfo, Registry
from assay.suites import open_suite

TOKEN = "glpat-" + "Ab1_" * 6
SOLUTION = """
def add(a, b):
    total = first_of(a) + second_of(b)
    checked = require_number(total, "total")
    return rounded_half_even(checked)
"""
HIDDEN = """from calc import add

CASES = {"overflow case 7": "sum-2147483648", "negative case 3": "sum--17"}

def test_negative_numbers_wrap():
    assert describe(add(-20, 3)) == "sum--17"
    assert describe(add(2**31 - 1, 1)) == "sum-2147483648"
    assert describe(add(0, 0)) == "sum-zero-0"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = make_suite(tmp_path / "tiny")
    add_candidate(folder / "add", "gold", {"src/calc.py": SOLUTION}, expect={"verdict": "accepted"})
    readme = (
        "Tiny\n====\n\nOrigin of the data\n---\n\nOurs.\n\n# Expected behavior\n\nGold passes.\n"
    )
    return write_tree(
        folder, {"COPYING": "MIT", "README": readme, "add/hidden/test_hidden.py": HIDDEN}
    )


def found(folder: Path, registry: Registry | None = None) -> dict[str, list[str]]:
    """Places by rule, of those about publishing."""
    registry = registry or Registry()
    opened = open_suite(str(folder), registry, check_pins=False)
    by_rule: dict[str, list[str]] = {}
    for item in lint_suite(opened, registry).findings:
        if item.grader or item.rule.id in ("unpinned", "no-must-fail"):
            continue
        place = f"{item.file}:{item.line}" if item.line else item.file or item.detail
        by_rule.setdefault(item.rule.id, []).append(place + (" kept" if item.excuse else ""))
    return by_rule


def prompted(suite: Path, prompt: str, **changes: Any) -> Path:
    write_json(suite / "add/task.json", task_manifest(prompt=prompt, **changes))
    return suite


def test_nothing_is_found_in_a_suite_that_can_be_published(suite: Path) -> None:
    assert found(suite) == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# how\n" + SOLUTION, id="the solution"),
        pytest.param(SOLUTION.replace("    ", "\t"), id="with other indentation"),
        pytest.param(HIDDEN[HIDDEN.index("    assert") :], id="hidden tests"),
    ],
)
def test_an_answer_in_the_fixture(suite: Path, text: str) -> None:
    write_tree(suite / "add/fixture", {"docs/notes.txt": text})
    (place,) = found(suite)["answer-in-tree"]
    assert place.startswith("add/fixture/docs/notes.txt:")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HIDDEN.split("def ", maxsplit=1)[0], id="imports and headings"),
        pytest.param(FIXED, id="another solution"),
        pytest.param("total = first_of(a) + second_of(b)\n", id="one line"),
    ],
)
def test_what_any_fixture_may_have_is_no_answer(suite: Path, text: str) -> None:
    write_tree(suite / "add/fixture", {"docs/notes.txt": text})
    assert "answer-in-tree" not in found(suite)


@pytest.mark.parametrize("name", ["my_calc", "My.Calc", "calc"])
def test_the_project_itself_among_the_requirements(suite: Path, name: str) -> None:
    write_tree(suite / "add/fixture", {"pyproject.toml": '[project]\nname = "my-calc"\n'})
    runtime = {"requirements": [f"{name}==1.0", "attrs==25.1.0"]}
    assert found(prompted(suite, "Add.", runtime=runtime)) == {
        "answer-installed": ["add/task.json"]
    }


def test_an_answer_in_an_installed_package(suite: Path, tmp_path: Path) -> None:
    hasher = TreeHasher()
    opened = open_suite(str(suite), check_pins=False)
    seen = see_task(opened, opened.task("add"), hasher)
    packages = "venv/lib/python3/site-packages"
    root = write_tree(
        tmp_path / "runtime",
        {
            f"{packages}/their/solved.py": f"# theirs\n{SOLUTION}",
            f"{packages}/their/other.py": "def add(a, b):\n    return sum((a, b))\n",
            f"{packages}/tests/test_it.py": HIDDEN,
            "elsewhere/solved.py": SOLUTION,
        },
    )
    (root / packages / "link.py").symlink_to(root / "elsewhere/solved.py")
    assert list(answers_below(seen, str(root))) == [
        "site-packages/tests/test_it.py",
        "site-packages/their/solved.py",
    ]


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("Write `total = first_of(a)  + second_of(b)` there.", "prompt-tells-change"),
        ("The result is sum-2147483648 then.", "prompt-tells-value"),
        ("Make test_negative_numbers_wrap pass.", "prompt-names-test"),
        ("Mind test_hidden_negative, too.", "prompt-names-test"),
    ],
)
def test_a_prompt_that_gives_something_away(suite: Path, prompt: str, rule: str) -> None:
    visible, hidden = task_manifest()["graders"]
    options = {**hidden["options"], "expect": ["test_hidden.py::test_hidden_negative[1]"]}
    graders = [visible, {**hidden, "options": options}]
    assert found(prompted(suite, prompt, graders=graders)) == {rule: ["add/task.json"]}


def test_a_value_that_the_fixture_shows_is_no_secret(suite: Path) -> None:
    write_tree(suite / "add/fixture", {"docs/examples.md": "It is sum-2147483648.\n"})
    assert found(prompted(suite, "The result is sum-2147483648 then.")) == {}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (f"token = '{TOKEN}'", "secret"),
        ("url = 'https://me:pass" + "word@host.example/'", "secret"),
        ("contact: jo.doe@company-x.com", "personal-data"),
        ("call +49 30 1234 5678", "personal-data"),
        ("Signed-off-by: Jo Doe <jo@example.org>", "personal-data"),
        ("path = '/home/" + "jo/src'", "absolute-path"),
        ("C:\\Users\\" + "Jo\\src", "absolute-path"),
    ],
)
@pytest.mark.parametrize(
    "file", ["add/fixture/src/a.py", "add/hidden/b.txt", "add/candidates/gold/notes.md", "README"]
)
def test_what_nobody_should_see(suite: Path, line: str, rule: str, file: str) -> None:
    if file == "README":
        line = (suite / "README").read_text() + line
    write_tree(suite, {file: f"first\n{line}\nlast\n"})
    places = found(suite)[rule]
    assert [place.rpartition(":")[0] for place in places] == [file]


def test_a_name_in_git_s_configuration(suite: Path) -> None:
    write_tree(suite / "add/fixture", {"gitconfig": "[user]\n\tname = Jo Doe\n[core]\n"})
    assert found(suite) == {"personal-data": ["add/fixture/gitconfig:2"]}


@pytest.mark.parametrize(
    "line",
    [
        "mail user@example.com, a@b.test, git@github.com, noreply@company.com",
        "decorated @pytest.fixture and pkg@1.2.3 and x@y",
        "versions +1.2.3, 2024-01-02, 10.0.0.1, +1 202 555 0143",
        "src/home/jo and ./root/x and https://host/home/jo and ~/x",
        "name = Jo Doe",
        "task-sk-1 ghp_short https://host/path?a=b@c",
    ],
)
def test_what_is_nobody_s(suite: Path, line: str) -> None:
    write_tree(suite / "add/fixture", {"a.txt": line})
    assert found(suite) == {}


def test_a_comment_on_the_line_keeps_a_finding_with_its_reason(suite: Path) -> None:
    text = "jo@company-x.com  // assay: allow personal-data, secret: a public list\n"
    write_tree(suite / "add/fixture", {"a.js": text, "b.js": text.replace("personal-data, ", "")})
    assert found(suite)["personal-data"] == ["add/fixture/b.js:1", "add/fixture/a.js:1 kept"][::-1]


def test_what_is_found_is_never_quoted(suite: Path) -> None:
    mail = "jo.doe@company-x.com"
    write_tree(suite / "add/fixture", {"a.txt": f"{TOKEN} {mail} /home/" + "jo-doe/x\n"})
    for arguments in ([], ["--json"]):
        ran = assay("lint", suite, *arguments)
        assert ran.code == 3
        assert "a.txt" in ran.out
        assert not any(text in ran.out + ran.err for text in (TOKEN, mail, "jo-doe"))


def test_what_readers_need(suite: Path) -> None:
    (suite / "README").write_text("# Tiny\n\nOrigin: ours. Expected behaviour: fine.\n")
    (suite / "COPYING").unlink()
    (suite / "add/fixture/big.bin").write_bytes(b"\0" * (1024**2 + 1))
    assert found(suite) == {
        "large-file": ["add/fixture/big.bin"],
        "no-licence": [""],
        "readme-lacks-part": ["README", "README"],
    }
    (suite / "README").unlink()
    assert found(suite)["no-readme"] == [""]
    write_tree(suite / "add/hidden", {"test_hidden.py": tiny.HIDDEN})
    assert assay("lint", suite).code == 0
    assert assay("lint", suite, "--strict").code == 3


def test_links_in_a_task_stop_no_rule(suite: Path) -> None:
    (suite / "add/candidates/link").symlink_to("/etc")
    assert "invalid-task" in found(suite) or found(suite) == {}


RULE = LintRule("no-tabs", LintSeverity.WEAK, "Tabs follow.", "Use blanks.")


class Tabs:
    """Somebody's rules."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "tabs"
    lint_rules: ClassVar[tuple[LintRule, ...]] = (RULE,)

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        for path in suite.paths():
            if b"\t" in (suite.read(path, 1000) or b""):
                yield SuiteFinding("no-tabs", file=path)


class Unknown(Tabs):
    """Finds what it has no rule for."""

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        return [SuiteFinding("other")]


class Broken(Tabs):
    """Raises."""

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        raise KeyError("secret")


class Doubled(Tabs):
    """Has somebody else's rule."""

    lint_rules: ClassVar[tuple[LintRule, ...]] = (LintRule("secret", RULE.severity, "A.", "B."),)


class WithTabs(Registry):
    """The installed plugins, and one more of lint rules."""

    def __init__(self, plugin: type) -> None:
        super().__init__()
        self._plugin = plugin

    def names(self, group: str) -> tuple[str, ...]:
        more = ("tabs",) if group == "assay.lint_rules" else ()
        return (*super().names(group), *more)

    def load(self, group: str, name: str) -> Any:
        return self._plugin if name == "tabs" else super().load(group, name)

    def find(self, group: str, name: str) -> PluginInfo:
        if name == "tabs":
            return PluginInfo(group, name, "tabs-dist", "1", "tabs:Tabs")
        return super().find(group, name)


def test_a_plugin_adds_rules(suite: Path) -> None:
    write_tree(suite / "add/fixture", {"a.txt": "\t"})
    assert found(suite, WithTabs(Tabs)) == {"no-tabs": ["add/fixture/a.txt"]}


@pytest.mark.parametrize(
    ("plugin", "problem"), [(Unknown, "something else"), (Broken, "raised KeyError")]
)
def test_a_plugin_that_breaks_the_contract_is_named(
    suite: Path, plugin: type, problem: str
) -> None:
    with pytest.raises(PluginFailed, match=rf"tabs \(tabs-dist\): .*{problem}") as caught:
        found(suite, WithTabs(plugin))
    assert "secret" not in str(caught.value)


def test_a_rule_has_one_owner(suite: Path) -> None:
    with pytest.raises(UsageError, match="lint rule secret is both in private and in tabs"):
        found(suite, WithTabs(Doubled))


def test_the_json_document_tells_the_place_too(suite: Path) -> None:
    write_tree(suite / "add/fixture", {"a.txt": TOKEN})
    (item,) = [
        item
        for item in json.loads(assay("lint", suite, "--json").out)["findings"]
        if item["rule"] == "secret"
    ]
    assert (item["file"], item["line"]) == ("add/fixture/a.txt", 1)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 500_000,
        ("AKIA" + "Q" * 16 + "\n") * 45_000,
        "[user]\r\n\tname = Jo Bloggs\r\n" + "\n" * 1000,
    ],
    ids=["blank-lines", "credentials", "git-config"],
)
def test_any_file_is_read_in_linear_time(suite: Path, text: str) -> None:
    """With quadratic time the first two would take longer than a run of all tests."""
    (suite / "add/fixture/data.txt").write_text(text, newline="")
    places = {rule: items for rule, items in found(suite).items() if rule != "large-file"}
    file = "add/fixture/data.txt"
    if "AKIA" in text:
        assert places == {"secret": [f"{file}:{number}" for number in range(1, 101)]}
    else:
        assert places == ({"personal-data": [f"{file}:2"]} if "[user]" in text else {})
