"""How contents of files are digested: SHA-256, unless a tree contract has its own way.

A digest says how it was made: its name, a colon, and 64 lower-case hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from assay.api.errors import InvalidInput
from assay.api.trees import Digest
from assay.api.workspaces import Hasher

__all__ = ["SHA256", "ContentDigest", "Hashed", "content_digest", "hexadecimal"]

_DIGEST = re.compile("[a-z0-9]{1,32}:([0-9a-f]{64})")


class Hashed(Protocol):
    """What constructors of `hashlib` give, and those of packages like it."""

    def update(self, content: memoryview, /) -> object: ...

    def hexdigest(self) -> str: ...


@frozen
class ContentDigest:
    """A name, and a constructor that takes the first bytes; digests have 32 bytes."""

    name: str
    new: Callable[[bytes], Hashed]

    def of(self, content: bytes) -> Digest:
        """Digest of a whole content."""
        return self.text(self.new(content))

    def text(self, hashed: Hashed) -> Digest:
        """What is kept of a finished digest."""
        return Digest(f"{self.name}:{hashed.hexdigest()}")


SHA256 = ContentDigest("sha256", hashlib.sha256)


def content_digest(hasher: Hasher) -> ContentDigest:
    """How a hasher's contract digests files: its attribute `content`, or SHA-256 without one."""
    content = getattr(hasher, "content", SHA256)
    return content if isinstance(content, ContentDigest) else SHA256


def hexadecimal(digest: Digest) -> str:
    """The digits of a digest; raises InvalidInput for anything else."""
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise InvalidInput("not a digest")
    return found[1]
