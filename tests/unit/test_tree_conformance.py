"""Our hasher and copiers, and a plugin's hasher, pass the tests that every other is held to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.helpers import used_for_everything, wait_for_helpers
from support.repository import ROOT
from support.trees import HASHER

from assay.api import Scan, Store, TreeLimits
from assay.builtin.copier import CopyCopier
from assay.builtin.hasher import TreeHasher
from assay.builtin.overlay import OverlayCopier
from assay.store import Store as HostStore
from assay.testing import CopierConformance, HasherConformance


class TestTreeHasher(HasherConformance):
    def hasher(self) -> TreeHasher:
        return HASHER


class TestTreeHasherWithHelpers(TestTreeHasher):
    @pytest.fixture(autouse=True)
    def _helpers(self) -> Any:
        with used_for_everything():
            yield

    def scan(self, tree: Path, limits: TreeLimits | None = None) -> Scan:
        # One that was ended by an error is started again, which is no leak of the hasher's.
        wait_for_helpers()
        return super().scan(tree, limits)


class TestCopyCopier(CopierConformance):
    def hasher(self) -> TreeHasher:
        return HASHER

    def copier(self) -> CopyCopier:
        return CopyCopier()


class TestCopyCopierWithAStore(TestCopyCopier):
    def store(self, place: Path) -> Store:
        return HostStore(place, HASHER)


@pytest.mark.skipif(
    not OverlayCopier().supports(tempfile.gettempdir()).ok, reason="no overlays can be made here"
)
class TestOverlayCopier(TestCopyCopierWithAStore):
    def copier(self) -> Any:
        return OverlayCopier()


NO_LIMITS = TreeLimits(depth=9999)


class CarelessHasher(TreeHasher):
    """Follows what it is told by the names alone, and has no bounds."""

    def scan(
        self, root_fd: int, *, limits: TreeLimits = NO_LIMITS, collect_refused: bool = False
    ) -> Scan:
        found = super().scan(root_fd, limits=NO_LIMITS, collect_refused=True)
        os.dup(root_fd)
        return found


class CarelessConformance(HasherConformance):
    def hasher(self) -> TreeHasher:
        return CarelessHasher()


@pytest.mark.parametrize(
    "name",
    [
        "test_limits_hold",
        "test_what_can_not_be_in_a_tree_is_refused_by_path_and_kind",
        "test_the_contract_has_a_name_of_its_own",
    ],
)
def test_the_kit_finds_a_careless_hasher(name: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(CarelessConformance(), name)()
    for descriptor in set(os.listdir("/proc/self/fd")) - before:
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            os.close(int(descriptor))


def test_the_plugin_that_is_shipped_beside_us_passes(tmp_path: Path) -> None:
    """Built from its folder as anybody would, then found by its entry point in a new process."""
    folder = ROOT / "plugins/assay-blake3"
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(tmp_path), folder],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, site], check=True)
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""},
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
