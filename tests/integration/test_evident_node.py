"""Mode `tamper-evident` of the node-test grader: what it accepts, detects and can't detect."""

import pytest
from support.grading import GRADERS, grade, outcomes
from support.jail import runtime

from assay.api import Facts, GraderRole, Reason, TestOutcome, Trust
from assay_graders.evident.changed import MAX_SOURCE_BYTES
from assay_graders.evident.grading import ALWAYS, NEEDED
from assay_graders.evident.node import NodeLanguage
from assay_graders.node_test import NodeTestOptions

FIXTURE = {
    "src/calc.mjs": "export function mul(a, b) {\n  return a + b;\n}\n",
    "tests/calc.test.mjs": "import assert from 'node:assert/strict';\n"
    "import { test } from 'node:test';\nimport { mul } from '../src/calc.mjs';\n"
    "test('mul', () => { assert.equal(mul(2, 3), 6); });\n",
}
HIDDEN = """
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { mul } from "/workspace/src/calc.mjs";

test("small", () => { assert.equal(mul(2, 5), 10); });
describe("larger", () => {
  it("numbers", async (t) => {
    assert.deepEqual([mul(7, 3)], [21]);
    await t.test("part", () => { assert.ok(mul(1, 3) === 3); });
  });
  it("none", () => assert.equal(mul(9, 0), 0));
});
"""
EXPECT = ("small", "larger > numbers", "larger > numbers > part", "larger > none")
RIGHT = "export function mul(a, b) {\n  return a * b;\n}\n"


def grade_calc(calc: str, *, more: dict[str, str] | None = None, hidden: str = HIDDEN) -> Facts:
    if "node" in runtime().unavailable:
        pytest.skip(runtime().unavailable["node"])
    options = NodeTestOptions(
        ("h.test.mjs",),
        tuple(f"h.test.mjs > {name}" for name in EXPECT),
        hidden=True,
        roots=("src",),
        mode="tamper-evident",
    )
    return grade(
        GRADERS["node-test"],
        options,
        {**FIXTURE, "src/calc.mjs": calc, **(more or {})},
        hidden={"h.test.mjs": hidden},
        fixture=FIXTURE,
        role=GraderRole.HIDDEN,
    )


def test_an_honest_candidate_passes_with_every_guard_in_force():
    # The one module needs at once what is new in the other.
    builds = "import { Base } from './new.mjs';\nclass More extends Base {}\n"
    new = "export class Base { mul(a, b) { return a * b; } }\n"
    facts = grade_calc(
        builds + "export const mul = (a, b) => new More().mul(a, b);\n",
        more={"src/new.mjs": new},
    )

    assert (facts.passed, facts.trust, facts.codes) == (True, Trust.TAMPER_EVIDENT, ())
    assert set(facts.layers_held) == {*ALWAYS, *NEEDED, *NodeLanguage.guards}


def test_visible_tests_are_taken_from_the_fixture_and_import_the_candidate():
    if "node" in runtime().unavailable:
        pytest.skip(runtime().unavailable["node"])
    options = NodeTestOptions(
        ("tests/calc.test.mjs",),
        ("tests/calc.test.mjs > mul",),
        roots=("src",),
        mode="tamper-evident",
    )

    facts = grade(
        GRADERS["node-test"], options, {**FIXTURE, "src/calc.mjs": RIGHT}, fixture=FIXTURE
    )

    assert (facts.passed, facts.trust) == (True, Trust.TAMPER_EVIDENT)


def test_where_the_fixture_fails_nothing_changed_modules_are_emptied():
    if "node" in runtime().unavailable:
        pytest.skip(runtime().unavailable["node"])
    options = NodeTestOptions(
        ("tests/calc.test.mjs",),
        ("tests/calc.test.mjs > mul",),
        roots=("src",),
        mode="tamper-evident",
    )
    fixture = {**FIXTURE, "src/calc.mjs": RIGHT}

    facts = grade(
        GRADERS["node-test"], options, {**FIXTURE, "src/calc.mjs": f"{RIGHT}//\n"}, fixture=fixture
    )

    assert (facts.passed, facts.trust, facts.codes) == (True, Trust.TAMPER_EVIDENT, ())


@pytest.mark.parametrize("calc", [RIGHT, FIXTURE["src/calc.mjs"]], ids=["right", "wrong"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("large", "//" + "x" * MAX_SOURCE_BYTES),
        ("deep", "`${" * 50_000),
        ("blank", "`" + "\n" * 500_000),
        ("folder", None),
    ],
)
def test_no_file_of_a_candidate_keeps_it_from_a_verdict(calc: str, name: str, more: str | None):
    """What can't be looked into costs trust, and only that."""
    added = {f"src/{name}.mjs": more} if more else {f"src/{name}.mjs/a.mjs": RIGHT}
    facts = grade_calc(calc, more=added)
    assert (facts.completed, facts.passed) == (True, calc == RIGHT)
    if facts.passed and name == "large":
        assert (facts.trust, facts.codes) == (Trust.UNGUARDED, ("lacks-re-break",))
    options = NodeTestOptions(
        ("tests/calc.test.mjs",),
        ("tests/calc.test.mjs > mul",),
        roots=("src",),
        mode="tamper-evident",
    )
    tree = {**FIXTURE, "src/calc.mjs": calc, **added}
    facts = grade(GRADERS["node-test"], options, tree, fixture=FIXTURE)
    assert (facts.completed, facts.passed) == (True, calc == RIGHT)


NO_ASSERTIONS = """
import assert from "node:assert/strict";
for (const name of Object.keys(assert)) {
  if (typeof assert[name] === "function") try { assert[name] = () => {}; } catch {}
}
export function mul(a, b) { return a + b; }
"""
READS_THE_TESTS = """
import { readFileSync } from "node:fs";
const wanted = new Map();
const text = readFileSync("/hidden/h.test.mjs", "utf8");
for (const [, a, b, value] of text.matchAll(/mul\\((\\d+), (\\d+)\\)\\]?(?:,| ===) \\[?(\\d+)/g)) {
  wanted.set(`${a} ${b}`, Number(value));
}
export const mul = (a, b) => wanted.get(`${a} ${b}`);
"""
DETECTED = {
    "no assertions": (NO_ASSERTIONS, {"canary-passed", "re-break-passed"}),
    "reads the expected values": (READS_THE_TESTS, {"canary-passed"}),
}


@pytest.mark.parametrize("attack", DETECTED)
def test_a_forged_pass_shows(attack: str):
    code, codes = DETECTED[attack]

    facts = grade_calc(code)

    assert set(outcomes(facts).values()) == {TestOutcome.PASSED}
    assert facts.reasons == {Reason.TAMPERING_DETECTED}
    assert {code for code in facts.codes if not code.startswith("lacks-")} == codes
    assert facts.trust is Trust.UNGUARDED


# Reads what is expected, and believes only what divides back: not stopped in one process.
VERIFIES = READS_THE_TESTS.replace(
    "wanted.set(", "if (Number(b) === 0 ? value === '0' : value / b == a) wanted.set("
).replace("wanted.get(`${a} ${b}`)", "wanted.get(`${a} ${b}`) ?? -1")


def test_a_forger_that_checks_before_it_believes_is_not_stopped():
    facts = grade_calc(VERIFIES)

    assert (facts.passed, facts.trust) == (True, Trust.TAMPER_EVIDENT)


def test_tests_that_can_not_be_read_for_certain_lose_the_label():
    unclear = HIDDEN.replace('test("small",', 'for (const name of ["small"]) test(name,')
    unclear += 'await import("/workspace/src/" + "calc.mjs");\n'

    facts = grade_calc(RIGHT, hidden=unclear)

    assert facts.passed
    assert facts.trust is Trust.UNGUARDED
    lacking = ("canary", "module-origins", "shuffled-order")
    assert facts.codes == tuple(f"lacks-{guard}" for guard in lacking)
