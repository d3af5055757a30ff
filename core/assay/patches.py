"""Applies a parsed patch to contents in memory: exactly, bytewise, all of it or nothing.

Diffs that modify one file apply one after the other; renames and copies read the tree as
it was, so that two files can swap names. Nothing is written anywhere: the result is what
the patch asks for, to be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.api.errors import CandidateMalformed
from assay.api.paths import UnsafePath, is_ignored, printable, relpath
from assay.api.reasons import Reason
from assay.api.trees import Edits, FileWrite, RelPath, Violation
from assay.patch_binary import object_id, patched
from assay.patch_hunks import WorkBudget, placed
from assay.patch_parser import Action, FilePatch, parse

__all__ = ["MAX_RESULT_BYTES", "apply", "checked_path", "parse"]

MAX_RESULT_BYTES = 512 * 1024**2
"""Bytes of all contents that one candidate may write."""

_KIND_BITS = 0o170000
_REGULAR = 0o100000
_SPECIAL_BITS = 0o7000
_OWNER_EXECUTE = 0o100
_CREATING = frozenset({Action.CREATE, Action.RENAME, Action.COPY})
_REMOVING = frozenset({Action.DELETE, Action.RENAME})
_WHOLE_ID = (40, 64)


def checked_path(text: str | bytes) -> RelPath | Violation:
    """The path that the text names, or the violation that it is."""
    shown = printable(text)
    try:
        path = relpath(text if isinstance(text, str) else text.decode("utf-8"))
    except (UnsafePath, UnicodeDecodeError):
        return Violation(shown, Reason.UNSAFE_PATH)
    if is_ignored(path):
        return Violation(shown, Reason.IGNORED_PATH_CHANGED)
    if any(part.casefold() == ".git" for part in path.split("/")):
        return Violation(shown, Reason.UNSAFE_PATH)
    return path


def apply(
    patches: Sequence[FilePatch],
    read: Callable[[RelPath], bytes | None],
    executable: Callable[[RelPath], bool],
) -> Edits:
    """What the patch makes of a tree whose files `read` gives (None: no such file).

    Refused paths and kinds become violations, and nothing is written or deleted there.
    Raises CandidateMalformed when a diff does not fit the tree.
    """
    application = _Application(read, executable)
    for patch in patches:
        application.foresee(patch)
    for patch in patches:
        application.take(patch)
    return application.edits()


class _Application:
    """One patch on its way through the tree; `read` and `executable` give the tree as it was."""

    def __init__(
        self,
        read: Callable[[RelPath], bytes | None],
        executable: Callable[[RelPath], bool],
    ) -> None:
        self._read, self._executable = read, executable
        self._budget = WorkBudget()
        self._bytes_left = MAX_RESULT_BYTES
        self._writes: dict[RelPath, FileWrite] = {}
        self._modified: set[RelPath] = set()
        self._leaving: set[RelPath] = set()
        self._removed: set[RelPath] = set()
        self._violations: set[Violation] = set()
        self._refused: set[RelPath] = set()

    def foresee(self, patch: FilePatch) -> None:
        """Note what a diff will remove: another one may put a new file there before."""
        if patch.action in _REMOVING and patch.old is not None:
            path = checked_path(patch.old)
            if not isinstance(path, Violation):
                self._leaving.add(path)

    def take(self, patch: FilePatch) -> None:
        """Apply one diff, or note why it is refused."""
        old, new = self._path(patch.old), self._path(patch.new)
        if isinstance(old, Violation) or isinstance(new, Violation):
            self._refuse(old, new)
            return
        path = new if new is not None else old
        assert path is not None
        if any(_is_special(mode) for mode in (patch.old_mode, patch.new_mode)):
            self._refuse(old, new, Violation(printable(path), Reason.FORBIDDEN_FILE_KIND))
        elif old in self._refused or new in self._refused:
            self._refuse(old, new)
        else:
            self._apply(patch, old, path)

    def edits(self) -> Edits:
        """The outcome, writes in the order of the diffs; refused paths keep what they were."""
        writes = {path: self._writes[path] for path in self._writes if path not in self._refused}
        deletes = self._removed - self._writes.keys() - self._refused
        violations = sorted(self._violations, key=lambda found: (found.path, found.reason.value))
        return Edits(writes, tuple(sorted(deletes)), tuple(violations))

    def _path(self, name: bytes | None) -> RelPath | Violation | None:
        return None if name is None else checked_path(name)

    def _refuse(self, *parts: RelPath | Violation | None) -> None:
        for part in parts:
            if isinstance(part, Violation):
                self._violations.add(part)
            elif part is not None:
                self._refused.add(part)

    def _apply(self, patch: FilePatch, old: RelPath | None, path: RelPath) -> None:
        action = patch.action
        source = self._source(action, old, path)
        if action is Action.MODIFY_OR_CREATE and source is None:
            action, source = Action.CREATE, b""
        if source is None:
            raise _unfit(path, "there is no such file to change")
        if action in _CREATING:
            self._check_free(path)
        content = self._result(patch, path, source)
        if action in _REMOVING:
            assert old is not None
            self._remove(old)
        if action is Action.DELETE:
            if content:
                raise _unfit(path, "the deleted file holds more than the patch says")
            return
        self._bytes_left -= len(content)
        if self._bytes_left < 0:
            raise CandidateMalformed("patch writes more than is allowed")
        if action not in _CREATING:
            self._modified.add(path)
        self._writes[path] = FileWrite(content, self._bit(patch, action, old, path))

    def _source(self, action: Action, old: RelPath | None, path: RelPath) -> bytes | None:
        if action is Action.CREATE or old is None:
            return b""
        if action in (Action.RENAME, Action.COPY):
            return self._read(old)
        if old in self._writes:
            return self._writes[old].content
        if old in self._removed:
            raise _unfit(path, "it was removed by an earlier diff")
        return self._read(old)

    def _check_free(self, path: RelPath) -> None:
        if path in self._writes:
            raise _unfit(path, "it was written by an earlier diff")
        if path not in self._leaving and self._read(path) is not None:
            raise _unfit(path, "it exists already")

    def _remove(self, path: RelPath) -> None:
        if path in self._removed:
            raise _unfit(path, "it was removed by an earlier diff")
        if path in self._modified:
            raise _unfit(path, "it was written by an earlier diff")
        self._removed.add(path)

    def _result(self, patch: FilePatch, path: RelPath, source: bytes) -> bytes:
        if patch.binary is None:
            content = placed(source, patch.hunks, self._budget) if patch.hunks else source
        else:
            before, after = patch.ids or (b"", b"")
            if len(before) not in _WHOLE_ID or len(after) != len(before):
                raise _unfit(path, "a binary change needs whole object ids")
            self._check_id(before, source, path)
            content = patched(source, patch.binary, self._budget)
            if content is not None:
                self._check_id(after, content, path)
        if content is None:
            raise _unfit(path, "its content is not what the patch expects")
        return content

    def _check_id(self, expected: bytes, content: bytes, path: RelPath) -> None:
        is_absent = not expected.strip(b"0")
        if not (is_absent and not content) and object_id(content, len(expected)) != expected:
            raise _unfit(path, "its content is not what the patch expects")

    def _bit(
        self, patch: FilePatch, action: Action, old: RelPath | None, path: RelPath
    ) -> bool | None:
        if patch.new_mode is not None:
            return bool(patch.new_mode & _OWNER_EXECUTE)
        if action is Action.CREATE:
            return False
        if action in _CREATING and old is not None:
            return self._executable(old)
        return self._writes[path].executable if path in self._writes else None


def _is_special(mode: int | None) -> bool:
    return mode is not None and (mode & _KIND_BITS != _REGULAR or bool(mode & _SPECIAL_BITS))


def _unfit(path: RelPath, rule: str) -> CandidateMalformed:
    return CandidateMalformed(
        f"patch does not apply: {printable(path)}: {rule}", Reason.PATCH_DOES_NOT_APPLY
    )
