"""Node tests against a candidate in another process: what works, and at which level."""

from __future__ import annotations

import json

from support.jail import store
from support.node_isolation import found, isolated_node

from assay.api import Facts, Trust
from assay_graders.two_jails import ARTIFACT

SOURCE = """
export const add = (a, b) => a + b;
export class Vector {
  constructor(x, y) { this.x = x; this.y = y; }
  get length() { return Math.hypot(this.x, this.y); }
  plus(other) { return new Vector(this.x + other.x, this.y + other.y); }
  toString() { return `<${this.x}, ${this.y}>`; }
  static of(x) { return new Vector(x, x); }
  *[Symbol.iterator]() { yield this.x; yield this.y; }
}
export class Small extends Error {
  constructor(least) { super(`below ${least}`); this.name = "Small"; this.least = least; }
}
export function checked(value) { if (value < 3) throw new Small(3); return value; }
export const later = (value) => new Promise((resolve) => setTimeout(resolve, 5, value));
export async function failing() { throw new RangeError("later"); }
export const TABLE = { a: [1, { b: new Map([[1, new Set([2])]]) }], d: new Date(5), r: /x/g };
export const each = (list, change) => list.map((item) => change(item));
export function* count(to) { for (let n = 0; n < to; n++) yield n; }
export const sorted = (list) => list.sort();
export let counter = 0;
export const log = [];
export function counted() { counter += 1; log.push(counter); return counter; }
export function makeCounter() {
  let n = 0;
  return { up() { return (n += 1); }, get n() { return n; } };
}
export const total = (numbers) => { let sum = 0; for (const n of numbers) sum += n; return sum; };
export default function named(name) { return `I am ${name}`; }
"""

TESTS = """
import named, * as all from "/workspace/src/cand.mjs";
import { add, checked, count, counted, counter, each, failing } from "/workspace/src/cand.mjs";
import { later, log, makeCounter, Small, sorted, TABLE, total } from "/workspace/src/cand.mjs";
import { Vector } from "/workspace/src/cand.mjs";

it("functions", () => {
  assert.equal(add(1, 2), 3);
  assert.equal(add(10n ** 30n, 1n), 10n ** 30n + 1n);
  assert.equal(add("\\ud800", ""), "\\ud800");
  assert.equal(named("x"), "I am x");
  assert.equal(all.add(1, 1), 2);
  assert.equal(Object.is(add(-0, -0), -0), true);
});
it("data", () => {
  assert.deepEqual(TABLE, {
    a: [1, { b: new Map([[1, new Set([2])]]) }], d: new Date(5), r: /x/g,
  });
});
describe("errors", () => {
  it("own", () => {
    assert.throws(() => checked(1), Small);
    assert.throws(() => checked(1), { name: "Small", message: "below 3", least: 3 });
    assert.throws(() => checked(1), (error) => error instanceof Small && error instanceof Error);
  });
  it("of calls", async () => {
    assert.throws(() => add(1n, 1), TypeError);
    await assert.rejects(failing(), RangeError);
  });
});
it("iteration", () => assert.deepEqual([...count(3)], [0, 1, 2]));
it("objects", () => {
  const v = new Vector(3, 4);
  assert.ok(v instanceof Vector);
  assert.equal(v.length, 5);
  assert.equal(`${v.plus(Vector.of(1))}`, "<4, 5>");
  assert.deepEqual([...v], [3, 4]);
  assert.deepEqual({ ...v }, { x: 3, y: 4 });
  assert.ok("plus" in v && !("minus" in v));
});
it("closures", () => {
  const one = makeCounter();
  one.up();
  assert.equal(one.up(), 2);
  assert.equal(one.n, 2);
});
it("waiting", async () => {
  assert.equal(await later(7), 7);
  assert.deepEqual(await Promise.all([later(1), later(2)]), [1, 2]);
});
it("handed over", async () => {
  assert.deepEqual(each([1, 2], (x) => x * 2), [2, 4]);
  assert.equal(total((function* () { yield 1; yield 2; })()), 3);
  const promises = each([1], async (x) => x + 1);
  assert.deepEqual(await Promise.all(promises), [2]);
  assert.throws(() => each([1], () => { throw new RangeError("mine"); }), { message: "mine" });
});
it("written back", () => {
  const list = [3, 1, 2];
  assert.strictEqual(sorted(list), list);
  assert.deepEqual(list, [1, 2, 3]);
});
it("live bindings", () => {
  assert.equal(counter, 0);
  counted();
  assert.equal(counter, 1);
  assert.deepEqual(log, [1]);
});
test("sub-tests", async (t) => {
  await t.test("inner", () => assert.equal(add(2, 2), 4));
});
"""
LEVELS = {
    "functions": 0,
    "data": 0,
    "errors > own": 2,
    "errors > of calls": 1,
    "iteration": 1,
    "objects": 2,
    "closures": 2,
    "waiting": 1,
    "handed over": 3,
    "written back": 4,
    "live bindings": 0,
    "sub-tests": 0,
    "sub-tests > inner": 0,
}


def private(facts: Facts) -> str:
    return "\n".join(f"{test.id}\n{test.message_private}" for test in facts.tests)


def test_what_works_and_at_which_level() -> None:
    facts = isolated_node(TESTS, SOURCE, expect=tuple(LEVELS))
    assert set(found(facts).values()) == {"passed"}, private(facts)
    assert facts.passed
    assert facts.trust is Trust.ISOLATED
    told = json.loads(store().blob(facts.artifacts[ARTIFACT]) or b"")
    names = {test["id"].partition(" > ")[2]: test for test in told["tests"]}
    assert {name: test["level"] for name, test in names.items()} == LEVELS, names
