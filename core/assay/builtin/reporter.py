"""The canonical report as it is, in canonical bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, ClassVar

import rfc8785

__all__ = ["JsonReporter"]


class JsonReporter:
    """Writes RFC 8785 JSON."""

    api: ClassVar[str] = "1.0"
    format: ClassVar[str] = "json"
    suffix: ClassVar[str] = ".json"

    def render(self, report: Mapping[str, Any], out: IO[bytes]) -> None:
        """The whole report."""
        rfc8785.dump(dict(report), out)
