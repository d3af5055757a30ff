"""A folder of attacks on graders, each through the whole gate, in each mode of trust.

    python benchmarks/attack_corpus.py FOLDER

FOLDER holds one folder for each attack: `meta.json` with `id`, `kind` (`python` or `node`),
`runner` and `expected` (`accepted` or `rejected`), and one of `files/`, written over the fixture,
`patch.diff`, or `gen.py`, a program that runs in a jail and changes a copy of the fixture. What
they attack is a toy task with a bug in one line, visible and hidden tests. It allows every change,
so that nothing but the graders stands between an attack and its acceptance.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import Factory, define, frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS
from support.jail import PYTHON, session, workspace
from support.programs import write_tree

from assay.api import Command, Mount, MountKind, Profile, RelPath, Task

__all__ = ["MODES", "Fared", "gated"]

MODES = ("unguarded", "tamper-evident", "isolated")
_EVERYTHING = ["modify", "added", "deleted", "mode", "kind", "binary"]

_CASES = (("neg", "-1, -1", "-2"), ("big", "10**20, 1", "10**20 + 1"), ("two", "2, 2", "4"))
_SMALL = (("add_small", "2, 3", "5"), ("add_zero", "0, 0", "0"))


@frozen
class Family:
    """A toy task for one kind of tests."""

    grader: str
    fixture: Mapping[str, str]
    visible: str
    hidden: str
    visible_text: str
    hidden_text: str
    visible_ids: tuple[str, ...]
    hidden_ids: tuple[str, ...]


def _functions(cases: tuple[tuple[str, str, str], ...]) -> str:
    tests = "".join(f"\n\ndef test_{n}():\n    assert add({a}) == {e}\n" for n, a, e in cases)
    return f"from calc import add\n{tests}"


def _methods(cases: tuple[tuple[str, str, str], ...]) -> str:
    head = "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
    return head + "".join(
        f"    def test_{n}(self):\n        self.assertEqual(add({a}), {e})\n\n" for n, a, e in cases
    )


def _node(place: str, cases: tuple[tuple[str, str, str], ...]) -> str:
    head = "import { test } from 'node:test';\nimport assert from 'node:assert/strict';\n"
    head += f"import {{ add }} from '{place}/src/calc.mjs';\n\n"
    return head + "".join(
        f"test('{n}', () => {{ assert.equal(add({a}), {e}); }});\n" for n, a, e in cases
    )


_BUG = "def add(a, b):\n    return a - b\n"
_HELPER = "def double(value):\n    return value * 2\n"
FAMILIES = {
    "pytest": Family(
        "pytest",
        {"src/calc.py": _BUG, "src/helper.py": _HELPER},
        "tests/test_calc.py",
        "test_hidden.py",
        _functions(_SMALL),
        _functions(_CASES),
        tuple(f"tests/test_calc.py::test_{n}" for n, *_ in _SMALL),
        tuple(f"test_hidden.py::test_{n}" for n, *_ in _CASES),
    ),
    "unittest": Family(
        "unittest",
        {"src/calc.py": _BUG, "src/helper.py": _HELPER},
        "tests/test_calc.py",
        "test_hidden.py",
        _methods(_SMALL),
        _methods(_CASES),
        tuple(f"tests.test_calc.T.test_{n}" for n, *_ in _SMALL),
        tuple(f"test_hidden.T.test_{n}" for n, *_ in _CASES),
    ),
    "node-test": Family(
        "node-test",
        {
            "src/calc.mjs": "export function add(a, b) {\n  return a - b;\n}\n",
            "package.json": '{"name": "toy", "version": "1.0.0"}\n',
        },
        "tests/calc.test.mjs",
        "hidden.test.mjs",
        _node("..", _SMALL),
        _node(
            "/workspace",
            tuple(
                (n, a.replace("10**20", "2**40"), e.replace("10**20", "2**40"))
                for n, a, e in _CASES
            ),
        ),
        tuple(f"tests/calc.test.mjs > {n}" for n, *_ in _SMALL),
        tuple(f"hidden.test.mjs > {n}" for n, *_ in _CASES),
    ),
}


@define
class Fared:
    """How a corpus fared in one mode: ids of attacks, by what became of them."""

    mode: str
    kind: str
    attacks: int = 0
    honest: int = 0
    honest_accepted: int = 0
    accepted: list[str] = Factory(list)
    invalid: list[str] = Factory(list)


def gated(folder: Path, mode: str) -> list[Fared]:
    """One count for each kind of code whose graders have this mode."""
    attacks = [
        (place, json.loads((place / "meta.json").read_text(encoding="utf-8")))
        for place in sorted(folder.iterdir())
        if (place / "meta.json").is_file()
    ]
    with tempfile.TemporaryDirectory(prefix="assay-corpus-") as scratch:
        suite = Path(scratch, "corpus")
        for name, family in FAMILIES.items():
            options = _options(family, mode, hidden=False)
            if options is not None:
                _write_task(suite / name, family, mode)
        for place, meta in attacks:
            name = _family(meta)
            if (suite / name).is_dir():
                _write_candidate(suite / name / "candidates" / meta["id"], place, FAMILIES[name])
        results = _run(suite, Path(scratch, "run"))
    counts: dict[str, Fared] = {}
    for _, meta in attacks:
        verdict = results.get(meta["id"])
        if verdict is None:
            continue
        count = counts.setdefault(meta["kind"], Fared(mode, meta["kind"]))
        if meta["expected"] == "accepted":
            count.honest += 1
            count.honest_accepted += verdict == "accepted"
        else:
            count.attacks += 1
            if verdict == "accepted":
                count.accepted.append(meta["id"])
            elif verdict != "rejected":
                count.invalid.append(meta["id"])
    return list(counts.values())


def _family(meta: Mapping[str, str]) -> str:
    if meta["kind"] == "node":
        return "node-test"
    return "unittest" if meta["runner"] == "unittest" else "pytest"


def _options(family: Family, mode: str, *, hidden: bool) -> dict[str, Any] | None:
    """Options of one grader, None if it does not have this mode."""
    options: dict[str, Any] = {
        "tests": (family.hidden if hidden else family.visible,),
        "expect": family.hidden_ids if hidden else family.visible_ids,
        "hidden": hidden,
        "mode": mode,
    }
    grader = GRADERS[family.grader]
    if family.grader != "node-test" or mode != "unguarded":
        options["roots"] = ("src",)
    task = Task(
        id="t", category="c", prompt="p", fixture=RelPath("fixture"), hidden=RelPath("hidden")
    )
    problems = grader.check(grader.Options(**options), task)
    return None if any(problem.startswith("mode must be") for problem in problems) else options


def _write_task(place: Path, family: Family, mode: str) -> None:
    graders = [
        {"id": name, "use": family.grader, "role": name, "options": options}
        for name, is_hidden in (("visible", False), ("hidden", True))
        if (options := _options(family, mode, hidden=is_hidden)) is not None
    ]
    task = {
        "schema": 1,
        "id": place.name,
        "category": "toy",
        "prompt": "add() must add.",
        "fixture": "fixture",
        "hidden": "hidden",
        "graders": graders,
        "allow": [{"path": "**", "ops": _EVERYTHING}],
        "baseline": {"visible": "fail", "hidden": "fail"},
    }
    tree = {f"fixture/{path}": text for path, text in _fixture(family).items()}
    write_tree(
        place,
        {**tree, "task.json": json.dumps(task), f"hidden/{family.hidden}": family.hidden_text},
    )


def _fixture(family: Family) -> dict[str, str]:
    return {**family.fixture, family.visible: family.visible_text}


def _write_candidate(target: Path, place: Path, family: Family) -> None:
    manifest: dict[str, Any] = {"schema": 1, "id": target.name, "kind": "files"}
    if (place / "patch.diff").is_file():
        manifest |= {"kind": "patch", "patch": "patch.diff"}
        target.mkdir(parents=True)
        (target / "patch.diff").write_bytes((place / "patch.diff").read_bytes())
    else:
        files = _generated(place, family) if (place / "gen.py").is_file() else {}
        for path in sorted((place / "files").rglob("*")):
            if path.is_file():
                files[path.relative_to(place / "files").as_posix()] = path.read_bytes()
        manifest["files"] = sorted(files)
        for name, content in files.items():
            (target / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            (target / "files" / name).write_bytes(content)
    write_tree(target, {"candidate.json": json.dumps(manifest)})


def _generated(place: Path, family: Family) -> dict[str, bytes]:
    """What the attack's own program leaves in a copy of the fixture; it runs in a jail."""
    before = _fixture(family)
    program = Mount("/gen.py", MountKind.FILE, content=(place / "gen.py").read_bytes())
    with workspace(lambda root: write_tree(root, before)) as mount:
        with session(profile=Profile.AGENT, mounts=(mount, program), cwd="/workspace") as jail:
            jail.run(Command((PYTHON, b"/gen.py"), cwd="/workspace"))
        root = Path(mount.source or "")
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
            and path.read_bytes() != before.get(path.relative_to(root).as_posix(), "").encode()
        }


def _run(suite: Path, output: Path) -> dict[str, str]:
    """Verdicts by candidate."""
    command = [
        sys.executable,
        "-m",
        "assay.cli",
        "run",
        str(suite),
        "--output",
        str(output),
        "--json",
    ]
    finished = subprocess.run(command, capture_output=True, check=False)
    if not (output / "report.json").is_file():
        raise SystemExit(finished.stderr.decode())
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    return {
        result["candidate"]: result["verdict"]["status"] for result in report["results"]["trials"]
    }


def main() -> None:
    """Print the counts of each mode."""
    for mode in MODES:
        for count in gated(Path(sys.argv[1]), mode):
            print(count)


if __name__ == "__main__":
    main()
