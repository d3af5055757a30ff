"""Manifests under noise: checked data or one kind of error, and stable revisions."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.suites import encoded
from support.suites import task_document as written

from assay.api import ManifestError, UnsafePath, relpath
from assay.manifests import parse_task
from assay.revisions import task_digest, task_document

TEXT = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *("schema", "id", "category", "prompt", "fixture", "hidden", "title", "graders", "allow"),
        *("protect", "baseline", "limits", "budgets", "evidence", "runtime", "network", "env"),
        *("seed", "version", "retired", "services"),
    ]
)
PATHS = st.text(
    st.sampled_from(list("ab*/.\\ \n~é")) | st.characters(exclude_categories=["Cs"]), max_size=12
)


@settings(deadline=None)
@given(st.dictionaries(KEYS | TEXT, VALUES, max_size=3))
def test_any_change_gives_a_task_or_a_manifest_error(more: dict[str, Any]) -> None:
    try:
        parse_task(encoded(written(**more)))
    except ManifestError as error:
        shown = str(error)
        assert shown.isprintable()


@given(PATHS)
def test_a_fixture_is_a_relative_path_or_refused(path: str) -> None:
    try:
        task = parse_task(encoded(written(fixture=path)))
    except ManifestError:
        return
    assert relpath(path) == task.fixture


@given(PATHS)
def test_an_unsafe_path_is_never_accepted_in_any_place(path: str) -> None:
    try:
        relpath(path)
    except UnsafePath:
        for more in ({"fixture": path}, {"hidden": path}, {"allow": [path]}, {"protect": [path]}):
            try:
                parse_task(encoded(written(**more)))
            except ManifestError:
                continue
            raise AssertionError(f"accepted in {sorted(more)}") from None


FULL = written(
    hidden="hidden",
    graders=[{"id": "g", "use": "u", "role": "hidden", "options": {"b": [1, "x"], "a": {}}}],
    allow=["src/*.py", {"path": "docs/**", "ops": ["added", "binary", "modify"]}],
    protect=["tests/**"],
    limits={"wall": 3.5, "scale": "gold", "factor": 4},
    env={"B": "1", "A": "2"},
    budgets={"steps": 9},
)


@given(st.randoms(use_true_random=False))
def test_the_revision_does_not_see_the_order_of_keys(random: Any) -> None:
    items = list(FULL.items())
    random.shuffle(items)
    task = parse_task(json.dumps(dict(items), indent=random.choice([None, 4])).encode())
    assert task_digest(task, None) == task_digest(parse_task(encoded(FULL)), None)


@given(
    st.sampled_from(
        [
            *({"seed": 1}, {"prompt": "Other."}, {"fixture": "other"}, {"hidden": "other"}),
            *({"graders": []}, {"allow": ["src/*.py"]}, {"protect": []}, {"limits": {}}),
            *({"env": {}}, {"budgets": {}}, {"network": "loopback"}, {"evidence": "required"}),
            *({"category": "other"}, {"runtime": {"python": "3.12"}}, {"id": "task-2"}),
        ]
    )
)
def test_the_revision_sees_what_is_asked_and_how_it_is_graded(more: dict[str, Any]) -> None:
    before = parse_task(encoded(FULL))
    after = parse_task(encoded({**FULL, **more}))
    assert task_digest(before, None) != task_digest(after, None)


def test_the_revision_does_not_see_title_version_and_retirement() -> None:
    more = {"title": "T", "version": 7, "retired": {"reason": "old"}}
    before, after = parse_task(encoded(FULL)), parse_task(encoded({**FULL, **more}))
    assert task_digest(before, None) == task_digest(after, None)


def test_defaults_written_out_give_the_same_task_and_revision() -> None:
    task = parse_task(encoded(FULL))
    again = parse_task(encoded(task_document(task)))
    assert again == task
    assert task_digest(again, None) == task_digest(task, None)
    four = parse_task(encoded(written()))
    assert parse_task(encoded(task_document(four))) == four
