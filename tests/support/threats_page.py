"""The table of threats in the docs, read from the marks of the tests that prove containment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen
from support.probes_page import table
from support.repository import ROOT

from assay_sandbox.probes.catalogue import attacks

__all__ = ["Threat", "threats", "threats_table"]

MARK = "threat"


@frozen
class Threat:
    """An attack, the layers that are expected to stop it, and the test that shows it."""

    attack: str
    layers: tuple[str, ...]
    test: str
    probe: str = ""


def threats() -> tuple[Threat, ...]:
    """All of them, by attack; nothing is imported but the catalogue of probes."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [threat for path in files for threat in _of_file(path)]
    return tuple(sorted(found, key=lambda one: (one.attack, one.test, one.probe)))


def threats_table() -> str:
    """Every attack on one line."""
    head = "| hostile code wants to | expected to stop it | proved by |"
    return table(head, (_row(threat) for threat in threats()))


def _row(threat: Threat) -> str:
    proof = f"`{threat.test}`" + (f", probe `{threat.probe}`" if threat.probe else "")
    return f"| {threat.attack} | {', '.join(threat.layers)} | {proof} |"


def _of_file(path: Path) -> Iterator[Threat]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            test = f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}"
            for decorator in node.decorator_list:
                yield from _of_mark(decorator, test)


def _of_mark(decorator: ast.expr, test: str) -> Iterator[Threat]:
    if not (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == MARK
    ):
        return
    words = {word.arg: ast.literal_eval(word.value) for word in decorator.keywords}
    if words.pop("probes", False):
        assert not words
        assert not decorator.args
        for attack in attacks():
            yield Threat(attack.probe.threat, attack.probe.layers, test, attack.probe.name)
        return
    layers = tuple(words.pop("layer").split(", "))
    (text,) = (ast.literal_eval(argument) for argument in decorator.args)
    assert not words
    yield Threat(text, layers, test)
