"""Writes the page of figures of trees: hashing and copying beside what others do.

    python benchmarks/trees.py [--tree TREE] [--rounds N] [--quick] [PAGE]

PAGE is docs/reference/tree-figures.md unless given; `-` prints the table and writes nothing. All
sides of a tree take turns in one run. `--quick` leaves out the trees that take minutes, and most
rounds. Peers that are not installed are left out, and the table says so; the extra `benchmarks`
brings the one that is a Python package.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen
from tree_shapes import SHAPES
from tree_sides import ROWS, Row, Skipped, Timed, sides

PAGE = Path(__file__).parents[1] / "docs/reference/tree-figures.md"
IN_MEMORY = Path("/dev/shm")
QUICK = ("micro", "repository")
ROUNDS = {"micro": 300, "repository": 15, "many": 5, "large": 5}
HEAD = """# Figures of trees

Measured by `make tree-figures`, which rewrites this page; nothing here is written by hand.

Each line sets one operation of ours beside a peer's. Both ran in turns in one run, on trees that
the script made in memory, with warm caches. The ratio is that of the medians, in brackets that of
the minima; a target is met when the ratio of the medians meets it. *Copy* is a workspace made,
digested and proven equal; the peers that copy do not digest. Two *processes* are helper processes,
which start with the first large tree and stay.
"""


@frozen
class Figure:
    """Seconds of one side, one for each round; `skipped` says why there are none."""

    seconds: tuple[float, ...] = ()
    skipped: str = ""

    def __str__(self) -> str:
        if not self.seconds:
            return self.skipped
        return f"{_ms(statistics.median(self.seconds))} ({_ms(min(self.seconds))})"


def main() -> None:
    """Measure what is asked for, print the table, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", default=str(PAGE))
    parser.add_argument("--tree", choices=SHAPES, action="append")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    names = chosen.tree or (QUICK if chosen.quick else tuple(SHAPES))
    rows: list[Sequence[object]] = []
    for name in names:
        rounds = chosen.rounds or max(3, ROUNDS[name] // (3 if chosen.quick else 1))
        rows += measured(name, rounds)
    page = "\n".join((HEAD, _table(rows), "", _host()))
    print(page)
    if chosen.page != "-":
        Path(chosen.page).write_text(page, encoding="utf-8")


def measured(shape: str, rounds: int) -> list[Sequence[object]]:
    """Lines of the table for one tree."""
    place = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir=place) as top:
        tree = Path(top) / "tree"
        SHAPES[shape](tree)
        (Path(top) / "copies").mkdir()
        rows = [row for row in ROWS if row.tree == shape]
        figures = _figures(sides(tree, Path(top) / "copies"), rows, rounds)
        return [_line(row, figures) for row in rows]


def _figures(made: Mapping[str, Timed], rows: Iterable[Row], rounds: int) -> dict[str, Figure]:
    """Seconds of every side that a row names, taken in turns; the first round warms up."""
    wanted = dict.fromkeys(name for row in rows for name in (row.ours, row.peer) if name)
    seconds: dict[str, list[float]] = {name: [] for name in wanted}
    skipped: dict[str, str] = {}
    for turn in range(rounds + 1):
        for name in wanted:
            if name in skipped:
                continue
            try:
                taken = made[name].timed()
            except Skipped as reason:
                skipped[name] = str(reason)
                continue
            if turn:
                seconds[name].append(taken)
    return {name: Figure(tuple(seconds[name]), skipped.get(name, "")) for name in wanted}


def _line(row: Row, figures: dict[str, Figure]) -> Sequence[object]:
    ours = figures[row.ours]
    peer = figures[row.peer] if row.peer else Figure((row.limit,))
    shown = f"{row.peer}: {peer}" if row.peer else "-"
    if not (ours.seconds and peer.seconds):
        return (row.tree, row.ours, ours, shown, "-", row.goal, "not measured")
    ratio = statistics.median(ours.seconds) / statistics.median(peer.seconds)
    least = min(ours.seconds) / min(peer.seconds)
    met = "met" if ratio <= row.target else f"**missed**: {row.reason or 'no reason is known'}"
    ratios = f"{ratio:.3f} ({least:.3f})" if row.peer else "-"
    return (row.tree, row.ours, ours, shown, ratios, row.goal, met)


def _ms(seconds: float) -> str:
    milliseconds = seconds * 1000
    return f"{milliseconds:.2f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"


def _table(rows: Iterable[Sequence[object]]) -> str:
    head = ("tree", "what", "median (least)", "peer", "ratio", "target", "")
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _host() -> str:
    trees = "".join(f"- {name}: {shape.__doc__}\n" for name, shape in SHAPES.items())
    load = os.getloadavg()[0]
    return (
        f"{trees}\nHost: {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release().partition('-')[0]}; load at the end {load:.1f}. "
        f"Date: {time.strftime('%Y-%m-%d')}.\n"
    )


if __name__ == "__main__":
    main()
