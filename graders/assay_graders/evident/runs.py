"""The guarded runs of one grading, each in a jail of its own."""

from __future__ import annotations

import copy
import json
import secrets
import time
from collections.abc import Mapping

import attrs
from attrs import frozen

from assay.api import (
    ChannelFault,
    GradeContext,
    GraderUnfit,
    Outcome,
    Profile,
    RelPath,
    TrustedFiles,
)
from assay_graders.evident.changed import (
    MAX_SOURCE_BYTES,
    ChangedCode,
    changed_code,
    code_paths,
    module_files,
)
from assay_graders.evident.guarded_report import GuardedReport, decode_guarded_report
from assay_graders.evident.language import GuardedTests
from assay_graders.jailed import (
    GRACE,
    HIDDEN,
    WORKSPACE,
    probe_session,
    profile_of,
    read_report,
    settled,
)

__all__ = ["GuardedRuns", "Measured", "unfit"]

_APART = "/tests"
_CHANNEL = "report"


@frozen
class Measured:
    """How one run ended; `fault` when its channel broke the rules."""

    outcome: Outcome
    report: GuardedReport | None
    fault: bool


class GuardedRuns:
    """Makes runs of the same tests that the code under test can't tell apart by their form."""

    def __init__(self, ctx: GradeContext, suite: GuardedTests, tests: tuple[str, ...]) -> None:
        self._ctx = ctx
        self._suite = suite
        self._place = HIDDEN if suite.hidden else _APART
        self._tests = tests
        self.order = f"{ctx.seed}:{ctx.spec.id}"
        read = ctx.hidden_file if suite.hidden else ctx.fixture_file
        files = {test: read(test, MAX_SOURCE_BYTES) for test in tests}
        self.files = suite.language.arranged(files, self.order)
        self.changed: ChangedCode = changed_code(
            ctx, suite.roots, suite.language.suffixes, suite.language.most_code
        )
        self.others = suite.language.other_trees(ctx, self.changed)

    def real(self) -> Measured:
        """The tests as they are, with the candidate's code."""
        return self._run(self.files)

    def canaries(self, files: Mapping[str, bytes]) -> Measured:
        """Changed test files, with the candidate's code."""
        return self._run(files)

    def broken(self) -> Measured:
        """The tests as they are; the candidate's code runs, and is then what the fixture had."""
        restored = (*self.changed.data, *self.others.restore)
        return self._run(self.files, restored=restored, put=self.others.broken, restore=True)

    def pristine(self) -> Measured:
        """The tests as they are, with the fixture's code and nothing of the candidate's."""
        changes = tuple(change.path for change in self._ctx.change_set.changes)
        return self._run(self.files, restored=changes, put=self.others.pristine, pristine=True)

    def emptied(self) -> GuardedRuns:
        """The same with empty modules as what the fixture had of each changed one."""
        runs = copy.copy(self)
        nothing: dict[str, str | None] = dict.fromkeys(self.changed.originals)
        runs.changed = attrs.evolve(self.changed, originals=nothing)
        runs.others = self._suite.language.other_trees(self._ctx, runs.changed)
        return runs

    def pristine_but_changed(self) -> Measured:
        """As `pristine`, with each changed module as it is in `broken`."""
        changes = tuple(change.path for change in self._ctx.change_set.changes)
        put = self.others.pristine
        return self._run(self.files, restored=changes, put=put, restore=True, pristine=True)

    def probe(self) -> None:
        """Raises GraderUnfit if the runner does not start without code under test."""
        language = self._suite.language
        with self._ctx.jail(Profile.VISIBLE, extra=language.programs()) as session:
            probe_session(self._ctx, session, language.command(self._ctx, "probe"))

    def _run(
        self,
        files: Mapping[str, bytes],
        *,
        restored: tuple[RelPath, ...] = (),
        put: Mapping[RelPath, bytes] | None = None,
        restore: bool = False,
        pristine: bool = False,
    ) -> Measured:
        ctx, suite = self._ctx, self._suite
        nonce = secrets.token_hex(16)
        config = self._config(nonce, restore=restore, lenient=restore or pristine)
        code = code_paths(ctx, suite.roots, suite.language.suffixes, suite.tests)
        beside = {} if suite.hidden else suite.language.beside(ctx, code)
        trusted = TrustedFiles(
            place=self._place,
            hidden=suite.hidden,
            leave_out=() if suite.hidden else code,
            put={**beside, **{RelPath(path): content for path, content in files.items()}},
        )
        jail = ctx.jail(
            profile_of(suite.hidden),
            extra=suite.language.programs(),
            restore=restored,
            put=put,
            trusted=trusted,
        )
        with jail as session:
            command = suite.language.command(ctx, "run")
            process = session.start(command, channels=(_CHANNEL,))
            deadline = time.monotonic() + ctx.limits.wall + GRACE
            try:
                process.channels[_CHANNEL].send(json.dumps(config).encode("ascii"))
            except (ChannelFault, OSError):
                return Measured(settled(process.wait(deadline)), None, False)
            report, fault = read_report(
                process, lambda frame: decode_guarded_report(frame, nonce), deadline
            )
            return Measured(settled(process.wait(deadline)), report, fault)

    def _config(self, nonce: str, *, restore: bool, lenient: bool) -> dict[str, object]:
        suite, originals = self._suite, self.changed.originals
        added = {path for path, text in originals.items() if text is None}
        files = {str(entry.path) for entry in self._ctx.tree.entries} | set(originals)
        return {
            **suite.language.settings(),
            "nonce": nonce,
            "base": self._place,
            "tests": [f"{self._place}/{test}" for test in self._tests],
            "roots": [WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in suite.roots],
            "order": self.order,
            "graded": module_files(files - added, suite.roots, WORKSPACE),
            "added": module_files(added, suite.roots, WORKSPACE),
            "originals": {f"{WORKSPACE}/{path}": text for path, text in originals.items()},
            "restore": restore,
            "restored": len(originals) if restore else 0,
            "lenient": lenient,
        }


def unfit(ctx: GradeContext, why: str) -> GraderUnfit:
    """The error that says what is wrong with a task's tests."""
    return GraderUnfit(f"grader {ctx.spec.id}: {why}")
