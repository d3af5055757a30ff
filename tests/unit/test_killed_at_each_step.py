"""Killed at any step, a process leaves nothing that is used, and nothing that stays."""

from __future__ import annotations

from pathlib import Path

from support.killed import in_own_process


def test_a_store_holds_a_whole_tree_or_none_of_it(tmp_path: Path) -> None:
    assert int(in_own_process("support.killed_work", "store_a_tree", tmp_path)) > 50


def test_what_is_left_of_a_workspace_is_removed(tmp_path: Path) -> None:
    assert int(in_own_process("support.killed_work", "have_a_workspace", tmp_path)) > 40


def test_a_clean_up_is_finished_by_the_next_one(tmp_path: Path) -> None:
    assert int(in_own_process("support.killed_work", "clean_up", tmp_path)) > 30
