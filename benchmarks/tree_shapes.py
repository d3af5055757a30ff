"""The trees that `trees.py` measures, always the same ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["SHAPES"]

_MIB = 1024**2


def _micro(root: Path) -> None:
    """10 files of 2 KB in two directories."""
    chance = random.Random(1)
    (root / "package").mkdir(parents=True)
    for number in range(10):
        folder = root / "package" if number % 2 else root
        (folder / f"module_{number}.py").write_bytes(chance.randbytes(2048))


def _repository(root: Path) -> None:
    """Files like those of a large repository: 5,000 in 2,300 directories, median 411 bytes."""
    chance = random.Random(2)
    root.mkdir()
    folders = [root]
    while len(folders) < 2328:
        folder = chance.choice(folders[-400:]) / f"d{len(folders)}"
        if len(folder.parts) - len(root.parts) < 10:
            folder.mkdir()
            folders.append(folder)
    for number in range(4979):
        size = min(200_000, int(chance.lognormvariate(6.02, 1.7)))
        (chance.choice(folders) / f"file_{number}.py").write_bytes(chance.randbytes(size))


def _many(root: Path) -> None:
    """100,000 files of 1 KB on average, 100 in each directory."""
    chance = random.Random(3)
    for number in range(1000):
        folder = root / f"a{number % 20:02}" / f"b{number:03}"
        folder.mkdir(parents=True)
        for name in range(100):
            content = chance.randbytes(int(chance.expovariate(1 / 1000)))
            (folder / f"file_{name:02}.txt").write_bytes(content)


def _large(root: Path) -> None:
    """5 files of 200 MB."""
    chance = random.Random(4)
    root.mkdir()
    for number in range(5):
        with (root / f"large_{number}.bin").open("wb") as stream:
            for _ in range(200):
                stream.write(chance.randbytes(_MIB))


SHAPES: Mapping[str, Callable[[Path], None]] = {
    "micro": _micro,
    "repository": _repository,
    "many": _many,
    "large": _large,
}
