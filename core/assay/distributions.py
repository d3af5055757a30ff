"""Installed distributions by name, as Python would import them.

The first on `sys.path` counts. A left-over metadata folder without content is no
distribution and hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions

__all__ = ["installed", "normal_name"]


def installed() -> Mapping[str, Distribution]:
    """Every distribution of this environment by its normal name, in the order of the path."""
    found: dict[str, Distribution] = {}
    for distribution in distributions():
        name = _name(distribution)
        if name is not None:
            found.setdefault(name, distribution)
    return found


def normal_name(name: str) -> str:
    """The one spelling of a distribution's name: lower case, single hyphens."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _name(distribution: Distribution) -> str | None:
    if not (distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")):
        return None
    metadata = distribution.metadata
    if "Name" not in metadata or "Version" not in metadata:
        return None
    return normal_name(metadata["Name"])
