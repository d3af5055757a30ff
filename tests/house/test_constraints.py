"""The constraints file pins what an installation brings, for every Python that we support."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from support.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_PINS = [
    Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line
]
PINNED = {canonicalize_name(pin.name): pin for pin in _PINS}


def _closure() -> set[str]:
    """Names of everything that the development installation needs here."""
    declared = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    waiting, found = [Requirement(text) for text in declared], set[str]()
    while waiting:
        wanted = waiting.pop()
        if (name := canonicalize_name(wanted.name)) not in found:
            found.add(name)
            for text in distribution(name).requires or ():
                inner = Requirement(text)
                if inner.marker is None or inner.marker.evaluate({"extra": ""}):
                    waiting.append(inner)
    return found


def test_everything_that_is_installed_is_pinned() -> None:
    assert _closure() - PINNED.keys() == set()


def test_every_pin_is_one_version() -> None:
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in _PINS)
    assert len(PINNED) == len(_PINS)


def test_every_pinned_version_runs_on_the_oldest_python_we_support() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    too_new = []
    for name, pin in PINNED.items():
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        if found.version in pin.specifier:
            needed = SpecifierSet(found.metadata.get("Requires-Python") or "")
            too_new += [] if needed.contains(oldest) else [f"{name} {needed}"]
    assert too_new == []
