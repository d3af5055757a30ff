"""Ids that resemble each other, and ids that are none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suites import StubRegistry, task_document, write_task

from assay.api import InvalidInput, is_slug
from assay.suites import load_benchmark_task, open_suite

SLUGS = st.from_regex(r"[a-z0-9](?:[a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
SIBLINGS = SLUGS.flatmap(
    lambda stem: st.lists(st.from_regex(r"[a-z0-9-]{0,3}[a-z0-9]", fullmatch=True), max_size=4).map(
        lambda ends: sorted({stem, *(stem + end for end in ends)})
    )
)


@settings(max_examples=30, deadline=None)
@given(SIBLINGS)
def test_siblings_that_share_a_prefix_are_never_mixed_up(ids: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        for task_id in ids:
            write_task(Path(root), task_document(task_id, prompt=f"for {task_id}"))
        suite = open_suite(root, StubRegistry())
        assert list(suite.task_ids()) == ids
        for task_id in ids:
            task = suite.task(task_id)
            assert task.task.prompt == f"for {task_id}"
            assert task.fixture == str(Path(root, task_id, "fixture"))
        absent = ids[0] + "0"
        if absent not in ids:
            with pytest.raises(InvalidInput, match="no such folder"):
                suite.task(absent)


@given(st.text(max_size=70).filter(lambda text: not is_slug(text)))
def test_illegal_ids_are_refused_without_a_suite(text: str) -> None:
    with pytest.raises(InvalidInput, match="task id must be 1 to 64"):
        load_benchmark_task("/nonexistent", text)
