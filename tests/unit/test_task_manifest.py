"""task.json: closed, with documented defaults and errors that say where and why."""

from __future__ import annotations

from typing import Any

import pytest
from support.suites import encoded, task_document

from assay.api import (
    AllowRule,
    BaselineResult,
    EvidencePolicy,
    Limits,
    ManifestError,
    Network,
    Op,
    SuiteHeader,
    Trust,
)
from assay.manifests import parse_task

GRADER = {"id": "v", "use": "stub", "role": "visible"}


API = {"id": "api", "argv": ["python", "server.py"], "port": 8080}


def served(*more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A manifest's part with one service, changed, and more."""
    return {"network": "loopback", "services": [{**API, **changes}, *more]}


def parse(**more: Any) -> Any:
    return parse_task(encoded(task_document(**more)))


def refused(**more: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        parse(**more)
    return str(caught.value)


def test_four_keys_load_with_every_default() -> None:
    task = parse()
    assert (task.id, task.category, task.fixture, task.hidden) == (
        "task-1",
        "text",
        "fixture",
        None,
    )
    assert task.graders == ()
    assert task.limits == Limits()
    assert task.evidence is EvidencePolicy.OPTIONAL
    assert task.network is Network.NONE
    assert (task.seed, task.version, task.require_trust) == (0, 1, Trust.UNGUARDED)


@pytest.mark.parametrize("key", ["id", "category", "prompt", "fixture"])
def test_each_of_the_four_keys_is_required(key: str) -> None:
    document = task_document()
    del document[key]
    with pytest.raises(ManifestError, match=rf"^task\.json: {key}: is required$"):
        parse_task(encoded(document))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"grader": []}, "task.json: grader: is not a known key"),
        ({"sandbox": "nsjail-unfiltered"}, "task.json: sandbox: is not a known key"),
        ({"schema": 2}, "task.json: schema: must be 1"),
        ({"schema": "1"}, "task.json: schema: must be a whole number"),
        ({"schema": True}, "task.json: schema: must be a whole number"),
        ({"clock": 0}, "task.json: clock: must be text"),
        ({"clock": "2026-02-29T00:00:00Z"}, "task.json: clock: must be a time from 1970 on"),
        ({"clock": "2026-01-01T00:00:60Z"}, "task.json: clock: must be a time"),
        ({"clock": "2026-01-01T00:00:00+00:00"}, "task.json: clock: must be a time"),
        ({"clock": "2026-01-01T00:00:00.5Z"}, "task.json: clock: must be a time"),
        ({"clock": "2026-01-01t00:00:00z"}, "task.json: clock: must be a time"),
        ({"clock": "2026-01-01T00:00:00Z\n"}, "task.json: clock: must be a time"),
        ({"clock": "٢٠٢٦-01-01T00:00:00Z"}, "task.json: clock: must be a time"),
        ({"clock": "1969-12-31T23:59:59Z"}, "task.json: clock: must be a time"),
        ({"clock": "1767225600"}, "task.json: clock: must be a time"),
        ({"runtime": {"faketime": "yes"}}, "task.json: runtime.faketime: must be true or false"),
        ({"services": [API]}, "task.json: services: needs the network loopback"),
        (served(port=80), "task.json: services[0].port: must be between 1024 and 65535"),
        (served(argv=[]), "task.json: services[0].argv: must hold a program"),
        (served(argv=["a\nb"]), "task.json: services[0].argv[0]: must be one line"),
        (served(argv="python"), "task.json: services[0].argv: must be a list"),
        (served(files="fixture/x"), "task.json: services[0].files: must not overlap"),
        (served(files="../x"), "task.json: services[0].files: path holds a . or .. component"),
        (served(files="candidates"), "services[0].files: must not lie in the candidates"),
        (served(seconds=0), "task.json: services[0].seconds: must be more than 0"),
        (served(ready_line="a\nb"), "task.json: services[0].ready_line: must be one line"),
        (served(ready="port"), "task.json: services[0].ready: is not a known key"),
        (served(id="API"), "task.json: services[0].id: must be 1 to 64"),
        (served(API), "task.json: services[1].id: is the id of an earlier service"),
        (served({**API, "id": "b"}), "services[1].port: is the port of an earlier service"),
        ({"caches": ["a", "a"]}, "task.json: caches[1]: is there twice"),
        ({"caches": ["../a"]}, "task.json: caches[0]: must be 1 to 64"),
        ({"caches": {"a": "b"}}, "task.json: caches: must be a list"),
        ({"git": {"init": "yes"}}, "task.json: git.init: must be true or false"),
        ({"git": {"clone": True}}, "task.json: git.clone: is not a known key"),
        ({"git": True}, "task.json: git: must be an object"),
        ({"roots": ["src", "../lib"]}, "task.json: roots[1]: "),
        ({"roots": ["src", "src"]}, "task.json: roots[1]: is there twice"),
        ({"roots": "src"}, "task.json: roots: "),
        ({"network": "gateway"}, "task.json: network: not supported yet"),
        ({"network": "host"}, "task.json: network: not supported yet"),
        ({"network": "wifi"}, "task.json: network: must be one of: none, loopback"),
        ({"network": ["host"]}, "task.json: network: must be one of: none, loopback"),
        ({"category": "Text"}, "task.json: category: must be 1 to 64"),
        ({"prompt": 5}, "task.json: prompt: must be text"),
        ({"prompt": " \n"}, "task.json: prompt: must not be empty"),
        ({"prompt": "a\0b"}, "task.json: prompt: must not hold control characters"),
        ({"prompt": "x" * 65_537}, "task.json: prompt: must not be longer than 65536 bytes"),
        ({"title": "a\nb"}, "task.json: title: must be one line"),
        ({"protect": "tests"}, "task.json: protect: must be a list"),
        ({"protect": ["ok", "../x"]}, "task.json: protect[1]: path holds a . or .. component"),
        ({"allow": ["/etc/passwd"]}, "task.json: allow[0]: path is absolute"),
        ({"allow": ["a**/b"]}, "task.json: allow[0]: must use ** only as a whole"),
        ({"allow": [".git/config"]}, "task.json: allow[0]: must not name a path"),
        ({"allow": [7]}, "task.json: allow[0]: must be a path or an object"),
        ({"allow": [{"path": "a", "op": []}]}, "task.json: allow[0].op: is not a known key"),
        ({"allow": [{"ops": ["mode"]}]}, "task.json: allow[0].path: is required"),
        ({"allow": [{"path": "a", "ops": []}]}, "task.json: allow[0].ops: must grant"),
        ({"allow": [{"path": "a", "ops": ["binary"]}]}, "task.json: allow[0].ops: must grant"),
        ({"allow": [{"path": "a", "ops": ["write"]}]}, "task.json: allow[0].ops: must hold only"),
        ({"allow": [{"path": "a", "ops": ["mode", "mode"]}]}, "allow[0].ops: must not repeat"),
        ({"hidden": "fixture"}, "task.json: hidden: must not overlap the fixture"),
        ({"hidden": "fixture/inner"}, "task.json: hidden: must not overlap the fixture"),
        ({"fixture": "../other"}, "task.json: fixture: path holds a . or .. component"),
        ({"fixture": "candidates/x"}, "task.json: fixture: must not lie in the candidates"),
        ({"limits": {"wall": 0}}, "task.json: limits.wall: must be more than 0"),
        ({"limits": {"wall": "3"}}, "task.json: limits.wall: must be a number"),
        ({"limits": {"wall": 1e9}}, "task.json: limits.wall: must be more than 0 and at most"),
        ({"limits": {"processes": 1.5}}, "task.json: limits.processes: must be a whole number"),
        ({"limits": {"ram": 1}}, "task.json: limits.ram: is not a known key"),
        ({"limits": None}, "task.json: limits: must be an object"),
        ({"budgets": {"steps": 0}}, "task.json: budgets.steps: must be more than 0"),
        ({"budgets": {"a b": 1}}, "task.json: budgets.a b: is not a legal name"),
        ({"env": {"PATH": "/x"}}, "task.json: env.PATH: is set by the framework"),
        ({"env": {"LD_PRELOAD": "x"}}, "task.json: env.LD_PRELOAD: is set by the framework"),
        ({"env": {"PYTHONPATH": "src"}}, "task.json: env.PYTHONPATH: is set by the framework"),
        ({"env": {"XDG_DATA_HOME": "x"}}, "task.json: env.XDG_DATA_HOME: is set by the framework"),
        ({"env": {"GIT_CONFIG_GLOBAL": "x"}}, "env.GIT_CONFIG_GLOBAL: is set by the framework"),
        ({"env": {"SOURCE_DATE_EPOCH": "1"}}, "env.SOURCE_DATE_EPOCH: is set by the framework"),
        ({"env": {"FAKETIME": "+1d"}}, "task.json: env.FAKETIME: is set by the framework"),
        ({"env": {"A=B": "x"}}, "task.json: env.A=B: is not a legal name"),
        ({"env": {"A": "x\ny"}}, "task.json: env.A: must be one line"),
        ({"env": {"A": 1}}, "task.json: env.A: must be text"),
        ({"runtime": {"perl": "5"}}, "task.json: runtime.perl: is not a known key"),
        ({"runtime": {"tools": "git"}}, "task.json: runtime.tools: must be a list"),
        ({"runtime": {"tools": [1]}}, "task.json: runtime.tools[0]: must be text"),
        ({"runtime": {"tools": ["a/b"]}}, "runtime.tools: must hold only names of lower-case"),
        ({"runtime": {"tools": ["git", "git"]}}, "runtime.tools: must not name a program twice"),
        ({"runtime": {"requirements": {}}}, "runtime.requirements: must be a list"),
        ({"runtime": {"requirements": ["a>=1"]}}, "runtime.requirements: must hold only name==v"),
        ({"runtime": {"requirements": ["a==1", "A==2"]}}, "must not name a distribution twice"),
        ({"runtime": {"node": "20"}}, "task.json: runtime.node: must be a whole number"),
        ({"seed": -1}, "task.json: seed: must be between 0 and 4294967295"),
        ({"seed": 1.0}, "task.json: seed: must be a whole number"),
        ({"version": 0}, "task.json: version: must be between 1"),
        ({"retired": {}}, "task.json: retired.reason: is required"),
        ({"retired": {"reason": " "}}, "task.json: retired.reason: must say why"),
        ({"retired": {"reason": "a\nb"}}, "task.json: retired.reason: must be one line"),
        (
            {"retired": {"reason": "r", "last_valid": 3}, "version": 2},
            "task.json: retired.last_valid: must be a version from 1 to 2",
        ),
        ({"evidence": True}, "task.json: evidence: must be one of: required, optional"),
        ({"graders": {}}, "task.json: graders: must be a list"),
        ({"graders": ["pytest"]}, "task.json: graders[0]: must be an object"),
        ({"graders": [GRADER, GRADER]}, "task.json: graders[1].id: is the id of an earlier"),
        ({"graders": [{**GRADER, "use": ""}]}, "task.json: graders[0].use: must name"),
        ({"graders": [{**GRADER, "role": "vis"}]}, "graders[0].role: must be one of: visible"),
        ({"graders": [{**GRADER, "options": []}]}, "graders[0].options: must be an object"),
        ({"graders": [{**GRADER, "required": 1}]}, "graders[0].required: must be true or false"),
        ({"baseline": {"v": "fail"}}, "task.json: baseline.v: is not the id of a grader"),
    ],
)
def test_refused_with_field_and_rule(more: dict[str, Any], problem: str) -> None:
    assert problem in refused(**more)


@pytest.mark.parametrize("document", [[], "x", 3, None])
def test_a_task_is_an_object(document: object) -> None:
    with pytest.raises(ManifestError, match="must be an object"):
        parse_task(encoded(document))


def test_a_refused_value_is_never_shown() -> None:
    assert "sesame" not in refused(evidence="sesame") + refused(prompt="/home/sesame/x")


@pytest.mark.parametrize(
    "text",
    [
        "see /home/ann/repo",
        "(/root/x)",
        "`/tmp/out.txt`",
        "in /Users/ann/x",
        r"C:\work\x",
        r"'C:\\work'",
        "open C:/work/x",
        "file:///home/ann/x",
        "/var/tmp/a",
        "in '/workspace/src'",
        "first\n/home/ann",
    ],
)
def test_prompts_with_paths_of_a_machine_are_refused(text: str) -> None:
    assert "must not name an absolute path" in refused(prompt=text)


@pytest.mark.parametrize(
    "text",
    [
        "GET /api/users and /homepage",
        "the path src/home/x and docs/tmp/y",
        "https://example.org/home/index.html",
        "use `a/b` or ratio 1:2 and c:d",
        r"match `\\d\w` or \\n\t",
        "the routes /home and /media/logo, file:///etc/x",
        "drop / and \\ from names; escape \\n",
        "tmp/ is ignored, see ./tmp/x and ~/tmp",
    ],
)
def test_ordinary_prompts_are_not(text: str) -> None:
    assert parse(prompt=text).prompt == text


def test_allow_rules_take_operations_by_name() -> None:
    task = parse(
        allow=[
            "src/*.py",
            {"path": "docs/**", "ops": ["modify", "added", "deleted"]},
            {"path": "bin/x", "ops": ["mode", "kind", "added", "binary"]},
        ]
    )
    assert task.allow == (
        AllowRule("src/*.py", frozenset({Op.MODIFIED})),
        AllowRule("docs/**", frozenset({Op.MODIFIED, Op.ADDED, Op.DELETED})),
        AllowRule("bin/x", frozenset({Op.MODE, Op.KIND, Op.ADDED}), binary=True),
    )


def test_baseline_is_fail_for_each_required_grader_that_it_leaves_out() -> None:
    graders = [GRADER, {**GRADER, "id": "r"}, {**GRADER, "id": "o", "required": False}]
    task = parse(graders=graders, baseline={"r": "pass"})
    assert task.baseline == {"v": BaselineResult.FAIL, "r": BaselineResult.PASS}


def test_id_must_equal_the_folder_before_paths_are_judged() -> None:
    data = encoded(task_document("task-1", fixture="../x"))
    with pytest.raises(ManifestError, match="id: must equal the name"):
        parse_task(data, folder="task-10")
    with pytest.raises(ManifestError, match="fixture: path holds"):
        parse_task(data, folder="task-1")


def test_the_suite_gives_trust_categories_and_runtime() -> None:
    shared = {"python": "3.12", "node": 20}
    suite = SuiteHeader("s", ("text",), 1, require_trust=Trust.ISOLATED, runtime=shared)
    own = parse_task(encoded(task_document(runtime={"node": 22})), suite=suite)
    assert own.runtime == {"node": 22, "python": "3.12"}
    assert parse_task(encoded(task_document()), suite=suite).require_trust is Trust.ISOLATED
    with pytest.raises(ManifestError, match="category: must be one of the suite's"):
        parse_task(encoded(task_document(category="other")), suite=suite)
