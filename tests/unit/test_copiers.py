"""A copier that does not work on this host is replaced by plain copies, and the reason kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from support.trees import HASHER, nothing_leaks

from assay.api import Capabilities, CopierUnsupported, Mount, Support
from assay.builtin.copier import CopyCopier
from assay.builtin.overlay import OverlayCopier
from assay.copiers import with_working_copier
from assay.host import Components, Fallback
from assay.plugins import Registry
from assay.store import Store


@frozen
class Box:
    """A sandbox that only says what it can mount."""

    answers: dict[bool, Support]

    def capabilities(self) -> Capabilities:
        return Capabilities(True)

    def mountable(self, mounts: tuple[Mount, ...]) -> Support:
        (mount,) = mounts
        return self.answers[mount.writable]


class Refusing(OverlayCopier):
    def supports(self, scratch: str) -> Support:
        return Support(False, "not here")


class Failing(OverlayCopier):
    def prepare(self, *arguments: Any) -> Any:
        raise CopierUnsupported("no store here")


YES, NO = Support(True), Support(False, "the kernel does not")


@pytest.mark.parametrize(
    ("copier", "box", "reason"),
    [
        (OverlayCopier(), Box({True: YES, False: YES}), None),
        (OverlayCopier(), Box({True: NO, False: YES}), "the kernel does not"),
        (OverlayCopier(), Box({True: YES, False: NO}), "the kernel does not"),
        (Refusing(), Box({}), "not here"),
        (Failing(), Box({}), "no store here"),
        (CopyCopier(), Box({}), None),
    ],
)
def test_a_copier_is_tried_before_it_is_used(
    tmp_path: Path, copier: Any, box: Any, reason: str | None
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    store = Store(tmp_path / "store", HASHER)
    components = Components(Registry(), HASHER, copier, box, store)
    with nothing_leaks():
        chosen = with_working_copier(components, str(scratch))
    if reason is None:
        assert chosen is components
    else:
        assert chosen.copier.name == "copy"
        assert chosen.fallback == Fallback("overlay", reason)
    assert not list(scratch.glob("assay-*"))
    store.close()
