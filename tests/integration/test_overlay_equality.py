"""Whatever is done inside a jail, overlay workspaces and copies are equal in all that is told."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.jail import PYTHON, limits, sandbox, session, store
from support.trees import HASHER, File, make, manifest_of, rel

from assay.api import Command, Edits, FileWrite, Mount, MountKind, Profile, Workspace
from assay.api.detached import supported
from assay.builtin.copier import CopyCopier
from assay.builtin.overlay import OverlayCopier

PROGRAM = Path(__file__).parents[1] / "support/edit_program.py"
BASES = (
    {},
    {"f": File(b"1"), "d": {"f": File(b"2"), "e": {"f": File(b"3")}}, "run": File(b"#!", True)},
    {
        "f": File(b"longer than the others"),
        "d": {"e": {"f": File(b"a"), "g": {"f": File()}}, "d": {"f": File(b"b")}, "empty": {}},
        "e": {"f": File(b"\0", True)},
        "d-": {"f": File(b"sorts between d and what is in it")},
    },
)
NAMES = ("f", "d", "e", "g", "new", "D", "__pycache__", "build", "b\\c", "x ")
PATHS = st.lists(st.sampled_from(NAMES[:5] * 3 + NAMES), min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from(["", "1", "2", "a\0b", "longer than the others"])
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o700, 0o4755, 0])
DIRECTORY_MODES = st.sampled_from([0o755, 0o711, 0o700])


def _operation(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.tuples(st.just(name), PATHS, *arguments).map(list)


SCRIPTS = st.lists(
    st.one_of(
        *(_operation(name, CONTENTS) for name in ("create", "overwrite", "append", "patch")),
        _operation("mapped", CONTENTS),
        _operation("touch"),
        _operation("truncate", st.integers(0, 5)),
        *(_operation(name) for name in ("delete", "mkdir", "recreate", "delete", "recreate")),
        *(_operation(name, CONTENTS) for name in ("replace", "replace")),
        *(_operation("move", PATHS) for _ in range(4)),
        _operation("chmod", MODES | DIRECTORY_MODES),
        _operation("symlink", PATHS),
        _operation("fifo"),
        _operation("link", PATHS),
        _operation("forge"),
    ),
    max_size=8,
)
PUTS = st.builds(
    lambda writes, deletes: Edits(
        {rel(path): FileWrite(content.encode(), bit) for path, content, bit in writes},
        tuple(map(rel, deletes)),
    ),
    st.lists(
        st.tuples(
            PATHS.filter(lambda path: "\\" not in path), CONTENTS, st.sampled_from([None, True])
        ),
        max_size=3,
    ),
    st.lists(PATHS.filter(lambda path: "\\" not in path), max_size=3),
)
# Each step of shrinking would start several jails; a script is short enough to read.
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
LAYERS = ["memory", "folder"] if os.geteuid() == 0 and supported() else ["folder"]


@attrs.frozen
class Pair:
    """The same workspace, made by both copiers."""

    copy: Workspace
    overlay: Workspace

    def both(self, use: Any) -> Any:
        """What `use` gives for one of them, which must be what it gives for the other."""
        results = []
        for workspace in (self.copy, self.overlay):
            try:
                results.append(use(workspace))
            except Exception as error:
                results.append((type(error), str(error)))
        assert results[1] == results[0]
        return results[0]


@contextmanager
def pairs(layer: str, bases: list[int], folder: Path) -> Iterator[list[Pair]]:
    ids = sandbox().capabilities().ids
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o711)
    copiers = CopyCopier(), OverlayCopier()
    with (
        ExitStack() as opened_all,
        patch("assay.builtin.overlay.supported", lambda: layer == "memory"),
    ):
        made = []
        for base in bases:
            source = make(folder / f"source-{base}", BASES[base])
            manifest = manifest_of(source)
            made.append(
                Pair(
                    *(
                        opened_all.enter_context(
                            copier.open(
                                copier.prepare(str(source), manifest, store()),
                                str(scratch),
                                hasher=HASHER,
                                ids=ids,
                            )
                        )
                        for copier in copiers
                    )
                )
            )
        yield made
    assert os.listdir(scratch) == []


def in_jail(pairs: list[Pair], scripts: list[list[Any]], *, writable: bool) -> None:
    """Run each script in both workspaces of its pair; both must see the same."""
    places = {
        f"/{name}-{number}": getattr(pair, name)
        for number, pair in enumerate(pairs)
        for name in ("copy", "overlay")
    }
    mounts = [
        mount
        for place, workspace in places.items()
        for mount in workspace.mounts(place, writable=writable)
    ]
    mounts.append(Mount("/edits.py", MountKind.FILE, content=PROGRAM.read_bytes()))
    leases = [workspace.lease() for workspace in places.values()]
    request = {place: scripts[int(place.rpartition("-")[2])] for place in places}
    with session(profile=Profile.AGENT, mounts=tuple(mounts)) as jail:
        outcome = jail.run(
            Command(
                (PYTHON, b"/edits.py"),
                stdin=json.dumps(request).encode(),
                limits=limits(output=4 * 1024**2),
            )
        )
    for lease in leases:
        lease.release()
    assert outcome.exit_code == 0, outcome.stderr.text()
    answers = json.loads(outcome.stdout.text())
    for number in range(len(pairs)):
        copy, overlay = answers[f"/copy-{number}"], answers[f"/overlay-{number}"]
        assert overlay == copy, scripts[number]


def check_at_rest(pair: Pair, paths: list[str]) -> None:
    """Change sets, content and grading trees are equal."""
    changes = pair.both(lambda workspace: workspace.freeze(HASHER).change_set)
    for path in {*paths, "f", "d/f", "d/e/f", *(change.path for change in changes.changes)}:
        pair.both(lambda workspace, path=path: workspace.freeze(HASHER).read(rel(path), 100))


@pytest.mark.parametrize("layer", LAYERS)
@settings(max_examples=4, deadline=None, phases=WITHOUT_SHRINKING)
@given(
    bases=st.lists(st.sampled_from(range(len(BASES))), min_size=8, max_size=8),
    scripts=st.lists(SCRIPTS, min_size=8, max_size=8),
    puts=st.lists(PUTS, min_size=8, max_size=8),
)
def test_edits_inside_a_jail_are_the_same_for_both_copiers(
    layer: str, bases: list[int], scripts: list[list[Any]], puts: list[Edits]
) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        Path(name).chmod(0o711)
        with pairs(layer, bases, Path(name)) as made:
            in_jail(made, scripts, writable=True)
            for pair, script, edits in zip(made, scripts, puts, strict=True):
                paths = [operation[1] for operation in script]
                check_at_rest(pair, [path for path in paths if "\\" not in path])
                pair.both(lambda workspace, edits=edits: workspace.put(edits))
                pair.both(lambda workspace: workspace.freeze(HASHER).change_set)
            in_jail(made, [[]] * len(made), writable=False)
            in_jail(made, scripts, writable=True)
            for pair in made:
                pair.both(lambda workspace: workspace.freeze(HASHER).change_set)
