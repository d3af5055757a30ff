"""Whose fault it is: what the host or the suite lacks is never the candidate's."""

import struct
from pathlib import Path

import attrs
import pytest
from support.grading import GRADERS, grade
from support.jail import runtime

from assay.api import Facts, GraderUnfit, Limits, OutcomeStatus, TestOutcome
from assay_graders.command import CommandOptions
from assay_graders.node_test import NodeTestOptions
from assay_graders.pytest_grader import PytestOptions

TREE = {"src/calc.py": "def two(): return 2\n", "data/in.txt": "2\n"}
PASSING = "def test_a(): pass\n"


def test_a_hidden_test_file_that_the_suite_lacks_is_unfit():
    options = PytestOptions(("absent.py",), ("absent.py::test_a",), hidden=True)

    with pytest.raises(GraderUnfit, match=r"tests\[0\] is not in the task"):
        grade(GRADERS["pytest"], options, TREE, hidden={"other.py": PASSING})


def test_a_visible_test_file_that_nobody_deleted_is_unfit():
    options = PytestOptions(("absent.py",), ("absent.py::test_a",))

    with pytest.raises(GraderUnfit, match=r"tests\[0\] is not in the task"):
        grade(GRADERS["pytest"], options, TREE)


def test_a_missing_tool_is_unfit_and_says_why():
    lacking = attrs.evolve(runtime(), tools={}, unavailable={"node": "not found on this host"})
    options = NodeTestOptions(("a.mjs",), ("a.mjs > a",))

    with pytest.raises(GraderUnfit, match="no node: not found on this host"):
        grade(GRADERS["node-test"], options, {"a.mjs": ""}, runtime_changes=lacking)


def test_a_runtime_without_pytest_is_unfit():
    lacking = attrs.evolve(runtime(), tools={"python": "/runtime/python/bin/python3"})
    options = PytestOptions(("t.py",), ("t.py::test_a",))

    with pytest.raises(GraderUnfit, match="test runner does not start"):
        grade(GRADERS["pytest"], options, {"t.py": PASSING}, runtime_changes=lacking)


def test_options_with_a_problem_are_unfit():
    with pytest.raises(GraderUnfit, match="nan, call_seconds and test_seconds belong to mode isol"):
        grade(
            GRADERS["pytest"],
            PytestOptions(("t.py",), ("t.py::test_a",), nan=True),
            {"t.py": PASSING},
        )


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        (CommandOptions(("python", "-c", "print(1)")), True),
        (CommandOptions(("python", "-c", "raise SystemExit(3)")), False),
        (CommandOptions(("python", "-c", "import os; os.abort()")), False),
        (CommandOptions(("/bin/sh", "-c", "test -f in.txt"), cwd="data"), True),
        (CommandOptions(("/bin/sh", "-c", "test -d /hidden")), False),
    ],
    ids=["exits-0", "exits-3", "dies", "cwd", "no-hidden-files"],
)
def test_a_command_passes_iff_it_exits_with_0(options: CommandOptions, passed: bool):
    facts = grade(GRADERS["command"], options, TREE)

    assert [test.id for test in facts.tests] == ["tests"]
    assert facts.passed is passed


def test_a_command_may_read_hidden_files():
    options = CommandOptions(("/bin/sh", "-c", "cat /hidden/note"), hidden=True)

    facts = grade(GRADERS["command"], options, TREE, hidden={"note": "hello\n"})

    assert facts.passed
    assert facts.outcome is not None
    assert facts.outcome.stdout.text() == "hello\n"


def test_a_command_at_its_limit_is_not_completed():
    options = CommandOptions(("python", "-c", "while True: pass"))

    facts = grade(GRADERS["command"], options, TREE, limits=Limits(wall=0.5))

    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.TIMED_OUT
    assert not facts.completed
    assert not facts.passed


def test_a_command_that_the_runtime_lacks_is_unfit():
    with pytest.raises(GraderUnfit, match="the runtime has no ruby"):
        grade(GRADERS["command"], CommandOptions(("ruby", "-v")), TREE)


@pytest.mark.parametrize(
    "options",
    [
        CommandOptions(("/workspace/absent",)),
        CommandOptions(("./absent",)),
        CommandOptions(("data/in.txt",)),
        CommandOptions(("/workspace/data/in.txt/x",)),
        CommandOptions(("python", "-V"), cwd="absent"),
        CommandOptions(("python", "-V"), cwd="data/in.txt"),
    ],
    ids=lambda options: " ".join((*options.argv, options.cwd)),
)
def test_what_a_candidate_can_take_from_its_tree_is_its_own_fault(options: CommandOptions):
    facts = grade(GRADERS["command"], options, TREE)

    assert facts.tests[0].outcome is TestOutcome.FAILED
    assert facts.outcome is not None
    assert facts.outcome.exit_code == 127


_TRUE = Path("/bin/true").read_bytes()
_SEGMENTS = struct.unpack_from("<Q", _TRUE, 32)[0]
_INTERPRETER = next(
    at
    for at in range(_SEGMENTS, len(_TRUE), 56)
    if struct.unpack_from("<I", _TRUE, at)[0] == 3  # PT_INTERP
)
_SCRIPT = "data/run"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"#!/workspace/data/run\n", id="starts-itself"),
        pytest.param(b"#!/absent\n", id="absent-interpreter"),
        pytest.param(b"#!/tmp\n", id="folder-as-interpreter"),
        pytest.param(b"#!" + b"/" * 5000, id="long-interpreter"),
        pytest.param(b"text", id="text"),
        pytest.param(_TRUE[:100], id="cut-program"),
        pytest.param(
            _TRUE[:_INTERPRETER]
            + struct.pack("<IIQQQQQ", 3, 4, 0, 0, 0, 1 << 40, 1 << 40)
            + _TRUE[_INTERPRETER + 48 :],
            id="huge-interpreter-name",
        ),
    ],
)
def test_a_program_of_the_tree_that_the_kernel_refuses_is_the_candidates_fault(content: bytes):
    facts = grade(
        GRADERS["command"], CommandOptions((f"/workspace/{_SCRIPT}",)), {**TREE, _SCRIPT: content}
    )

    assert facts.completed
    assert [test.outcome for test in facts.tests] == [TestOutcome.FAILED]


@pytest.mark.parametrize("program", ["/bin/absent", "/hidden/absent"])
def test_a_program_outside_the_tree_is_the_suites_fault(program: str):
    options = CommandOptions((program,), hidden=True)

    with pytest.raises(GraderUnfit, match="can't be started in this runtime: ENOENT"):
        grade(GRADERS["command"], options, TREE, hidden={"note": ""})


@pytest.mark.parametrize("mode", ["isolated", "tamper-evident", "unguarded"])
@pytest.mark.parametrize("place", ["src/calc.py", "calc.py"])
def test_code_at_the_usual_places_is_found_without_being_named(mode: str, place: str):
    def graded(code: str) -> Facts:
        options = PytestOptions(("t.py",), ("t.py::test_a",), hidden=True, mode=mode)
        return grade(
            GRADERS["pytest"],
            options,
            {place: code},
            hidden={"t.py": "import calc\ndef test_a(): assert calc.double(21) == 42\n"},
            fixture={place: "def double(n): return n\n"},
        )

    right, wrong = graded("def double(n): return 2 * n\n"), graded("def double(n): return 3 * n\n")
    assert right.passed
    assert right.trust.value == mode
    assert not wrong.passed
