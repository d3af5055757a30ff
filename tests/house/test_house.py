"""Rules of this repository that no other tool checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from support.repository import ROOT, links, own_files, relative, text_of

MAX_LINES = 300
SOURCE_ROOTS = ("core", "sandbox", "graders")

# Put together from parts, so that this file keeps the rules that it checks.
_MACHINE_PATHS = re.compile(r"(?<![\w.~:-])/(?:" + "|".join(("work", "root")) + r")/(?=[\w.])")
_THIS_MACHINE = re.compile("/" + "work/(?:main|wt|shared)")
_REGISTRIES = re.compile(
    "|".join(
        re.escape(f"{name}.{top}")
        for name, top in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("npmjs", "org"),
            ("npmjs", "com"),
            ("crates", "io"),
            ("docker", "io"),
            ("ghcr", "io"),
            ("quay", "io"),
            ("golang", "org"),
        )
    )
)
_UNFINISHED = re.compile(r"\b(?:" + "|".join(w[::-1] for w in ("ODOT", "EMXIF")) + r")\b")
_ISSUE_NUMBERS = re.compile(r"\bissues?\s+#?\d+\b|(?<![\w&#])#\d+\b", re.IGNORECASE)
_NOT_BUILT = "rorrEdetnemelpmItoN"[::-1]


def _hits(pattern: re.Pattern[str], suffixes: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{relative(path)}:{number}: {line.strip()[:120]}"
        for path in own_files()
        if path.name != "LICENSE" and (not suffixes or path.suffix in suffixes)
        for number, line in enumerate((text_of(path) or "").splitlines(), 1)
        if pattern.search(line)
    ]


def test_there_are_files_to_check() -> None:
    names = {relative(path) for path in own_files()}
    assert {"README.md", "pyproject.toml", "core/assay/api/reasons.py"} <= names


@pytest.mark.parametrize("kind", ["own paths", "of the registry"])
def test_the_checks_find_what_they_look_for(kind: str) -> None:
    pattern = _MACHINE_PATHS if kind == "own paths" else _REGISTRIES
    bad = " /" + "work" + "/x" if kind == "own paths" else "https://" + "pypi" + ".org/simple"
    assert pattern.search(bad)
    assert not pattern.search("/workspace/src and assay.api and network/x")


def test_no_file_names_a_path_of_the_machine_it_was_made_on() -> None:
    # Tests hand such paths to the loader as hostile input.
    assert [hit for hit in _hits(_MACHINE_PATHS) if not hit.startswith("tests/")] == []
    assert _hits(_THIS_MACHINE) == []


def test_no_file_names_a_package_registry() -> None:
    assert _hits(_REGISTRIES) == []


def test_nothing_is_marked_as_unfinished() -> None:
    assert _hits(_UNFINISHED) == []
    assert _hits(re.compile(_NOT_BUILT), (".py",)) == []


def test_no_text_refers_to_issue_numbers() -> None:
    assert _hits(_ISSUE_NUMBERS, (".md", ".py", ".toml", ".yml")) == []


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    too_long = {
        relative(path): lines
        for path in own_files()
        if path.suffix in (".py", ".mjs", ".c") and relative(path).split("/")[0] in SOURCE_ROOTS
        if (lines := len((text_of(path) or "").splitlines())) > MAX_LINES
    }
    assert too_long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        relative(path)
        for path in own_files()
        if path.suffix == ".py" and relative(path).split("/")[0] in SOURCE_ROOTS
        if not (text_of(path) or "").lstrip().startswith(('"""', "#!"))
    ]
    assert silent == []


def _pages_in(entry: object) -> set[str]:
    if isinstance(entry, str):
        return {entry}
    children = entry.values() if isinstance(entry, dict) else entry
    assert isinstance(children, list | type({}.values()))
    return {page for child in children for page in _pages_in(child)}


def _nav() -> set[str]:
    return _pages_in(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])


def test_every_decision_record_is_in_the_navigation_and_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    records = {path.name for path in folder.glob("[0-9]*.md")}
    listed = set(links((folder / "index.md").read_text("utf-8")))
    assert records
    assert {f"decisions/{name}" for name in records} <= _nav()
    assert records <= listed


def test_every_decision_record_has_its_own_number() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]
    assert len(set(numbers)) == len(numbers)


def test_every_page_is_in_the_navigation() -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages == _nav()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_front_pages_resolve(name: str) -> None:
    broken = [
        target
        for target in links((ROOT / name).read_text("utf-8"))
        if "://" not in target and not (ROOT / target.partition("#")[0]).exists()
    ]
    assert broken == []


def test_every_page_is_within_two_clicks_of_the_readme() -> None:
    readme = ROOT / "README.md"
    one = _targets(readme)
    two = {target for page in one for target in _targets(page)}
    pages = set((ROOT / "docs").rglob("*.md"))
    assert sorted(relative(page) for page in pages - one - two) == []


def _targets(page: Path) -> set[Path]:
    if page.suffix != ".md" or not page.is_file():
        return set()
    targets = (target.partition("#")[0] for target in links(page.read_text("utf-8")))
    return {(page.parent / target).resolve() for target in targets if target}
