"""Jails for tests of one's own: a command, a profile, an outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Self

import attrs

from assay.api import (
    Command,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Network,
    Outcome,
    Profile,
    Runtime,
    Sandbox,
    Session,
    Warm,
)
from assay.host import open_components
from assay.plugins import Registry

__all__ = ["Jails"]


class Jails:
    """Makes jails with the default runtime; calling it runs one command in a fresh one.

    As a context manager it keeps the sandbox warm, so that jails one after the other start
    faster. Raises SandboxUnavailable where this host can't make jails.
    """

    def __init__(self) -> None:
        components = open_components(Registry())
        self.sandbox: Sandbox = components.sandbox
        self._warm = contextlib.ExitStack()
        self.runtime: Runtime = components.sandbox.runtime({}, components.store, components.hasher)

    def __enter__(self) -> Self:
        if isinstance(self.sandbox, Warm):
            self._warm.enter_context(self.sandbox.warm())
        return self

    def __exit__(self, *exc: object) -> None:
        self._warm.close()

    def __call__(
        self,
        *argv: str | bytes,
        profile: str = "hidden",
        stdin: str | bytes = b"",
        files: Mapping[str, str | bytes] | None = None,
        network: str = "none",
        env: Mapping[str, str] | None = None,
        **limits: Any,
    ) -> Outcome:
        """The outcome of one command.

        `files` are read-only files by absolute path, `limits` fields of `Limits` by name.
        """
        with self.session(profile=profile, files=files, network=network, **limits) as session:
            command = Command(
                tuple(_bytes(word) for word in argv), stdin=_bytes(stdin), env=dict(env or {})
            )
            return session.run(command)

    def session(
        self,
        *,
        profile: str = "hidden",
        files: Mapping[str, str | bytes] | None = None,
        network: str = "none",
        **limits: Any,
    ) -> Session:
        """A live jail for several commands; use it as a context manager."""
        mounts = [
            Mount(path, MountKind.FILE, content=_bytes(content))
            for path, content in (files or {}).items()
        ]
        spec = JailSpec(
            Profile(profile),
            self.runtime,
            tuple(mounts),
            limits=attrs.evolve(Limits(), **limits),
            network=Network(network),
        )
        return self.sandbox.open(spec)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
