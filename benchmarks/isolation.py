"""Writes the page of figures of isolated grading: attacks, suites of others, speed.

    python benchmarks/isolation.py [--corpus FOLDER] [--only PART] [PAGE]

PAGE is docs/reference/isolation-figures.md unless given. A part that is not measured keeps what the
page says of it: `attacks` needs a folder of attacks (attack_corpus.py says of what form), `suites`
needs a package index, `speed` needs nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attack_corpus
import foreign_suites
import wire
from foreign_suites import LEVELS, PACKAGES, Suite

PAGE = Path(__file__).parents[1] / "docs/reference/isolation-figures.md"
HEAD = """# Figures of isolated grading

Measured in real jails by `make figures`, which rewrites this page; nothing here is written by hand.
[Trust](../explanation/trust.md) says what the modes and levels are.
"""
TARGET = 97


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", type=Path, default=PAGE)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", choices=("attacks", "suites", "speed"))
    chosen = parser.parse_args()
    measures: dict[str, Callable[[], str]] = {"suites": suites, "speed": speed}
    if chosen.corpus is not None:
        measures["attacks"] = lambda: attacks(chosen.corpus)
    before = chosen.page.read_text(encoding="utf-8") if chosen.page.exists() else ""
    parts = [HEAD]
    for name in ("attacks", "suites", "speed"):
        is_due = name in measures and chosen.only in (None, name)
        text = f"{measures[name]()}\n{_host()}" if is_due else _kept(before, name)
        parts.append(f"<!-- {name} -->\n\n{text.strip()}\n")
    chosen.page.write_text("\n".join(parts), encoding="utf-8")


def _kept(page: str, name: str) -> str:
    """What a page says of one part."""
    found = re.search(rf"<!-- {name} -->\n(.*?)(?=\n<!-- \w+ -->|\Z)", page, re.DOTALL)
    return found[1] if found else f"## {name.capitalize()}\n\nNot measured."


def _host() -> str:
    version = platform.python_version()
    return f"Host: {os.cpu_count()} processors, Python {version}, {platform.system()}."


def attacks(corpus: Path) -> str:
    """Of each mode: how many attacks were accepted, and which."""
    rows = []
    for mode in attack_corpus.MODES:
        for fared in attack_corpus.gated(corpus, mode):
            through = ", ".join(f"`{name}`" for name in fared.accepted) or "none"
            if fared.invalid:
                through += f"; not graded: {', '.join(fared.invalid)}"
            honest = f"{fared.honest_accepted} of {fared.honest}"
            rows.append((f"`{mode}`", fared.kind, fared.attacks, honest, through))
    return f"""## Attacks

A folder of attacks on graders, each through the whole gate. The toy task allows every change, so
only the graders stand between an attack and its acceptance. Attacks on a grader that does not have
the mode are left out.

{_table(("mode", "code", "attacks", "honest ones accepted", "attacks accepted"), rows)}
"""


def suites() -> str:
    """Of each package: tests that pass in one process and isolated, and the causes of the rest."""
    measured = [foreign_suites.measured(package) for package in PACKAGES]
    rows = [_suite_row(f"{s.package.name} {s.package.version}", [s]) for s in measured]
    rows.append(_suite_row("all", measured))
    allowed = [f"level {level}" for level in LEVELS]
    head = ("package", "runner", "pass in one process", *allowed, "share", "false passes")
    return f"""## Suites of others

Unmodified tests of packages of others, pure Python and without dependencies. *Share*: of the tests
that pass in one process, those that pass isolated as well, at the default level and at the highest;
the aim is {TARGET} %. *False passes* are tests that pass isolated, and not in one process, when
every function of the package raises, or returns nothing; such a run has 30 seconds.

{_table(head, rows)}

### What keeps the others from passing

At the default level; [codes](graders.md#mode-isolated), or another result without one.

{_table(("code", "tests", "of"), _causes(measured))}

### Levels and features

Of the tests that pass at the default level. A test counts for each feature that it uses.

{_table(("level", "tests", "share up to here"), _levels(measured))}

{_table(("feature", "tests"), _summed(s.features for s in measured).most_common())}
"""


def _suite_row(name: str, some: Sequence[Suite]) -> tuple[object, ...]:
    passing = sum(suite.passing for suite in some)
    identical = [sum(suite.identical[level] for suite in some) for level in LEVELS]
    runner = ", ".join(sorted({suite.package.grader for suite in some}))
    share = " / ".join(_share(count, passing) for count in identical)
    return (name, runner, passing, *identical, share, sum(len(s.false_passes) for s in some))


def _causes(measured: Iterable[Suite]) -> list[tuple[object, ...]]:
    packages: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for suite in measured:
        counts.update(suite.causes)
        for cause, count in suite.causes.items():
            packages.setdefault(cause, []).append(f"{suite.package.name} {count}")
    return [(cause, n, ", ".join(packages[cause])) for cause, n in counts.most_common()]


def _levels(measured: Iterable[Suite]) -> list[tuple[object, ...]]:
    counts = _summed(suite.levels for suite in measured)
    rows: list[tuple[object, ...]] = []
    reached = 0
    for level in sorted(counts):
        reached += counts[level]
        rows.append((level, counts[level], _share(reached, counts.total())))
    return rows


def _summed(counters: Iterable[Counter[Any]]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def speed() -> str:
    """What isolation costs, each figure beside a peer of the same run."""
    found = wire.measured()
    rows = [
        (
            "plain calls per second of one pair",
            f"{found.calls_per_second:,.0f}",
            f"{found.exchanges_per_second:,.0f} frames between two processes and nothing else",
            f"{found.calls_per_second / found.exchanges_per_second:.2f}",
            "at least 10,000",
        ),
        (
            "processor time of one more test with one call",
            f"{found.test_isolated:.2f} ms",
            f"{found.test_unguarded:.2f} ms, in one process",
            f"{found.test_isolated / found.test_unguarded:.2f}",
            "at most 2 ms more",
        ),
        (
            "first answer of a worker in its jail",
            f"{found.worker_ready:.1f} ms",
            f"{found.interpreter_ready:.1f} ms, the interpreter alone",
            f"{found.worker_ready / found.interpreter_ready:.2f}",
            "at most 25 ms",
        ),
        (
            "grading of one test",
            f"{found.grading_isolated:.0f} ms",
            f"{found.grading_unguarded:.0f} ms, in one process",
            f"{found.grading_isolated / found.grading_unguarded:.2f}",
            "",
        ),
    ]
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return f"""## Speed

Each figure is the best of several rounds; its peer was measured in the same run. Load of each
processor at the end: {load:.1f}, of which less than one is the measurement's own. Other load makes
times longer.

{_table(("what", "measured", "peer", "ratio", "aim"), rows)}

One plain call costs {found.call_processor_us:.0f} µs of processor time, on both sides and between
them: {1e6 / found.call_processor_us:,.0f} calls per second of a processor that does nothing else.
"""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main()
