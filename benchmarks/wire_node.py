"""What isolated grading of Node tests costs on this host, in real jails.

    python benchmarks/wire_node.py

Prints calls per second of one driver and worker, the processor time of a call and of one more test,
and seconds of a whole grading in both modes. Each figure is the best of several rounds, since
other load can only make it worse.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS, grade
from wire import LIMITS, best, used

from assay.api import GraderRole

CALLS = 10_000
TESTS = 200
SOURCE = """
export const add = (a, b) => a + b;
export class Box { constructor(n) { this.n = n; } get() { return this.n; } }
export const reverse = (list) => [...list].reverse();
export const later = async (n) => n;
"""
HEAD = """
import assert from "node:assert/strict";
import { it } from "node:test";
import { add, Box, later, reverse } from "/workspace/src/calc.mjs";
const box = new Box(1), list = Array.from({ length: 100 }, (_, n) => n);
"""
BODIES = {
    "add(n, 1)": "add(n, 1)",
    "box.get()": "box.get()",
    "a list of 100 both ways": "reverse(list)",
    "await": "await later(n)",
}


def graded(tests: str, names: tuple[str, ...], mode: str) -> None:
    """One grading of hidden tests, all of which pass."""
    grader = GRADERS["node-test"]
    options = grader.Options(
        tests=("h.test.mjs",),
        expect=tuple(f"h.test.mjs > {name}" for name in names),
        hidden=True,
        roots=("src",),
        mode=mode,
    )
    hidden = {"h.test.mjs": HEAD + tests}
    tree = {"src/calc.mjs": SOURCE}
    facts = grade(grader, options, tree, hidden=hidden, role=GraderRole.HIDDEN, limits=LIMITS)
    assert facts.passed, facts


def loop(body: str, calls: int) -> str:
    return f'it("a", async () => {{ for (let n = 0; n < {calls}; n++) {body}; }});\n'


def main() -> None:
    """Print one line for each figure."""
    one = ("a",)
    graded(loop("0", 0), one, "isolated")
    wall = best(lambda: graded(loop("0", 0), one, "isolated"))
    idle = used(lambda: graded(loop("0", 0), one, "isolated"))
    plain = best(lambda: graded(loop("0", 0), one, "unguarded"))
    print(f"a grading: isolated {1000 * wall:.0f} ms, unguarded {1000 * plain:.0f} ms")
    for name, body in BODIES.items():
        call = partial(graded, loop(body, CALLS), one, "isolated")
        speed = CALLS / (best(call) - wall)
        processor = 1e6 * (used(call) - idle) / CALLS
        print(f"{name}: {speed:.0f} per s, {processor:.0f} us of a processor")
    names = tuple(f"t{number}" for number in range(TESTS))
    tests = "".join(f'it("{name}", () => assert.equal(add(1, 2), 3));\n' for name in names)
    alone = used(lambda: graded(loop("0", 0), one, "unguarded"))
    for mode, base in (("isolated", idle), ("unguarded", alone)):
        each = (used(partial(graded, tests, names, mode)) - base) / (TESTS - 1)
        print(f"one more test, {mode}: {1000 * each:.2f} ms of a processor")


if __name__ == "__main__":
    main()
