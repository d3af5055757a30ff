"""Canonical bytes and digests: the same data gives the same bytes on every host.

JSON is written as RFC 8785 demands. Floats are refused where they would enter a digest
of a result; durations and rates stay outside canonical parts or enter as integers.
"""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from assay.api.trees import Digest

__all__ = ["canonical_json", "digest_bytes", "digest_json"]


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes of plain JSON data; raises ValueError for what JSON can't hold."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(f"not canonical JSON data: {error}") from error


def digest_bytes(content: bytes) -> Digest:
    """SHA-256 of a byte string."""
    return Digest("sha256:" + hashlib.sha256(content).hexdigest())


def digest_json(value: Any) -> Digest:
    """Digest of the canonical bytes of plain JSON data."""
    return digest_bytes(canonical_json(value))
