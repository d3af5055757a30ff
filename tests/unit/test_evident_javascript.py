"""JavaScript test files: read by their tokens, arranged, and changed so that tests must fail."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_graders.evident.js_assertions import failing
from assay_graders.evident.js_modules import (
    broken,
    come_from,
    is_module,
    lacking,
    redirected,
    shim,
    specifiers,
)
from assay_graders.evident.js_tests import named_tests, shuffled
from assay_graders.evident.js_tokens import Tokens, Unreadable
from assay_graders.evident.literals import Source


def texts(text: str) -> list[str]:
    return [token.text for token in Tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a / b / c", ["a", "/", "b", "/", "c"]),
        ("return /[/]'/g.test(x)", ["return", "/[/]'/g", ".", "test", "(", "x", ")"]),
        ("f(/'/)", ["f", "(", "/'/", ")"]),
        ("`a${b + `}'`}c` + 'd'", ["`a${b + `}'`}c`", "+", "'d'"]),
        ("x // '\n/* ` */ y", ["x", "y"]),
        ("#!/usr/bin/env node '\n1", ["1"]),
        ("a?.b ?? 1.5e3n", ["a", "?.", "b", "??", "1.5e3n"]),
        ("'\\'' + \"'\"", ["'\\''", "+", '"\'"']),
    ],
)
def test_tokens_are_told_apart(text: str, expected: list[str]):
    assert texts(text) == expected


@pytest.mark.parametrize("text", ["(", "(]", "'", "`${", "`a", "}", "'\n'"])
def test_what_is_unclear_is_refused(text: str):
    with pytest.raises(Unreadable):
        Tokens(text)


@given(st.text(alphabet="ab1 '\"`/\\${}()[].,;=>\n*", max_size=40))
def test_any_text_is_read_or_refused(text: str):
    try:
        tokens = Tokens(text)
    except Unreadable:
        return
    ends = [0, *(token.end for token in tokens)]
    assert all(token.start >= end for token, end in zip(tokens, ends, strict=False))


def test_templates_may_be_nested_any_number_deep():
    """A candidate writes such a file in a moment; reading it must not end the grading."""
    deep = 100_000
    text = "`a${" * deep + "{}" + "}b`" * deep
    assert texts(f"f({text})") == ["f", "(", text, ")"]
    for cut in (deep, 3 * deep, len(text) - 1):
        with pytest.raises(Unreadable):
            Tokens(text[:cut])
    assert not is_module(text[:-1])


@pytest.mark.parametrize(
    "text",
    [
        "`" + "\n" * 300_000,
        "a/*" * 100_000,
        "export {" * 20_000 + "}" * 20_000,
        "import './b.js';" * 100_000,
    ],
    ids=["blank-lines", "comments", "nested-exports", "imports"],
)
def test_hostile_text_takes_linear_time(text: str):
    """With quadratic time each of these would take longer than a run of all tests."""
    shim("/workspace/a.js", text)
    lacking("export const a = 1;", text)
    changed = redirected(text, "a.js", {"b.js": "c.js"})
    assert changed == text.replace("./b.js", "./c.js")


TESTS = """
import { describe, it, test } from "node:test";
const helper = () => 1;
test("one", () => {});
// about the second
await test('two', async () => { await 1; });
test("three", { timeout: 5 }, function () {});

describe("suite", () => {
  beforeEach(() => {});
  it("a", () => {});
  it("b", () => {});
});
const later = 1;
test(`four`, () => {});
test(`${later}`, () => {});
if (later) { test("five", () => {}); }
"""


def test_tests_are_found_with_the_suites_around_them():
    names = [names for names, _ in named_tests(Tokens(TESTS))]

    assert names == [("one",), ("two",), ("three",), ("suite", "a"), ("suite", "b"), ("four",)]


def test_neighbours_change_places_and_nothing_else_does():
    tokens = Tokens(TESTS)
    orders = set()
    for seed in range(40):
        text, is_whole = shuffled(TESTS, tokens, random.Random(seed))

        assert not is_whole
        assert sorted(text) == sorted(TESTS)
        assert text.index("const helper") < text.index('"one"') < text.index("const later")
        assert text.index("beforeEach") < min(text.index('"a"'), text.index('"b"'))
        assert text.index("const later") < text.index("`four`")
        orders.add(tuple(names for names, _ in named_tests(Tokens(text))))
    assert len(orders) > 10


def test_a_file_of_tests_alone_is_in_order_as_a_whole():
    text = "import 'x';\ntest('a', () => {});\nsuite('s', () => { it('b', () => 1) });\n"

    found, is_whole = shuffled(text, Tokens(text), random.Random(0))

    assert is_whole
    assert sorted(found) == sorted(text)


def test_a_semicolon_that_starts_a_line_stays_there():
    text = "test('a', () => {});\ntest('b', () => {})\n;[1].sort()\n"

    for seed in range(5):
        assert shuffled(text, Tokens(text), random.Random(seed))[0].endswith("\n;[1].sort()\n")


@pytest.mark.parametrize(
    "more",
    [
        "for (const n of [1, 2]) test(`${n}`, () => {});",
        "if (1) test('only', () => {});",
        "[1, 2].forEach((n) => it(`${n}`, () => {}));",
        "suite('t', () => { for (const n of [1]) { it(`${n}`, () => {}); } });",
    ],
)
def test_tests_that_a_loop_makes_keep_the_files_own_order(more: str):
    text = f"test('a', async (t) => {{ await t.test('b', () => {{}}); }});\n{more}\n"

    for seed in range(5):
        found, is_whole = shuffled(text, Tokens(text), random.Random(seed))
        assert not is_whole
        assert more.split(" test(")[0] in found
        assert ") test('a'" not in found


BODIES = {
    "number": "() => { assert.equal(f(), 5); }",
    "number at the left": "() => { assert.strictEqual(5, f()); }",
    "arrow": "() => assert.equal(f(), 5)",
    "function": "function () { assert.deepEqual([f()], [5]); }",
    "object": "() => { assert.deepStrictEqual({ a: f(), 'b': [-1] }, { a: 5, 'b': [-1] }); }",
    "text": "() => { assert.equal(String(f()) + 'é', '5é', 'message'); }",
    "letters": "() => { assert.equal('a' + f(), 'a5'); }",
    "expression": "() => { const n = 4; assert.equal(f(), n + 1); }",
    "large": "() => { assert.equal(f() + 2 ** 53, 2 ** 53 + 5); }",
    "truth": "() => { assert.equal(f() > 1, true); }",
    "nothing": "() => { assert.equal(undefined, null); assert.equal(f.x, undefined); }",
    "loose": "() => { assert.equal(f(), '5'); }",
    "ok": "() => { assert.ok(f() === 5); }",
    "plain": "() => { assert(f() === 5, 'message'); }",
    "throws": "() => { assert.throws(() => { throw new Error(f()); }, /5/); }",
    "rejects": "async () => { await assert.rejects(async () => { throw f(); }); }",
    "not equal": "() => { assert.notEqual(f(), 6); }",
    "bare": "() => { strictEqual(f(), 5); }",
    "branch": "() => { if (f() === 5) return; assert.equal(f(), 6); }",
    "loop": "() => { for (const n of []) assert.equal(n, 1); assert.equal(f(), 5); }",
    "helper": "() => check(f())",
    "nothing at all": "() => {}",
    "decimal": "() => { assert.equal(f() / 2, 2.5); assert.equal(0 * f(), 0); }",
}


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    return found


def run_all(node: str, folder: Path, sources: list[str]) -> list[bool]:
    """Whether each test body fails."""
    script = folder / "all.cjs"
    script.write_text(
        "const assert = require('node:assert'); const { strictEqual } = assert;\n"
        "const check = (value) => assert.equal(value, 5); const f = () => 5;\n"
        "(async () => { const failed = [];\n"
        f"for (const text of {json.dumps(sources)}) {{\n"
        "  let body; const test = (name, given) => { body = given; }; eval(text);\n"
        "  try { await body(); failed.push(false); } catch { failed.push(true); } }\n"
        "console.log(JSON.stringify(failed)); })();\n",
        encoding="utf-8",
    )
    done = subprocess.run([node, str(script)], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_a_changed_test_fails_where_the_real_one_passes(node: str, tmp_path: Path):
    real, changed, names = [], [], []
    for name, body in BODIES.items():
        text = f"test('a', {body});\n"
        tokens = Tokens(text)
        ((_, test),) = named_tests(tokens)
        for seed in range(8):
            splices = failing(tokens, test, random.Random(seed), random.Random(seed + 1))
            assert splices is not None, name
            real.append(text)
            changed.append(Source(text.encode()).spliced(list(splices)).decode())
            names.append(name)

    passed, failed = run_all(node, tmp_path, real), run_all(node, tmp_path, changed)

    assert not any(passed)
    assert [c for c, is_failed in zip(changed, failed, strict=True) if not is_failed] == []
    assert len(set(changed)) > 2 * len(BODIES)


ORIGINAL = "export const kept = 1;\nconst inner = 2;\nexport { inner as shown };\n"


def test_a_module_is_broken_by_running_another_and_lacking_its_names(node: str, tmp_path: Path):
    candidate = "globalThis.ran = 1;\nexport function fresh() {}\nexport const kept = 2;\n"
    candidate += "export default 3;\n"
    (tmp_path / "copy.mjs").write_text(candidate)
    (tmp_path / "calc.mjs").write_text(broken(lacking(ORIGINAL, candidate), "copy.mjs"))
    (tmp_path / "added.mjs").write_text(lacking(None, candidate))
    (tmp_path / "shim.mjs").write_text(shim(str(tmp_path / "copy.mjs"), candidate))
    (tmp_path / "common.cjs").write_text(lacking(None, "exports.a = 1;"))
    (tmp_path / "again.cjs").write_text(broken("'use strict'; exports.b = 1;", "common.cjs"))
    (tmp_path / "main.mjs").write_text(
        "import * as calc from './calc.mjs'; import * as added from './added.mjs';\n"
        "import again from './again.cjs'; import * as other from './shim.mjs';\n"
        "import common from './common.cjs';\n"
        "const fails = [() => calc.fresh(), () => added.kept + 1, () => new calc.default(),\n"
        "  () => common.a].map((f) => { try { f(); return false; } catch { return true; } });\n"
        "console.log(JSON.stringify([calc.kept, calc.shown, ran, again.b, other.default, fails]));"
    )

    done = subprocess.run([node, tmp_path / "main.mjs"], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == [1, 2, 1, 1, 3, [True] * 4]


def test_what_a_file_imports_is_read_or_unclear():
    text = "import a, { b } from 'node:test';\nimport './x.mjs';\nexport * from \"/y.mjs\";\n"

    assert specifiers(text + "await import('./z.mjs'); a.require('no'); const from = 1;") == [
        *("node:test", "./x.mjs", "/y.mjs", "./z.mjs"),
    ]
    assert specifiers("import(name)") is None
    assert specifiers("(") is None


@pytest.mark.parametrize(
    ("names", "is_known"),
    [
        (["node:test", "./helper.mjs", "/workspace/src/calc.mjs"], True),
        (["calc"], False),
        (["#calc"], False),
        (["../../etc/x.mjs"], False),
        (["/workspace/src/absent.mjs"], False),
        (None, False),
    ],
)
def test_only_files_known_by_their_place_count_as_known(names: list[str] | None, is_known: bool):
    places = frozenset({"/hidden/t/helper.mjs"})
    graded = frozenset({"/workspace/src/calc.mjs"})

    assert come_from("/hidden/t/a.mjs", names, places, graded) is is_known


def test_a_copy_imports_the_copies_beside_it():
    text = "import a from './a.mjs';\nconst b = require(\"../b.cjs\");\n"
    text += "import '../src/c.mjs'; './a.mjs';"

    assert redirected(text, "src/x.mjs", {"src/a.mjs": "a-1.mjs", "b.cjs": "b-2.cjs"}) == (
        "import a from './a-1.mjs';\nconst b = require(\"../b-2.cjs\");\n"
        "import '../src/c.mjs'; './a.mjs';"
    )
