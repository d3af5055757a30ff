"""The loader and the published schemas agree on keys and types."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_schema import problems

from assay.api import ManifestError
from assay.candidate_manifest import parse_candidate
from assay.manifests import parse_task
from assay.schemas import schema
from assay.suite_manifest import parse_suite

DIGEST = "sha256:" + "0" * 64
LEGAL: Mapping[str, dict[str, Any]] = {
    "suite": {
        "schema": 1,
        "id": "s",
        "categories": {"version": 1, "ids": ["text"]},
        "require_trust": "isolated",
        "runtime": {"python": "3.12"},
        "plugins": {"acme": {"version": "1", "digest": DIGEST}},
        "tasks": {
            "a": {"fixture": DIGEST, "task": DIGEST, "hidden": None, "trees": {"caches/c": DIGEST}}
        },
    },
    "task": {
        "schema": 1,
        "id": "a",
        "category": "text",
        "prompt": "Do it.",
        "fixture": "fixture",
        "hidden": "hidden",
        "title": "T",
        "graders": [
            {"id": "g", "use": "u", "role": "hidden", "options": {"x": 1}, "required": False}
        ],
        "allow": ["a", {"path": "b", "ops": ["modify", "binary"]}],
        "protect": ["tests/**"],
        "baseline": {"g": "pass"},
        "limits": {"wall": 3, "output": 70000, "scale": "gold", "factor": 2.5},
        "budgets": {"steps": 3},
        "evidence": "required",
        "runtime": {},
        "network": "loopback",
        "env": {"A": "b"},
        "seed": 3,
        "git": {"init": True},
        "caches": ["c"],
        "clock": "2026-01-31T09:30:00Z",
        "version": 2,
        "retired": {"reason": "r", "last_valid": 1},
    },
    "candidate": {
        "schema": 1,
        "id": "c",
        "kind": "files",
        "files": ["a", {"path": "../b", "source": "b"}],
        "executables": ["a"],
        "deletes": ["c"],
        "claim": "claim.json",
        "expect": {"verdict": "rejected", "required": ["no-changes"], "permitted": []},
        "subject": {"model": "m"},
    },
}
PARSERS: Mapping[str, Callable[[bytes, str], Any]] = {
    "suite": parse_suite,
    "task": parse_task,
    "candidate": parse_candidate,
}
OTHER_VALUES = st.sampled_from([None, True, 5, 1.5, "text", [], {}, ["text"], {"x": "y"}, [5]])


def loads(name: str, document: Any) -> bool:
    try:
        PARSERS[name](json.dumps(document).encode(), f"{name}.json")
    except ManifestError:
        return False
    return True


def test_the_legal_documents_are_legal_for_both() -> None:
    for name, document in LEGAL.items():
        assert problems(schema(name), document) == []
        assert loads(name, document)


NAMES = st.sampled_from(sorted(LEGAL))
PLACES = {
    "suite": [(), ("categories",), ("tasks", "a"), ("plugins", "acme"), ("runtime",)],
    "task": [(), ("graders", 0), ("allow", 1), ("limits",), ("retired",), ("runtime",)],
    "candidate": [(), ("files", 1), ("expect",)],
}


@settings(deadline=None)
@given(NAMES, st.data())
def test_a_missing_or_unknown_key_is_refused_by_both_or_by_none(
    name: str, data: st.DataObject
) -> None:
    document = json.loads(json.dumps(LEGAL[name]))
    inner = document
    for step in data.draw(st.sampled_from(PLACES[name])):
        inner = inner[step]
    if inner and data.draw(st.booleans()):
        del inner[data.draw(st.sampled_from(sorted(inner)))]
    else:
        inner[data.draw(st.from_regex("[a-z]{1,8}z", fullmatch=True))] = data.draw(OTHER_VALUES)
    if dangling(name, document):
        return
    assert loads(name, document) == (problems(schema(name), document) == [])


def dangling(name: str, document: Any) -> bool:
    """Rules between two values, which no schema states."""
    if name == "task":
        return bool(document.get("baseline")) and not document.get("graders")
    if name == "candidate":
        expect = document.get("expect") or {}
        nothing_expected = expect.get("verdict") == "rejected" and not expect.get("required")
        return nothing_expected or ("executables" in document and "files" not in document)
    return False


@settings(deadline=None)
@given(NAMES, st.data())
def test_what_the_loader_accepts_obeys_the_schema(name: str, data: st.DataObject) -> None:
    document = json.loads(json.dumps(LEGAL[name]))
    key = data.draw(st.sampled_from(sorted(document)))
    document[key] = data.draw(OTHER_VALUES)
    if loads(name, document):
        assert problems(schema(name), document) == []
