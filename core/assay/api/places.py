"""Where this host keeps what was prepared once and is used by all processes."""

from __future__ import annotations

import os
from pathlib import Path

from assay.api.errors import Unavailable

__all__ = ["default_store_root"]


def default_store_root() -> Path:
    """Where the store is: `ASSAY_STORE`, or the cache folder of the system or the user.

    Raises Unavailable for a user without a home folder.
    """
    if chosen := os.environ.get("ASSAY_STORE"):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/cache/assay")
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache) / "assay"
    try:
        return Path.home() / ".cache" / "assay"
    except RuntimeError:
        raise Unavailable("this user has no home folder; set ASSAY_STORE") from None
