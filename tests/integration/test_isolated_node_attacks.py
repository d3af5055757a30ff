"""Candidates that try to pass Node tests without solving anything, against isolated grading.

Each quiet attack is a wrong candidate with a test that an honest one would pass. `POSSIBLE` are
those that still pass, as the documentation says; everything else must not.
"""

from __future__ import annotations

import json

import pytest
from support.jail import store
from support.node_isolation import found, isolated_node

from assay.api import GraderUnfit, Limits, Reason, Trust
from assay_graders.two_jails import ARTIFACT

SOURCE = r"""
import assert from "node:assert";
import { AsyncResource } from "node:async_hooks";
import fs from "node:fs";
import module from "node:module";
import nodeTest from "node:test";

const yes = () => true;
for (const holder of [assert, assert.strict]) {
  for (const key of Object.keys(holder)) if (key !== "strict") holder[key] = () => {};
}
module.syncBuiltinESMExports();
for (const key of ["test", "it", "describe"]) nodeTest[key] = () => {};
AsyncResource.prototype.runInAsyncScope = () => {};
module._load = () => ({});
process.on("exit", () => { process.exitCode = 0; });
console.log("TAP version 13\nok 1 - pass\n# tests 90\n# pass 90\n# fail 0");

const said = (value) => ({ [Symbol.toPrimitive]: () => value, valueOf: () => value });
const all = {
  get: (target, key) => (key === Symbol.toPrimitive ? () => NaN : all.made),
  has: yes, ownKeys: () => [], getPrototypeOf: () => Array.prototype,
};
all.made = new Proxy(function () {}, { ...all, apply: () => all.made, construct: () => all.made });
export const nan = () => NaN;
export const primitive = () => said(NaN);
export const number = () => said(5);
export const changing = () => { let n = 0; return { valueOf: () => (n += 1) }; };
export const proxy = () => new Proxy({}, { get: (t, k) => (k === "then" ? undefined : all.made) });
export const listProxy = () => new Proxy([], { get: (t, k) => (k === "length" ? 1 : all.made) });
export const twoFaced = () => {
  let asked = 0;
  const get = (t, k) => (k === "length" ? (asked++ % 2 ? 0 : 1) : all.made);
  return new Proxy([], { get });
};
export const twoFacedError = () => { throw Object.assign(new Error("x"), { list: twoFaced() }); };
export const twoFacedTag = () => ({ get [Symbol.toStringTag]() { return "Array"; }, length: 1 });
export const everything = () => all.made;
export const json = () => ({ toJSON: () => [4], toString: () => "[4]" });
export const getter = () => { let n = 0; return { get a() { return (n += 1); } }; };
export const lying = () => Object.setPrototypeOf({ name: "x" }, Map.prototype);
export const tagged = () => ({ [Symbol.toStringTag]: "Array", length: 1, 0: 5 });
export const thenable = () => ({ then(resolve) { resolve(5); resolve(4); } });
export const twice = async () => ({ then(resolve) { resolve(5); resolve(4); } });
export const holding = () => ({ includes: yes, indexOf: () => 0, startsWith: yes });
export const iterated = () => ({ *[Symbol.iterator]() { yield said(NaN); } });
export const endless = () => ({ *[Symbol.iterator]() { for (;;) yield 1; } });
export const finished = () => ({ [Symbol.iterator]: () => ({ next: () => ({ done: true }) }) });
export class Anything { static [Symbol.hasInstance]() { return true; } }
export const boxed = () => new Number(5);
export const lookalike = () => {
  throw Object.assign(new Error("no"), { name: "RangeError", code: "ERR_OUT_OF_RANGE" });
};
export function Judge() { return true; }
export const throwing = () => { throw new Error("no"); };
export const failing = { code: "ERR_TEST_FAILURE", failureType: "subtestsFailed" };
export const failure = () => { throw Object.assign(new Error("x"), failing); };
export class Stateless {}
const SAME = new Stateless();
export const A = SAME, B = SAME;
export const constant = () => SAME;
export const empty = () => ({});
export const stateless = () => new Stateless();
export const traced = () => {
  Error.stackTraceLimit = 100;
  const text = new Error().stack;
  const [, file, line] = /(?:file:\/\/)?(\/hidden\/[^:]*):(\d+)/.exec(text) ?? [];
  if (file === undefined) return 0;
  return Number(/equal\(.*, (\d+)\)/.exec(fs.readFileSync(file, "utf8").split("\n")[line - 1])[1]);
};
export const searched = () => globalThis.EXPECTED ?? process.env.EXPECTED ?? 0;
export const readFiles = () => {
  for (const folder of ["/hidden", "/workspace/tests", "/tmp"]) {
    try { if (fs.readdirSync(folder).some((name) => name.includes("test"))) return 4; } catch {}
  }
  for (const id of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try { if (fs.readFileSync(`/proc/${id}/cmdline`, "utf8").includes("driver")) return 4; }
    catch {}
  }
  return fs.existsSync("/assay/driver.mjs") || fs.existsSync("/assay/client.mjs") ? 4 : 0;
};
export const polluted = () => {
  Object.prototype.a = 4;
  Array.prototype[Symbol.iterator] = function* () {};
  return JSON.parse('{"__proto__": {"b": 4}}');
};
export const swallows = (work) => { try { work(); } catch {} return 4; };
export const swallowsLater = (work) => work().catch(() => {}).then(() => 4);
export const escapes = (work) => {
  try { return work.constructor("return globalThis.EXPECTED")() ?? 0; } catch { return 0; }
};
export const reads = (work) => work.expected ?? work.toString().match(/\d/)?.[0] ?? 0;
export const text = () => "4";
export const code = () => "globalThis.forged = 4";
export const unsaid = () => undefined;
export const cleared = (list) => { list.length = 0; };
let kept;
export const encode = (value) => { kept = value; return "x"; };
export const decode = () => kept;
export const has = () => ({ has: yes });
export const state = { list: [] };
export const aliased = () => state.list;
export const method = { toString: 5, constructor: 4, __proto__: { a: 4 } };
"""

HEAD = """
import loose from "node:assert";
import util from "node:util";
import * as c from "/workspace/src/cand.mjs";
globalThis.EXPECTED = 4;
const attempt = (work) => { try { work(); } catch {} };
"""

ATTACKS = {
    "nan": "assert.deepEqual(c.nan(), NaN)",
    "nan loose": "loose.equal(c.nan(), NaN)",
    "nan swallowed": "let x = 4; attempt(() => { x = c.nan(); }); assert.equal(x, 4)",
    "primitive": "loose.equal(c.primitive(), 4)",
    "primitive as NaN": "loose.equal(c.primitive(), NaN)",
    "primitive in sum": "assert.ok(Math.abs(c.primitive() - 4) < 1e-6)",
    "number": "loose.equal(c.number(), 4)",
    "number compared": "assert.ok(c.number() < 5)",
    "changing": "loose.equal(c.changing(), 4)",
    "proxy": "assert.deepEqual(c.proxy(), { a: 4 })",
    "proxy loose": "loose.deepEqual(c.proxy(), { a: 4 })",
    "list proxy": "assert.deepEqual(c.listProxy(), [4])",
    "list proxy loose": "loose.deepEqual(c.listProxy(), [4])",
    "two faces": "assert.deepEqual(c.twoFaced(), [4])",
    "two faces loose": "loose.deepEqual(c.twoFaced(), [4])",
    "two faces in a list": "loose.deepEqual([c.twoFaced()], [[4]])",
    "two faces in an error": "assert.throws(() => c.twoFacedError(), { list: [4] })",
    "two faces tagged": "loose.deepEqual(c.twoFacedTag(), [4])",
    "two faces by util": "assert.ok(util.isDeepStrictEqual(c.twoFaced(), [4]))",
    "everything": "loose.deepEqual(c.everything(), [4])",
    "everything equal": "loose.equal(c.everything(), 4)",
    "everything in list": "assert.ok([4].includes(c.everything()))",
    "everything in set": "assert.deepEqual(new Set([c.everything()]), new Set([4]))",
    "everything as key": "assert.equal(new Map([[4, 1]]).get(c.everything()), 1)",
    "json": "assert.deepEqual(c.json(), [4])",
    "getter": "assert.deepEqual(c.getter(), { a: 4 })",
    "lying": "assert.deepEqual(c.lying(), new Map([[1, 4]]))",
    "tagged": "loose.deepEqual(c.tagged(), [4])",
    "thenable": "assert.equal(await c.thenable(), 4)",
    "thenable twice": "assert.equal(await c.twice(), 4)",
    "includes": "assert.ok(c.holding().includes(4))",
    "index of": "assert.equal(c.holding().indexOf(4), 0)",
    "starts with": "assert.ok(c.holding().startsWith('4'))",
    "iterated": "assert.deepEqual([...c.iterated()], [4])",
    "endless": "assert.deepEqual([...c.endless()], [4])",
    "finished": "assert.deepEqual([...c.finished()], [4])",
    "has instance": "assert.ok(c.unsaid() instanceof c.Anything || 5 instanceof c.Anything)",
    "boxed": "loose.equal(c.boxed(), 4)",
    "lookalike": "assert.throws(() => c.lookalike(), RangeError)",
    "judge": "assert.throws(() => c.throwing(), c.Judge)",
    "judge later": "await assert.rejects(async () => c.throwing(), c.Judge)",
    "failure": "c.failure()",
    "constants": "assert.strictEqual(c.constant(), c.B)",
    "constants loose": "loose.equal(c.constant(), c.B)",
    "constants deep": "assert.deepStrictEqual(c.constant(), c.B)",
    "stateless": "assert.deepStrictEqual(c.stateless(), c.stateless())",
    "stateless by util": "assert.ok(util.isDeepStrictEqual(c.stateless(), c.stateless()))",
    "stateless in lists": "assert.deepEqual([c.stateless()], [c.stateless()])",
    "traced": "assert.equal(c.traced(), 4)",
    "searched": "assert.equal(c.searched(), 4)",
    "read files": "assert.equal(c.readFiles(), 4)",
    "polluted": "c.polluted(); assert.equal({}.a, 4)",
    "polluted by data": "assert.equal(c.polluted().b, 4)",
    "swallows": "assert.equal(c.swallows(() => assert.equal(5, 4)), 4)",
    "swallows later": "assert.equal(await c.swallowsLater(async () => assert.fail()), 4)",
    "escapes": "assert.equal(c.escapes(() => 5), 4)",
    "reads functions": "assert.equal(Number(c.reads(Object.assign(() => 4, { expected: 4 }))), 4)",
    "refusal caught": "assert.throws(() => loose.equal(c.constant(), c.B))",
    "refusal swallowed": "attempt(() => loose.equal(c.constant(), c.B))",
    "attribute": "attempt(() => { c.everything().x = 1; })",
    "result changed": "const list = c.aliased(); list.push(1); assert.deepEqual(c.aliased(), [])",
    "fresh copies": "assert.notStrictEqual(c.aliased(), c.aliased())",
    "names": "assert.equal(c.method.a, undefined); assert.equal(c.method.constructor, Object)",
}
"""Must not pass, whatever the code of the candidate is."""

POSSIBLE = {
    "raises only": ("assert.throws(() => c.throwing())", 1),
    "truth only": ("assert.ok(c.everything())", 2),
    "input as oracle": ("const d = [3, 1]; c.cleared(d); assert.deepEqual(d, [...d].sort())", 4),
    "round trip by candidate": ("assert.equal(c.decode(c.encode('thing')), 'thing')", 0),
    "identity of constants": ("assert.ok(c.constant() === c.B)", 2),
    "asked whether it has": ("assert.ok(c.has().has(4))", 2),
    "two values of its own": ("assert.deepEqual(c.empty(), c.empty())", 0),
    "nothing is asserted": ("c.text()", 0),
}
"""Pass although nothing is solved: the tests prove too little. With the level they are given."""


def written(tests: dict[str, str]) -> str:
    return HEAD + "".join(
        f"it({json.dumps(name)}, async () => {{ {body}; }});\n" for name, body in tests.items()
    )


def test_wrong_candidates_fail_and_those_that_pass_are_the_documented_ones() -> None:
    tests = ATTACKS | {name: body for name, (body, _) in POSSIBLE.items()}

    facts = isolated_node(written(tests), SOURCE, expect=tuple(tests), test_seconds=2.0)

    results = found(facts)
    assert {name for name in tests if results[name] == "passed"} == set(POSSIBLE)
    assert set(results.values()) == {"passed", "failed"}
    assert facts.trust is Trust.ISOLATED
    assert not facts.passed
    told = json.loads(store().blob(facts.artifacts[ARTIFACT]) or b"")
    levels = {test["id"].partition(" > ")[2]: test["level"] for test in told["tests"]}
    assert {name: levels[name] for name in POSSIBLE} == {
        name: level for name, (_, level) in POSSIBLE.items()
    }


FD = """
import fs from "node:fs";
const fd = fs.readdirSync("/proc/self/fd").map(Number).find((n) => {
  try { return n > 2 && fs.readlinkSync(`/proc/self/fd/${n}`).startsWith("socket"); }
  catch { return false; }
});
const framed = (text) => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([head, Buffer.from(text)]);
};
"""
FATAL = {
    "exits at import": "process.exit(0);",
    "leaves at import": "process.reallyExit(0);",
    "exits in a call": "export const f = () => process.exit(0);",
    "really exits in a call": "export const f = () => process.reallyExit(0);",
    "aborts": "export const f = () => process.abort();",
    "kills itself": "export const f = () => process.kill(process.pid, 'SIGKILL');",
    "exits later": "setTimeout(() => process.exit(0), 0); export const f = (n) => n;",
    "exits from a thread": (
        "import { Worker } from 'node:worker_threads';\n"
        "export const f = () => { new Worker('process.kill(process.pid, 9)', { eval: true });"
        " for (;;); };"
    ),
    "rejects unheard": "export const f = (n) => { Promise.reject(new Error('x')); return n; };",
    "early answers": FD + "fs.writeSync(fd, Buffer.concat([...Array(300).keys()].map((n) =>"
    ' framed(`[${n},"ok",3,[],[],false]`))));\nexport const f = () => 0;',
    "giant prefix": FD
    + "export const f = () => { fs.writeSync(fd, Buffer.alloc(64, 255)); for (;;); };",
    "cut frame": FD + "export const f = () => { fs.writeSync(fd, Buffer.from([0, 0, 1, 0, 97]));"
    " process.reallyExit(0); };",
    "closes the channel": FD + "export const f = () => { fs.closeSync(fd); for (;;); };",
    "answers by hand": FD
    + 'export const f = (n) => { fs.writeSync(fd, framed(`[1,"ok",${n + 1},[],[],false]`));'
    " return 0; };",
    "floods the channel": FD
    + "export const f = () => { for (;;) fs.writeSync(fd, framed('['.repeat(60000))); };",
    "deep json": FD
    + "export const f = () => { fs.writeSync(fd, framed('['.repeat(100000))); return 0; };",
    "many parts": FD + "export const f = () => { const t = framed('[' + '[],'.repeat(4e6) + '0]');"
    " for (let s = 0; s < t.length;) s += fs.writeSync(fd, t, s); return 0; };",
    "calls back what was never lent": FD
    + "export const f = () => { fs.writeSync(fd, framed('[-1,\"call-back\",1,[],[]]'));"
    " for (;;); };",
    "exports what is none": FD
    + 'export const f = () => { fs.writeSync(fd, framed(\'[-1,"x",1,[],[["x",0,1]]]\'));'
    " for (;;); };",
    "silent": "export const f = () => { for (;;); };",
    "never settled": "export const f = () => new Promise(() => setInterval(() => {}, 50));",
    "never settled and idle": "export const f = () => new Promise(() => {});",
    "thenable without end": "export const f = () => ({ then() {} });",
    "recursion": "export const f = (n) => f(n);",
    "too large": "export const f = () => 'x'.repeat(17 << 20);",
    "too deep": "export const f = () => { let x = []; for (let n = 0; n < 500; n++) x = [x];"
    " return x; };",
    "self-referring": "export const f = () => { const x = []; x.push(x); return x; };",
    "replaces its tools": (
        "JSON.stringify = () => '3'; Map.prototype.get = () => 3; Reflect.apply = () => 3;\n"
        "Array.isArray = () => true; Object.prototype.toJSON = () => 3;\n"
        "export const f = () => 0;"
    ),
    "listens": (
        "process.removeAllListeners(); process.on('uncaughtException', () => {});\n"
        "export const f = () => { throw 0; };"
    ),
}
"""Candidates that end or attack the exchange: no test of theirs passes."""


def test_whoever_attacks_the_exchange_fails_and_an_honest_test_behind_it_passes() -> None:
    tree = {f"src/m{number}.mjs": source for number, source in enumerate(FATAL.values())}
    tests = "import { g } from '/workspace/src/cand.mjs';\n"
    names = []
    for number, name in enumerate(FATAL):
        names += [name, f"{name}, behind"]
        tests += f"""
it("{name}", async () => {{
  const {{ f }} = await import("/workspace/src/m{number}.mjs");
  assert.equal(await f(2), 3);
}});
it("{name}, behind", () => assert.equal(g(2), 3));
"""
    source = "export const g = (n) => n + 1;\n"

    facts = isolated_node(
        tests,
        source,
        expect=tuple(names),
        tree=tree,
        limits=Limits(wall=60.0, cpu=60),
        call_seconds=0.5,
        test_seconds=1.0,
    )

    results = found(facts)
    assert {name for name in FATAL if results[name] == "passed"} == set()
    assert {
        name for name in names if name.endswith("behind") and results[name] != "passed"
    } == set()
    assert facts.reasons == {Reason.PROTOCOL_FAULT}


BY_THE_TEST = {
    "code": [
        "attempt(() => eval(c.text()))",
        "attempt(() => new Function(c.code())())",
        "await import(`data:text/javascript,${c.code()}`).catch(() => {})",
        "await import('node:vm').catch(() => {})",
        "attempt(() => require('vm'))",
        "fs.writeFileSync('/tmp/x.mjs', c.code()); await import('/tmp/x.mjs').catch(() => {})",
        "fs.writeFileSync('/tmp/x.cjs', c.code()); attempt(() => require('/tmp/x.cjs'))",
        "attempt(() => new Module('x')._compile(c.code(), '/hidden/x.js'))",
        "attempt(() => new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))",
        "attempt(() => WebAssembly.instantiate(new Uint8Array(8)))",
    ],
    "subprocess": ["attempt(() => require('child_process'))", "attempt(() => run())"],
    "thread": ["await import('worker_threads').catch(() => {})"],
    "argument": ["class Own {} attempt(() => c.text(new Own()))"],
    "class": ["class Own {} attempt(() => c.text(Own))"],
    "subclass": ["class Own extends c.Anything {} attempt(() => new Own())"],
    "argument-changed": ["const a = [1]; c.text(a); a.push(2)"],
    "process-state": [
        "attempt(() => { process.env.A = 'b'; })",
        "attempt(() => process.chdir('/tmp'))",
        "const { log } = console; console.log = () => {}; attempt(c.text); console.log = log",
        "t.mock.timers.enable(); attempt(c.text); t.mock.timers.reset()",
        "t.mock.method(Date, 'now', () => 5); attempt(c.text)",
    ],
}


def test_what_the_test_alone_brings_about_is_noted_as_that() -> None:
    lines = [(code, line) for code, found in BY_THE_TEST.items() for line in found]
    tests = HEAD + "import fs from 'node:fs';\nimport { run } from 'node:test';\n"
    tests += "import Module, { createRequire } from 'node:module';\n"
    tests += "const require = createRequire(import.meta.url);\n"
    tests += "".join(
        f"it('{n}', async (t) => {{ {line}; }});\n" for n, (_, line) in enumerate(lines)
    )

    facts = isolated_node(tests, SOURCE, expect=("not there",))

    told = json.loads(store().blob(facts.artifacts[ARTIFACT]) or b"")
    codes = {test["id"].partition(" > ")[2]: test["unsupported"] for test in told["tests"]}
    assert codes == {str(number): [code] for number, (code, _) in enumerate(lines)}


@pytest.mark.parametrize("where", ["test", "file"])
def test_a_test_that_can_not_be_isolated_makes_the_grader_unfit(where: str) -> None:
    line = "import 'node:child_process';\n" if where == "file" else ""
    body = "eval('2')" if where == "test" else "c.text()"
    problem = r"expect\[0\] can't be" if where == "test" else "a test file can't be"

    with pytest.raises(GraderUnfit, match=f"{problem} isolated: (code|subprocess)"):
        isolated_node(f"{line}{HEAD}it('a', () => {{ {body}; }});", SOURCE, expect=("a",))


PLANTED = {
    "package.json": '{"type": "module", "imports": {"#cand": "./src/forged.mjs"},'
    ' "exports": "./src/forged.mjs", "name": "cand", "scripts": {"test": "true"}}',
    "node.config.json": '{"nodeOptions": {"import": ["/workspace/src/forged.mjs"]}}',
    ".npmrc": "node-options=--import=/workspace/src/forged.mjs\nscript-shell=/bin/true\n",
    "src/forged.mjs": "process.exit(0);\n",
    "src/assert.mjs": "export default () => {};\n",
    "src/test.js": "module.exports = () => {};\n",
    "tests/helper.mjs": "export const expected = 5;\n",
}


def test_planted_files_change_nothing_for_the_tests() -> None:
    tests = """
import { f } from "/workspace/src/cand.mjs";
import fs from "node:fs";
it("wrong", () => assert.equal(f(2), 3));
it("right", () => assert.equal(f(2), 2));
it("alias", async () => assert.equal((await import("#cand")).f(2), 2));
it("nothing planted", () => assert.deepEqual(fs.readdirSync("/workspace"), ["README.md"]));
"""
    source = """
import module from "node:module";
module.register("data:text/javascript,export const resolve = () => ({ url: 'node:fs' })");
export const f = (n) => n;
"""
    names = ("wrong", "right", "alias", "nothing planted")

    facts = isolated_node(
        tests, source, expect=names, tree=PLANTED, added=(*PLANTED, "src/cand.mjs")
    )

    results = found(facts)
    assert results["wrong"] == results["alias"] == "failed"
    assert results["nothing planted"] == "passed"
