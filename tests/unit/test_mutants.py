"""Mutants of a change: deterministic, on changed lines only, and always Python."""

from __future__ import annotations

import ast
import builtins
import difflib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api import RelPath
from assay.mutants import MutantsUnavailable, make_mutants

PATH = RelPath("src/a.py")
BEFORE = b"""X = 1


def f(a):
    return a + 2
"""
AFTER = b'''"""What it is for."""
import re
X = 1


def f(a: int = 3, *, b: "str" = "x") -> bool:
    "Text that stands alone."
    if a < 3 and not b:
        return re.sub("a", "b", b.lower())
    return a + 2
'''


def made(before: bytes = BEFORE, after: bytes = AFTER, **more: Any) -> Any:
    options = {"limit": 1000, "seed": 0, **more}
    return make_mutants({PATH: before}, {PATH: after}, **options)


def test_each_is_one_small_mistake_in_a_changed_line() -> None:
    texts = set()
    for mutant in made():
        old, new = AFTER.decode().splitlines(), mutant.content.decode().splitlines()
        changed = [line for line in difflib.ndiff(old, new) if line[0] in "-+"]
        assert len(changed) == 2
        assert old[mutant.line - 1] == changed[0][2:]
        assert mutant.line in (6, 8, 9)
        ast.parse(mutant.content)
        texts.add(mutant.content)
    assert len(texts) == len(made()) > 10
    assert AFTER not in texts


def test_strings_calls_and_comparisons_are_mutated() -> None:
    operators = {mutant.operator for mutant in made()}
    assert {"string", "arg_removal", "swap_op", "number"} <= operators


def test_the_choice_is_the_same_each_time_and_another_by_seed() -> None:
    assert made(limit=3) == made(limit=3)
    assert len({made(limit=3, seed=seed) for seed in range(8)}) > 1
    assert set(made(limit=3)) <= set(made())


def test_few_mutants_touch_many_lines() -> None:
    assert {mutant.line for mutant in made(limit=3)} == {6, 8, 9}


def test_a_new_file_is_changed_in_every_line() -> None:
    found = make_mutants({}, {PATH: BEFORE}, limit=100, seed=0)
    assert {mutant.line for mutant in found} == {1, 5}


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("src/a.txt", AFTER),
        ("src/a.py", b"def f(:\n"),
        ("src/a.py", b"\xff\xfe"),
        ("src/a.py", b""),
        ("src/a.py", BEFORE),
        ("src/a.py", b"x = 1\n" * 200_000),
    ],
)
def test_what_has_none(path: str, after: bytes) -> None:
    assert make_mutants({RelPath(path): BEFORE}, {RelPath(path): after}, limit=5, seed=0) == ()


@settings(max_examples=30)
@given(st.lists(st.sampled_from(AFTER.decode().splitlines()), max_size=9), st.integers(0, 9))
def test_any_text(lines: list[str], seed: int) -> None:
    for mutant in made(after="\n".join(lines).encode(), seed=seed, limit=4):
        ast.parse(mutant.content)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.startswith("mutmut"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MutantsUnavailable, match=r"assay\[mutants\]") as caught:
        made()
    assert caught.value.exit_code == 4
