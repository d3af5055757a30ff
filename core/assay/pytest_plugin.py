"""pytest plugin: the fixture `jail` runs a command under a profile and gives the outcome.

Loading the plugin imports nothing of assay; using the fixture does. A host that can't make
jails fails the test, since a security test that is skipped in silence protects nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.jails import Jails

__all__ = ["jail"]


@pytest.fixture(scope="session")
def jail() -> Iterator[Jails]:
    """Call it with a program and its arguments; `profile`, `files` and limits by name."""
    from assay.api import Unavailable
    from assay.jails import Jails

    try:
        jails = Jails()
    except Unavailable as missing:
        pytest.fail(str(missing), pytrace=False)
    with jails:
        yield jails
