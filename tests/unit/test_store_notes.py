"""Notes of the store: hints that are whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.api import Digest, InvalidInput, TreeRef
from assay.builtin.hasher import TreeHasher
from assay.store import Store

KEY = Digest("sha256:" + "a" * 64)
REF = TreeRef("assay-tree-v1", Digest("sha256:" + "b" * 64))


def test_a_note_is_read_back_and_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", TreeHasher())
    assert store.noted(KEY) is None
    store.note(KEY, REF)
    assert Store(tmp_path / "store", TreeHasher()).noted(KEY) == REF
    other = TreeRef(REF.contract, Digest("sha256:" + "c" * 64))
    store.note(KEY, other)
    assert store.noted(KEY) == other


@pytest.mark.parametrize("content", [b"", b"b" * 63, b"B" * 64, b"../" * 20, b"b" * 200, b"\xff"])
def test_a_broken_note_is_no_note(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path / "store", TreeHasher())
    store.note(KEY, REF)
    (note,) = (tmp_path / "store/notes").iterdir()
    note.chmod(0o600)
    note.write_bytes(content)
    assert store.noted(KEY) is None


def test_keys_and_trees_are_digests(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", TreeHasher())
    for key in ("../x", "sha256:", ""):
        with pytest.raises(InvalidInput):
            store.note(Digest(key), REF)
    with pytest.raises(InvalidInput):
        store.note(KEY, TreeRef("another-contract", REF.digest))
