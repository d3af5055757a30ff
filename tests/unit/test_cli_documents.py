"""Every JSON document of a command obeys the schema that its own `schema` key names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.json_schema import problems
from support.leftovers import left_by_a_killed_process
from support.records import plan, record
from support.trees import HASHER

from assay.api import Capabilities, Finding, Profile
from assay.cli.doctor import lacking
from assay.ledger import Ledger, create_run_folder, write_json
from assay.results import build_report, results_digest
from assay.schemas import schema, schema_names
from assay.store import Store


def checked(text: str) -> Any:
    """The document, after its own schema has judged it."""
    document = json.loads(text)
    match = re.fullmatch(r"assay-([a-z-]+)-1", document["schema"])
    assert match is not None
    assert problems(schema(match[1]), document) == []
    return document


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder with one accepted trial, as a run leaves it."""
    folder = create_run_folder(tmp_path / "run")
    with Ledger(folder) as ledger:
        made = [ledger.append(record())]
    digest = "sha256:" + "0" * 64
    identity = {
        "revisions": {"task": digest, "fixture": digest, "environment": digest},
        "environment": {},
    }
    report = build_report(plan(made), made, {}, identity)
    write_json(folder, "report.json", report)
    write_json(
        folder, "run.json", {"schema": "assay-run-1", "results_digest": results_digest(report)}
    )
    return folder


@pytest.mark.parametrize(
    "arguments", [("doctor", "--json"), ("plugins", "--json"), ("schema", "--json")]
)
def test_what_tells_of_this_host(arguments: tuple[str, ...]) -> None:
    ran = assay(*arguments)
    assert ran.code in (0, 4)
    assert checked(ran.out)["schema"] == f"assay-{arguments[0]}-output-1"


def test_doctor_says_what_is_not_in_force_and_can_require_it() -> None:
    told = checked(assay("doctor", "--json").out)
    weak = [
        finding["layer"]
        for finding in told["findings"]
        if finding["state"] != "present" and not finding["optional"]
    ]
    assert told["lacking"][: len(weak)] == weak
    assert told["hardened"] is (not told["lacking"])
    assert set(told["profiles"]) == {profile.value for profile in Profile}
    required = assay("doctor", "--require", "hardened")
    assert required.code == (0 if told["hardened"] else 4)
    assert all(layer in required.out.splitlines()[-1] for layer in weak)
    assert assay("doctor", "--require", "something").code == 2


def test_doctor_prints_profiles_as_a_table() -> None:
    head, *rows = assay("doctor", "--profiles").out.splitlines()
    assert head.split() == ["rule", *(profile.value for profile in Profile)]
    assert sorted(rows) == rows
    assert ["loopback", "yes", "yes", "yes", "no", "no"] in [row.split() for row in rows]


@pytest.mark.parametrize(
    ("available", "state", "optional", "missing"),
    [
        (True, "present", False, ()),
        (True, "degraded", False, ("memory",)),
        (True, "absent", True, ()),
        (False, "present", False, ("userns",)),
        (False, "absent", False, ("memory", "userns")),
    ],
)
def test_only_layers_wholly_in_force_make_a_host_hardened(
    available: bool, state: str, optional: bool, missing: tuple[str, ...]
) -> None:
    finding = Finding("memory", state, "found", optional=optional)
    assert lacking(Capabilities(available, layer="userns"), [finding]) == missing


def test_the_list_of_schemas_is_complete() -> None:
    assert tuple(checked(assay("schema", "--json").out)["names"]) == schema_names()


def test_new_and_lock(tmp_path: Path) -> None:
    suite = checked(assay("new", "suite", tmp_path / "s", "--json").out)
    assert all((tmp_path / "s" / path).is_file() for path in suite["written"])
    task = checked(assay("new", "task", tmp_path / "s" / "b", "--json").out)
    assert all((tmp_path / "s" / path).is_file() for path in task["written"])
    assert checked(assay("lock", tmp_path / "s", "--json").out)["exit_code"] == 0
    assert checked(assay("lock", tmp_path / "s", "--check", "--json").out)["changed"] == []


def test_show(run: Path) -> None:
    assert checked(assay("show", run, "--json").out)["protocol"] >= 1
    trial = checked(assay("show", run, "1", "--json").out)["trial"]
    assert problems(schema("trial"), trial) == []


def test_a_changed_report_is_an_integrity_error(run: Path) -> None:
    report = json.loads((run / "report.json").read_bytes())
    report["results"]["trials"][0]["verdict"]["status"] = "rejected"
    write_json(run, "report.json", report)
    ran = assay("show", run)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err == "assay: report.json differs from the digest of results in run.json\n"


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("show", "nowhere"), "UsageError", 2),
        (("run", "builtin:delivery-eval", "--task", "none"), "UsageError", 2),
        (("lint", "nowhere"), "InvalidInput", 3),
        (("lock", "nowhere"), "InvalidInput", 3),
        (("lint", "--none"), "UsageError", 2),
    ],
)
def test_an_error_is_json_too(
    tmp_path: Path, arguments: tuple[str, ...], kind: str, code: int
) -> None:
    plain = assay(*arguments, cwd=tmp_path)
    ran = assay(*arguments, "--json", cwd=tmp_path)
    told = checked(ran.err.splitlines()[-1])
    assert (ran.code, ran.out, told["error"], told["exit_code"]) == (code, "", kind, code)
    assert plain.err == f"assay: {told['message']}\n"


@pytest.mark.parametrize("trial", ["0", "2", "9" * 5000, "\u0663", "\u00b2", "add", "add/x", ""])
def test_a_trial_that_is_not_there_is_a_usage_error(run: Path, trial: str) -> None:
    ran = assay("show", run, trial)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("jobs", ["0", "-1", "1025", "9" * 30, "x"])
def test_a_senseless_number_of_workers_is_a_usage_error(jobs: str) -> None:
    ran = assay("run", "builtin:delivery-eval", "-j", jobs)
    assert (ran.code, ran.out) == (2, "")
    assert "internal" not in ran.err


@pytest.mark.parametrize("name", ["", "."])
def test_a_run_folder_needs_a_name(name: str) -> None:
    ran = assay("run", "builtin:delivery-eval", "--output", name)
    assert (ran.code, ran.err) == (2, "assay: --output: must name a folder to make\n")


def test_hostile_arguments_are_shown_escaped(tmp_path: Path) -> None:
    hostile = "a\x1b[31m\u202eb\nc\u009b1m"
    for arguments in (("run", hostile), ("show", hostile), ("--" + hostile,), (hostile,)):
        ran = assay(*arguments, cwd=tmp_path)
        assert ran.code in (2, 3)
        assert ran.err.removesuffix("\n").isprintable()


def test_clean(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path / "tmp"), "ASSAY_STORE": str(tmp_path / "store")}
    (tmp_path / "tmp").mkdir()
    left = left_by_a_killed_process("ws", tmp_path / "tmp")
    (tmp_path / "tmp/assay-ws-87654321").symlink_to(tmp_path)
    store = Store(tmp_path / "store", HASHER)
    store.add_blob(b"old")
    store.close()
    env["ASSAY_STORE_DAYS"] = "0"
    shown = checked(assay("clean", "--dry-run", "--json", env=env).out)
    assert [item["fate"] for item in shown["store"]["evicted"]] == ["removable"]
    # Other places are looked at too, and may hold something of others.
    told = {item["name"]: item["fate"] for item in shown["folders"]}
    assert {left: "removable", "assay-ws-87654321": "foreign"}.items() <= told.items()
    table = assay("clean", env=env)
    assert (table.code, table.err) == (0, "")
    assert [left, "removed"] in [line.split()[:2] for line in table.out.splitlines()]
    # Of look-alikes there may be any number, of others too: one line, unless asked.
    assert "assay-ws-87654321" not in table.out
    assert [line for line in table.out.splitlines() if line.endswith("--all lists them")] != []
    asked = [line.split()[:2] for line in assay("clean", "--all", env=env).out.splitlines()]
    assert ["assay-ws-87654321", "foreign"] in asked
    after = checked(assay("clean", "--json", "--older-than", "2d", env=env).out)
    assert after["store"]["evicted"] == []
    assert left not in {item["name"] for item in after["folders"]}
    assert (tmp_path / "tmp/assay-ws-87654321").is_symlink()


@pytest.mark.parametrize("age", ["", "24", "1.5h", "h", "1w", "-1h", "9999999h"])
def test_a_senseless_age_is_a_usage_error(age: str) -> None:
    ran = assay("clean", "--dry-run", "--older-than", age)
    assert (ran.code, ran.out) == (2, "")
