"""The hasher passes the tests that assay ships, and works with the rest of it by its name."""

from __future__ import annotations

from pathlib import Path

from blake3 import blake3

from assay.api import Copier
from assay.plugins import Registry
from assay.store import Store
from assay.testing import CopierConformance, HasherConformance
from assay_blake3 import Blake3Hasher


class TestBlake3Hasher(HasherConformance):
    def hasher(self) -> Blake3Hasher:
        return Blake3Hasher()


class TestCopiesOfItsTrees(CopierConformance):
    def hasher(self) -> Blake3Hasher:
        return Blake3Hasher()

    def copier(self) -> Copier:
        made: Copier = Registry().make("assay.copiers", "copy")
        return made

    def store(self, place: Path) -> Store:
        return Store(place, self.hasher())


def test_it_is_found_by_its_contract_s_name() -> None:
    found = Registry().find("assay.hashers", "assay-tree-blake3")
    assert found.distribution == "assay-blake3"
    assert Registry().load("assay.hashers", "assay-tree-blake3") is Blake3Hasher


def test_files_have_the_digests_that_blake3_gives() -> None:
    content = Blake3Hasher.content.of(b"hello")
    assert content == "blake3:" + blake3(b"hello").hexdigest()
