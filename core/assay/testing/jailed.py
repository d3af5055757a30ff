"""What conformance tests of sandboxes work with: sessions, commands and limits."""

from __future__ import annotations

import contextlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import attrs

from assay.api import (
    Command,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Outcome,
    Profile,
    Runtime,
    Sandbox,
    Session,
)
from assay.api.folders import temporary_folder

__all__ = ["LIMITS", "SLEEP", "JailedTests"]

SECONDS = 30.0
LIMITS = Limits(wall=SECONDS)
SLEEP = "import time; time.sleep(600)"


class JailedTests(ABC):
    """A subclass says which sandbox is tested, and with which runtime."""

    @abstractmethod
    def sandbox(self) -> Sandbox:
        """The sandbox under test; it must be available on this host."""

    @abstractmethod
    def runtime(self) -> Runtime:
        """A runtime with the tool `python`; keep it, since every test asks for it."""

    def spec(self, **changes: Any) -> JailSpec:
        """A jail of profile `visible`, changed as asked."""
        return attrs.evolve(JailSpec(Profile.VISIBLE, self.runtime(), limits=LIMITS), **changes)

    @contextlib.contextmanager
    def session(self, **changes: Any) -> Iterator[Session]:
        """A live jail."""
        with self.sandbox().open(self.spec(**changes)) as session:
            yield session

    def python(self, source: str, **limits: Any) -> Command:
        """Run Python source, given as standard input, with these limits changed."""
        argv = (self.runtime().tools["python"].encode(), b"-")
        return Command(argv, stdin=source.encode(), limits=attrs.evolve(LIMITS, **limits))

    def answer(self, source: str, **changes: Any) -> str:
        """What a piece of Python prints in a fresh jail; it must end well."""
        with self.session(**changes) as session:
            outcome = session.run(self.python(source))
        assert outcome.exit_code == 0, outcome
        return outcome.stdout.text().strip()

    def errors(self, *expressions: str, **changes: Any) -> list[str]:
        """The names of the system's errors that expressions meet in one jail, or OPEN."""
        return self.answer(
            "import errno, os, signal, socket, sys\n"
            f"for expression in {expressions!r}:\n"
            "    try:\n"
            "        exec(expression)\n"
            "        print('OPEN')\n"
            "    except OSError as error:\n"
            "        print(errno.errorcode.get(error.errno, error.errno))\n",
            **changes,
        ).split()

    def run(self, source: str, **limits: Any) -> Outcome:
        """The outcome of a piece of Python in a fresh jail under limits."""
        with self.session() as session:
            return session.run(self.python(source, **limits))

    @contextlib.contextmanager
    def tree(self, *, writable: bool = False) -> Iterator[Mount]:
        """A folder with one file `old` that belongs to the jail's user, mounted at /tree."""
        ids = self.sandbox().capabilities().ids
        assert ids is not None
        with temporary_folder("conformance", mode=0o711) as folder:
            root = folder / "tree"
            root.mkdir(mode=0o700)
            (root / "old").write_text("old")
            for path in (root, root / "old"):
                os.chown(path, ids.uid, ids.gid)
            yield Mount("/tree", MountKind.TREE, source=str(root), writable=writable)

    @staticmethod
    def soon() -> float:
        """A deadline that no sound sandbox needs."""
        return time.monotonic() + SECONDS
