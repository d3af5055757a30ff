"""JavaScript tests in guarded runs: whatever differs between runs is in the files.

Node's runner has no order of its own and restores no module, so test files are arranged, and
modules replaced, before they are mounted.
"""

from __future__ import annotations

import hashlib
import posixpath
import random
import secrets
from collections.abc import Mapping, Sequence
from typing import ClassVar

from assay.api import Command, GradeContext, Mount, RelPath
from assay_graders.evident.canaries import Canaries
from assay_graders.evident.changed import MAX_SOURCE_BYTES, ChangedCode, files_of
from assay_graders.evident.guarded_report import GuardedReport
from assay_graders.evident.js_assertions import failing
from assay_graders.evident.js_modules import (
    broken,
    come_from,
    lacking,
    redirected,
    shim,
    specifiers,
)
from assay_graders.evident.js_tests import named_tests, shuffled
from assay_graders.evident.js_tokens import Tokens, Unreadable
from assay_graders.evident.judging import Shown, shown_by_order
from assay_graders.evident.language import Language, OtherTrees
from assay_graders.evident.literals import Splice
from assay_graders.jailed import HIDDEN, NODE_RESULTS, WORKSPACE, program, tool

__all__ = ["NodeLanguage"]

_REPORTER = "node_guarded_reporter.mjs"
_OLDEST = 20
_PROBE = f"process.exit(Number(process.versions.node.split('.')[0]) >= {_OLDEST} ? 0 : 1)"


class NodeLanguage(Language):
    """Ids are a file and the names down to a test, joined by ` > `."""

    suffixes: ClassVar[tuple[str, ...]] = (".mjs", ".cjs", ".js")
    most_code: ClassVar[int | None] = MAX_SOURCE_BYTES
    guards: ClassVar[tuple[str, ...]] = (
        *("reporter-outside", "no-configuration", "no-preloads", "tests-apart", "sub-tests"),
    )
    is_placed: ClassVar[bool] = False
    mark: ClassVar[str] = " > "

    def __init__(self, ctx: GradeContext, tests: tuple[str, ...], *, hidden: bool) -> None:
        self._ctx = ctx
        self._tests = tests
        self._place = HIDDEN if hidden else "/tests"
        self._hidden = hidden
        self._is_ordered = False
        self._have_origins = False

    def command(self, ctx: GradeContext, argument: str) -> Command:
        """Node's own runner with our reporter."""
        if argument == "probe":
            probe = (tool(ctx, "node"), "-e", _PROBE)
            return Command(argv=tuple(part.encode("utf-8") for part in probe), cwd="/")
        argv = (
            *(tool(ctx, "node"), "--test", "--test-concurrency=1"),
            *(f"--test-reporter=/assay/{_REPORTER}", "--test-reporter-destination=stdout"),
            *(f"{self._place}/{test}" for test in self._tests),
        )
        return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)

    def programs(self) -> tuple[Mount, ...]:
        """The reporter."""
        return (program(_REPORTER), program(NODE_RESULTS))

    def file_of(self, test: str) -> str:
        """What is before the first ` > `."""
        return test.partition(" > ")[0]

    def stem(self, test: str) -> str:
        """The id itself."""
        return test

    def arranged(self, files: Mapping[str, bytes], order: str) -> dict[str, bytes]:
        """Neighbouring tests, and those of each suite, change places by the seed."""
        made, self._is_ordered, self._have_origins = {}, True, True
        for file, content in files.items():
            try:
                text = content.decode("utf-8")
                tokens = Tokens(text)
            except (UnicodeDecodeError, Unreadable):
                made[file], self._is_ordered, self._have_origins = content, False, False
                continue
            chance = random.Random(f"{order}:{file}")
            arranged, is_whole = shuffled(text, tokens, chance)
            made[file] = arranged.encode("utf-8")
            self._is_ordered = self._is_ordered and is_whole
            self._have_origins = self._have_origins and self._come_from(file, text)
        return made

    def _come_from(self, file: str, text: str) -> bool:
        trusted = self._ctx.hidden if self._hidden else self._ctx.tree
        places = {f"{self._place}/{entry.path}" for entry in (trusted.entries if trusted else ())}
        graded = {f"{WORKSPACE}/{entry.path}" for entry in self._ctx.tree.entries}
        where = f"{self._place}/{file}"
        return come_from(where, specifiers(text), frozenset(places), frozenset(graded))

    def canaries(
        self, files: Mapping[str, bytes], tests: Sequence[str], seed: str, secret: random.Random
    ) -> Canaries:
        """Changes of calls of `test` and `it`; parts of a test are covered by it."""
        changes: dict[str, tuple[str, tuple[Splice, ...]]] = {}
        for file, content in files.items():
            try:
                tokens = Tokens(content.decode("utf-8"))
            except (UnicodeDecodeError, Unreadable):
                continue
            digest = hashlib.sha256(content).hexdigest()
            found = [(" > ".join((file, *names)), test) for names, test in named_tests(tokens)]
            ids = [name for name, _ in found]
            for name, test in found:
                which = random.Random(f"{seed}:{digest}:{name}")
                splices = failing(tokens, test, which, secret)
                if name in tests and ids.count(name) == 1 and splices is not None:
                    changes[name] = file, splices
        return Canaries(files, changes)

    def beside(self, ctx: GradeContext, code: tuple[RelPath, ...]) -> dict[RelPath, bytes]:
        """Modules that stand for the graded ones, for tests that import by relative paths."""
        present = files_of(ctx)
        changed = {change.path for change in ctx.change_set.changes}
        sizes = {entry.path: entry.size for entry in ctx.tree.entries}
        shims = {}
        for path in code:
            if path not in present:
                continue
            if sizes[path] > MAX_SOURCE_BYTES:
                # Nobody looks into it; its name has to tell what it is.
                text = "" if path.endswith(".cjs") else "export {};"
            else:
                read = ctx.changed_file if path in changed else ctx.fixture_file
                text = read(path, MAX_SOURCE_BYTES).decode("utf-8", "replace")
            shims[path] = shim(f"{WORKSPACE}/{path}", text).encode("utf-8")
        return shims

    def other_trees(self, ctx: GradeContext, changed: ChangedCode) -> OtherTrees:
        """Restored modules import the candidate's, which stand beside them, for what they do."""
        after = files_of(ctx)
        restore = tuple(RelPath(name) for name in changed.originals if name not in after)
        copies = {name: _copy_of(name) for name in changed.originals if name in after}
        pristine: dict[RelPath, bytes] = {}
        breaking: dict[RelPath, bytes] = {}
        for name, copy in copies.items():
            own = ctx.changed_file(name, MAX_SOURCE_BYTES).decode("utf-8", "replace")
            text = lacking(changed.originals[name], own)
            pristine[RelPath(name)] = text.encode("utf-8")
            breaking[RelPath(name)] = broken(text, copy).encode("utf-8")
            beside = RelPath(posixpath.join(posixpath.dirname(name), copy))
            breaking[beside] = redirected(own, name, copies).encode("utf-8")
        return OtherTrees(pristine, breaking, restore)

    def shown(self, real: GuardedReport, pristine: GuardedReport, order: str) -> Shown:
        """The files were arranged, and tests ran as they stand there; origins are in the files."""
        same = [test for test in pristine.order if test in set(real.order)]
        found = Shown()
        if self._is_ordered:
            found |= shown_by_order([t for t in real.order if t in set(same)] == same, True)
        return found | Shown(held=frozenset({"module-origins"} if self._have_origins else ()))


def _copy_of(path: str) -> str:
    """A file name for the candidate's module of this path."""
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    return f"{stem}-{secrets.token_hex(8)}{suffix}"
