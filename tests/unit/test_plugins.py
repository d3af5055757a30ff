"""The registry beside hostile, broken and doubled distributions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.distributions import GOOD_PLUGIN, install

from assay.api import GraderRole, GraderSpec, ManifestError, PluginFailed, UsageError
from assay.plugins import GROUPS, Registry

GRADERS = "assay.graders"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_built_ins_come_through_entry_points() -> None:
    registry = Registry()
    assert "dir" in registry.names("assay.suite_readers")
    assert {"command", "pytest", "node-test"} <= set(registry.names(GRADERS))
    info = registry.find("assay.suite_readers", "dir")
    assert (info.distribution, info.value) == ("assay", "assay.builtin.reader:DirectoryReader")
    assert registry.load("assay.suite_readers", "dir").scheme == "dir"


def test_an_unknown_group_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"unknown plugin group assay\.x; known: assay\.hashers"):
        Registry().names("assay.x")


def test_b76_a_misspelt_name_lists_the_known_ones(site: Path) -> None:
    install(site, "acme", {GRADERS: {"exact": "acme_exact:Good"}})
    with pytest.raises(UsageError) as caught:
        Registry().load(GRADERS, "exatc")
    assert str(caught.value).startswith("unknown grader exatc; known: call, command, exact, ")


def test_b76_a_failing_import_names_plugin_distribution_and_exception(site: Path) -> None:
    install(
        site,
        "acme-broken",
        {GRADERS: {"broken": "acme_broken:Good"}},
        {"acme_broken.py": "import no_such_mod\n"},
    )
    registry = Registry()
    assert "broken" in registry.names(GRADERS)
    with pytest.raises(PluginFailed) as caught:
        registry.load(GRADERS, "broken")
    assert str(caught.value) == (
        "plugin broken (acme-broken): failed to import: ModuleNotFoundError: no_such_mod"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("assert False, 'x'", "failed to import: AssertionError"),
        ("raise SystemExit(0)", "failed to import: SystemExit"),
        ("def (", "failed to import: SyntaxError"),
        ("x = 1", "failed to import: AttributeError"),
        ("from os import nothing", "failed to import: ImportError"),
        ("class Good: pass", 'must declare api = "1.0"'),
        ("class Good: api = 1.0", 'must declare api = "1.0"'),
        ("class Good: api = '1'", 'must declare api = "1.0"'),
        ("class Good: api = '1.x'", 'must declare api = "1.0"'),
        ("class Good: api = '1.99'", "needs plugin API 1.99; this is 1.0"),
        ("class Good: api = '2.0'", "needs plugin API 2.0; this is 1.0"),
        ("class Good: api = '0.9'", "needs plugin API 0.9; this is 1.0"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_clear_line(
    site: Path, request: pytest.FixtureRequest, source: str, problem: str
) -> None:
    module = f"acme_unusable_{abs(hash(request.node.name))}"
    install(site, "acme", {GRADERS: {"p": f"{module}:Good"}}, {f"{module}.py": source})
    with pytest.raises(PluginFailed) as caught:
        Registry().load(GRADERS, "p")
    assert str(caught.value) == f"plugin p (acme): {problem}"


def test_listing_imports_nothing(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        site,
        "acme-loud",
        {group: {"loud": "acme_loud:Good"} for group in GROUPS},
        {"acme_loud.py": "raise RuntimeError('imported')\n"},
    )
    registry = Registry()
    for group in GROUPS:
        assert "loud" in registry.names(group)
        assert any(info.distribution == "acme-loud" for info in registry.info(group))
    registry.load("assay.suite_readers", "dir")
    assert "acme_loud" not in sys.modules


@pytest.mark.parametrize("order", [("acme-a", "acme-b"), ("acme-b", "acme-a")])
def test_one_name_from_two_distributions_names_both_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    for name in order:
        install(tmp_path / name, name, {GRADERS: {"same": "acme_same:Good"}})
        monkeypatch.syspath_prepend(str(tmp_path / name))
    with pytest.raises(
        UsageError, match="grader same is given by more than one distribution: acme-a and acme-b"
    ):
        Registry().load(GRADERS, "same")


def test_a_plugin_may_not_hide_a_built_in(site: Path) -> None:
    install(site, "acme", {GRADERS: {"pytest": "acme_pytest:Good"}})
    with pytest.raises(UsageError, match="acme and assay"):
        Registry().load(GRADERS, "pytest")


def test_two_versions_of_one_distribution_are_the_first_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1.0", "2.0"):
        entry = {GRADERS: {"twice": "acme_twice:Good"}}
        install(tmp_path / version, "Acme.Twice", entry, version=version)
        monkeypatch.syspath_prepend(str(tmp_path / version))
    info = Registry().find(GRADERS, "twice")
    assert (info.distribution, info.version) == ("acme-twice", "2.0")


@pytest.mark.parametrize("stale", ["acme_good-0.9.dist-info", "acme_good-1.0.dist-info"])
def test_b77_a_stale_empty_metadata_folder_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stale: str
) -> None:
    module = f"acme_stale_{stale[10]}"
    site = install(
        tmp_path / "site",
        "acme-good",
        {GRADERS: {"good": f"{module}:Good"}},
        {f"{module}.py": GOOD_PLUGIN},
    )
    monkeypatch.syspath_prepend(str(site))
    (tmp_path / "stale" / stale).mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "stale"))
    registry = Registry()
    assert registry.find(GRADERS, "good").version == "1.0"
    assert registry.load(GRADERS, "good").__name__ == "Good"


def test_options_are_strict_and_errors_say_where(site: Path) -> None:
    source = """
from __future__ import annotations
from collections.abc import Mapping
from attrs import field, frozen, validators

@frozen
class Inner:
    weight: float = field(default=1.0, validator=validators.ge(0))

@frozen
class Options:
    tests: tuple[str, ...]
    inner: Inner = Inner()
    table: Mapping[str, int] = field(factory=dict)
    mode: str = field(default="a", validator=validators.in_(("a", "b")))
    maybe: int | None = None

class Good:
    api = "1.0"
    Options = Options
"""
    install(site, "acme", {GRADERS: {"o": "acme_options:Good"}}, {"acme_options.py": source})
    registry = Registry()

    def structured(**options: object) -> object:
        spec = GraderSpec("g", "o", GraderRole.VISIBLE, options)
        return registry.grader(spec, "task.json", "graders[0]")[1]

    assert structured(tests=["a"], inner={"weight": 2}, table={"x": 1}, maybe=None)
    for options, problem in (
        ({"tests": "a"}, "tests: must be a list"),
        ({"tests": [1]}, "tests[0]: must be text"),
        ({}, "tests: is required"),
        ({"tests": [], "test": []}, "test: is not a known key"),
        ({"tests": [], "inner": {"weight": True}}, "inner.weight: must be a number"),
        ({"tests": [], "inner": {"weight": -1}}, "inner: 'weight' must be >= 0"),
        ({"tests": [], "table": {"x": "1"}}, "table.x: must be a whole number"),
        ({"tests": [], "mode": "sesame"}, "mode: 'mode' must be in"),
        ({"tests": [], "maybe": "x"}, "maybe: must be a whole number"),
    ):
        with pytest.raises(ManifestError) as caught:
            structured(**options)  # type: ignore[arg-type]
        assert f"task.json: graders[0].options.{problem}" in str(caught.value)
        assert "sesame" not in str(caught.value)


def test_nothing_is_written_to_the_home_folder(tmp_path: Path) -> None:
    code = (
        "from assay.plugins import Registry\n"
        "Registry().load('assay.suite_readers', 'dir')\n"
        "print(*Registry().names('assay.graders'))\n"
    )
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "pytest" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("def __init__(self): raise KeyError('secret')", "raised KeyError"),
        ("pass", "has no attrs class Options"),
        ("Options = dict", "has no attrs class Options"),
        ("Options = Missing", "has a class Options with types that can't be read from JSON"),
        ("Options = Odd", "has a class Options with types that can't be read from JSON"),
    ],
)
def test_a_grader_that_is_badly_written_is_one_clear_line(
    site: Path, request: pytest.FixtureRequest, body: str, problem: str
) -> None:
    module = f"acme_badly_{abs(hash(request.node.name))}"
    source = f"""
from attrs import frozen

@frozen
class Missing:
    a: "Nowhere"

@frozen
class Odd:
    a: int | str

class Good:
    api = "1.0"
    {body}
"""
    install(site, "acme", {GRADERS: {"p": f"{module}:Good"}}, {f"{module}.py": source})
    spec = GraderSpec("g", "p", GraderRole.VISIBLE, {"a": 1})
    with pytest.raises(PluginFailed) as caught:
        Registry().grader(spec, "task.json", "graders[0]")
    assert str(caught.value) == f"plugin p (acme): {problem}"


def test_fixed_tuples_and_literals_are_strict(site: Path) -> None:
    source = """
from typing import Literal
from attrs import frozen

@frozen
class Options:
    pair: tuple[int, str] = (0, "")
    mode: Literal["a", "b"] = "a"

class Good:
    api = "1.0"
    Options = Options
"""
    install(site, "acme", {GRADERS: {"t": "acme_tuples:Good"}}, {"acme_tuples.py": source})
    registry = Registry()
    for options, problem in (
        ({"pair": "ab"}, "pair: must be a list of 2 values"),
        ({"pair": [1]}, "pair: must be a list of 2 values"),
        ({"pair": [1, 2]}, "pair[1]: must be text"),
        ({"mode": "sesame"}, "mode: must be one of: a, b"),
    ):
        spec = GraderSpec("g", "t", GraderRole.VISIBLE, options)
        with pytest.raises(ManifestError) as caught:
            registry.grader(spec, "task.json", "graders[0]")
        assert str(caught.value) == f"task.json: graders[0].options.{problem}"
    spec = GraderSpec("g", "t", GraderRole.VISIBLE, {"pair": [1, "x"], "mode": "b"})
    assert registry.grader(spec, "task.json", "graders[0]")[1].pair == (1, "x")
