"""Node tests against a candidate in another process: what works, and at which level."""

from __future__ import annotations

import json

from support.grading import GRADERS, grade
from support.jail import store
from support.node_isolation import found, isolated_node

from assay.api import Facts, GraderRole, Trust
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
    "errors > of calls": 2,
    "iteration": 1,
    "objects": 2,
    "closures": 2,
    "waiting": 2,
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


COMMON_SOURCE = """
let calls = 0;
exports.add = (a, b) => { calls += 1; return a + b; };
exports.calls = () => calls;
exports.limit = 5;
exports.raise = () => { exports.limit += 1; };
class Box { constructor(x) { this.x = x; } twice() { return this.x * 2; } }
exports.Box = Box;
"""
COMMON_TESTS = """
const assert = require("assert");
const { after, before, beforeEach, describe, it, mock } = require("node:test");
const one = require("/workspace/src/one");
const { add, Box } = require("/workspace/src/one.js");
const helper = require("./helper.cjs");

describe("common", () => {
  let box;
  before(() => { box = new Box(4); });
  beforeEach(() => { helper.count += 1; });
  it("calls", () => {
    assert.strictEqual(add(1, 2), 3);
    assert.strictEqual(one.add(1, 2), 3);
    assert.strictEqual(one.calls(), 2);
    assert.ok(helper.count > 0);
  });
  it("objects", () => {
    assert.strictEqual(box.twice(), 8);
    assert.ok(box instanceof one.Box);
    assert.deepStrictEqual({ ...box }, { x: 4 });
    assert.deepEqual(box, { x: 4 });
  });
  it("properties", () => {
    assert.strictEqual(one.limit, 5);
    one.raise();
    assert.strictEqual(one.limit, 6);
    assert.deepStrictEqual(Object.keys(one), ["add", "calls", "limit", "raise", "Box"]);
  });
  it("done", (t, done) => { setTimeout(() => { assert.strictEqual(add(1, 1), 2); done(); }, 1); });
  it("import", async () => {
    const { default: same } = await import("/workspace/src/one.js");
    assert.strictEqual(same.add(2, 2), 4);
  });
  it("missing", () => assert.throws(() => require("/workspace/src/none.js"), /Cannot find/));
});
"""


def test_commonjs_modules() -> None:
    names = ("calls", "objects", "properties", "done", "import", "missing")
    facts = isolated_node(
        COMMON_TESTS,
        COMMON_SOURCE,
        module="one.js",
        file="common.test.cjs",
        hidden={"helper.cjs": "exports.count = 0;\n"},
        expect=tuple(f"common > {name}" for name in names),
    )
    assert set(found(facts).values()) == {"passed"}, private(facts)


MORE_SOURCE = """
export function debounce(work, ms) {
  let timer;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => work(...args), ms); };
}
export class Queue {
  #items = []; #waiting = [];
  put(item) { const w = this.#waiting.shift(); if (w) w(item); else this.#items.push(item); }
  take() {
    if (this.#items.length) return Promise.resolve(this.#items.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
export async function retry(work, times) {
  for (let n = 1; ; n++) {
    try { return await work(n); } catch (error) { if (n === times) throw error; }
  }
}
export async function* ticks(to) { for (let n = 0; n < to; n++) { await null; yield n; } }
export const apply = (work, ...values) => work(...values);
export const withLogger = (logger) => { logger.log("one"); return logger.level; };
export const timeout = (promise, ms) => Promise.race([
  promise, new Promise((_, no) => setTimeout(() => no(new Error("late")), ms)),
]);
export const group = (list, by) => list.reduce((found, item) => by(found, item) ?? found, {});
export const boom = (n) => (n === 2 ? process.exit(0) : n);
export const made = new Queue();
export const tag = Symbol("tag");
export const tagged = () => ({ [tag]: 1 });
export const same = (x) => x;
export const never = () => new Promise(() => setInterval(() => {}, 5));
export const emptied = (list) => (list.length = 0);
export const words = (text) => text.match(/(?<first>\\w+)/);
export const bytes = () => Buffer.from("ab");
export const pi = Object.freeze({ value: 3 });
export const counts = { n: 0 };
export const count = () => { counts.n += 1; };
"""
MORE_TESTS = """
import { mock } from "node:test";
import * as c from "/workspace/src/cand.mjs";
const kept = new c.Queue();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

it("timers call back", async () => {
  const seen = [];
  const work = c.debounce((x) => seen.push(x), 5);
  work(1); work(2);
  assert.deepEqual(seen, []);
  await sleep(60);
  assert.deepEqual(seen, [2]);
});
it("a promise waits for the test", async () => {
  const queue = new c.Queue();
  const taken = queue.take();
  queue.put(3);
  assert.equal(await taken, 3);
  queue.put({ a: [4] });
  assert.deepEqual(await queue.take(), { a: [4] });
});
it("asynchronous functions of the test", async () => {
  const seen = [];
  const work = async (n) => { seen.push(n); if (n < 3) throw new RangeError("again"); return "x"; };
  assert.equal(await c.retry(work, 5), "x");
  assert.deepEqual(seen, [1, 2, 3]);
  await assert.rejects(c.retry(async () => { throw new RangeError("never"); }, 2), /never/);
});
it("promises of the test", async () => {
  assert.equal(await c.timeout(sleep(1).then(() => 5), 500), 5);
  await assert.rejects(c.timeout(sleep(200), 5), { message: "late" });
});
it("asynchronous iteration", async () => {
  const seen = [];
  for await (const n of c.ticks(3)) seen.push(n);
  assert.deepEqual(seen, [0, 1, 2]);
});
it("mock functions", () => {
  const work = mock.fn((a, b) => a + b);
  assert.equal(c.apply(work, 1, 2), 3);
  assert.equal(work.mock.callCount(), 1);
  assert.deepEqual(work.mock.calls[0].arguments, [1, 2]);
  assert.equal(c.apply(Math.max, 3, 4), 4);
  assert.equal(c.apply(Number, "5"), 5);
});
it("objects with functions", () => {
  const seen = [];
  assert.equal(c.withLogger({ level: 3, log: (text) => seen.push(text) }), 3);
  assert.deepEqual(seen, ["one"]);
});
it("callbacks that change what they are given", () => {
  const found = c.group(["a", "bb", "c"], (all, word) => { (all[word.length] ??= []).push(word); });
  assert.deepEqual(found, { 1: ["a", "c"], 2: ["bb"] });
});
it("identity within a call", () => {
  const list = [1];
  assert.strictEqual(c.same(list), list);
  const both = c.same([list, list]);
  assert.ok(both[0] === list && both[1] === list);
  const round = {}; round.self = round;
  assert.ok(c.same(round).self === round);
  const work = () => 1;
  assert.strictEqual(c.same(work), work);
});
it("a process that leaves", () => assert.equal(c.boom(2), 2));
it("a fresh process after it", () => {
  assert.equal(c.boom(3), 3);
  const queue = new c.Queue();
  assert.ok(queue instanceof c.Queue);
});
it("an object of a process that is gone", () => kept.put(1));
it("an exported object is found again", () => c.made.put(1));
it("symbols", () => {
  assert.equal(c.tagged()[c.tag], 1);
  assert.equal(typeof c.tag, "symbol");
});
it("special values", () => {
  const found = c.words("one two");
  assert.equal(found.groups.first, "one");
  assert.equal(found.index, 0);
  assert.ok(Buffer.isBuffer(c.bytes()) && c.bytes().equals(Buffer.from("ab")));
  const sparse = [1, , 3];
  assert.deepEqual(c.same(sparse), sparse);
  assert.ok(!(1 in c.same(sparse)));
  assert.ok(Object.is(c.same(-0), -0));
  const odd = JSON.parse('{"__proto__": {"x": 1}}');
  assert.deepEqual(Object.keys(c.same(odd)), ["__proto__"]);
  assert.deepEqual(c.same(new Map([[1, new Set("ab")]])), new Map([[1, new Set("ab")]]));
  assert.deepEqual(c.same(new Float64Array([1.5])), new Float64Array([1.5]));
});
it("a changed result of a promise", async () => {
  const found = await c.retry(() => [1], 1);
  found.push(2);
});
it("frozen objects", () => {
  assert.ok(Object.isFrozen(c.pi) && !Object.isFrozen(c.counts));
  assert.throws(() => { c.pi.value = 4; }, TypeError);
});
it("exported objects", () => {
  assert.deepEqual(c.counts, { n: 0 });
  c.count();
  assert.deepEqual(c.counts, { n: 1 });
});
describe("together", { concurrency: true }, () => {
  for (const n of [1, 2, 3]) {
    it(`number ${n}`, async () => assert.equal(await c.retry(async () => n, 1), n));
  }
});
it.skip("skipped", () => assert.equal(c.same(1), 2));
it("given up by its runner", { timeout: 20 }, () => c.never());
it("to be done", { todo: true }, () => assert.equal(c.same(1), 2));
test("shared by sub-tests", async (t) => {
  const list = [2, 1];
  assert.equal(c.apply((x) => x, 1), 1);
  assert.strictEqual(c.same(list), list);
  await t.test("inner", () => assert.equal(c.apply(Math.max, 1, c.emptied(list)), 1));
  assert.deepEqual(list, []);
});
test("in sub-tests", async (t) => {
  await t.test("left", () => { assert.equal(c.boom(2), 2); });
  await t.test("right", () => { assert.equal(c.boom(3), 3); });
});
"""
MORE_FAILED = {
    "a process that leaves": "failed",
    "an object of a process that is gone": "failed",
    "given up by its runner": "failed",
    "a changed result of a promise": "failed",
    "skipped": "skipped",
    "to be done": "xfailed",
    "in sub-tests": "failed",
    "in sub-tests > left": "failed",
}


def test_what_else_works() -> None:
    names = [line.split('"')[1] for line in MORE_TESTS.splitlines() if line.startswith("it")]
    names += [f"together > number {n}" for n in (1, 2, 3)]
    names += ["shared by sub-tests", "shared by sub-tests > inner"]
    names += ["in sub-tests", "in sub-tests > left", "in sub-tests > right"]
    facts = isolated_node(MORE_TESTS, MORE_SOURCE, expect=tuple(names))

    expected = dict.fromkeys(names, "passed") | MORE_FAILED
    assert found(facts) == expected, private(facts)
    assert facts.codes == ("lost-died", "result-changed", "stale")


def test_tests_in_the_tree_and_files_of_their_own_processes() -> None:
    tree = {
        "src/cand.mjs": "export let n = 0;\nexport const up = () => (n += 1);\n",
        "src/added.mjs": "export default 1;\n",
        "package.json": '{"imports": {"#cand": "./src/cand.mjs"}}',
    }
    text = """
import assert from "node:assert";
import test from "node:test";
import { up } from "../src/cand.mjs";
import { three } from "./help.cjs";
import { up as same } from "#cand";
import { readdirSync } from "node:fs";
test("up", () => assert.equal(up() + same(), three));
const names = readdirSync("/workspace").sort();
test("no source", () => assert.deepEqual(names, ["package.json", "tests"]));
"""
    tree |= {"tests/a.test.mjs": text, "tests/b.test.mjs": text, "tests/c.test.mjs": text}
    tree |= {"tests/help.cjs": "exports.three = 3;\n"}
    grader = GRADERS["node-test"]
    files = ("tests/a.test.mjs", "tests/b.test.mjs", "tests/c.test.mjs")
    options = grader.Options(
        tests=files,
        expect=tuple(f"{file} > {name}" for file in files for name in ("up", "no source")),
        roots=("src",),
        mode="isolated",
    )

    facts = grade(grader, options, tree, modified=("tests/c.test.mjs",))

    assert [test.outcome.value for test in facts.tests] == ["passed"] * 4 + ["missing"] * 2
    assert facts.measures["worker_starts"] == 2
    assert facts.trust is Trust.ISOLATED


def test_a_file_that_leaves_or_does_not_load_costs_its_own_tests_only() -> None:
    grader = GRADERS["node-test"]
    imports = 'import { test } from "node:test";\nimport { f } from "/workspace/src/cand.mjs";\n'
    hidden = {
        "a.test.mjs": imports + 'test("a", () => f(1));\nprocess.exit(0);\n',
        "b.test.mjs": imports + 'test("b", () => f(1));\nimport "./none.mjs";\n',
        "c.test.mjs": imports + 'test("c", () => f(1));\n',
        "e.test.mjs": imports
        + 'import { describe } from "node:test";\ndescribe("s", () => {\n test("e", () => f(1));'
        + ' throw Object.assign(new Error("x"), f({ code: "ERR_TEST_FAILURE",'
        + ' failureType: "subtestsFailed" }));\n});\n',
        "f.test.mjs": imports
        + 'test("f", () => { setTimeout(() => { throw new Error("x"); }, 5); });\n',
        "d.test.mjs": 'import "/workspace/src/bad.mjs";\n' + imports + 'test("d", () => f(1));\n',
    }
    names = {"e": "s > e"}
    options = grader.Options(
        tests=tuple(sorted(hidden)),
        expect=tuple(f"{file} > {names.get(file[0], file[0])}" for file in sorted(hidden)),
        hidden=True,
        roots=("src",),
        mode="isolated",
    )
    tree = {"src/cand.mjs": "export const f = (n) => n;\n", "src/bad.mjs": "throw new Error('x');"}

    facts = grade(grader, options, tree, hidden=hidden, role=GraderRole.HIDDEN)

    results = [test.outcome.value for test in facts.tests]
    assert results[:6] == ["missing", "error", "passed", "error", "failed", "passed"]
    failed = {test.id for test in facts.tests if test.outcome.value == "error"}
    assert {f"{letter}.test.mjs" for letter in "bdef"} <= failed, private(facts)
    assert not facts.passed


def test_limits_of_one_call_and_of_one_test() -> None:
    source = "export const f = (n) => { while (n === 2); return n + 1; };\n"
    source += "export const g = (n) => new Promise((ok) => n === 2 || setTimeout(ok, 5, n + 1));\n"
    tests = 'import { f, g } from "/workspace/src/cand.mjs";\n'
    tests += "".join(
        f'it("{name} {n}", async () => assert.equal(await {name}({n}), {n + 1}));\n'
        for name in "fg"
        for n in (1, 2, 3)
    )
    tests += 'it("own", () => new Promise(() => {}));\n'
    names = ("f 1", "f 2", "f 3", "g 1", "g 2", "g 3", "own")

    facts = isolated_node(tests, source, expect=names, call_seconds=0.5, test_seconds=1.0)

    passed = {name for name, outcome in found(facts).items() if outcome == "passed"}
    assert passed == {"f 1", "f 3", "g 1", "g 3"}, private(facts)
    assert facts.codes == ("lost-silent", "lost-time")
