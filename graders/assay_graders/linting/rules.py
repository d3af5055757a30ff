"""The rules for Python test files, as one table; docs/reference/lint-rules.md shows each."""

from __future__ import annotations

from assay.api import LintRule, LintSeverity

__all__ = ["PYTHON_RULES"]

_HAZARD, _UNSUPPORTED, _WEAK = (
    LintSeverity.HAZARD,
    LintSeverity.UNSUPPORTED,
    LintSeverity.WEAK,
)

PYTHON_RULES: tuple[LintRule, ...] = (
    LintRule(
        "proves-nothing",
        _HAZARD,
        "Every expected test is weak, so a candidate that does nothing useful may pass.",
        "Add tests that compare results with values written in the test.",
    ),
    LintRule(
        "star-import",
        _HAZARD,
        "The candidate decides which names the test gets; isolated mode takes the fixture's alone.",
        "Import the names that the test needs, one by one.",
    ),
    LintRule(
        "evaluates-text",
        _HAZARD,
        "Text of the candidate's could run in the process that judges; isolated mode refuses it.",
        "Compare the text itself, or parse it with ast.literal_eval or json.",
    ),
    LintRule(
        "unpickles",
        _HAZARD,
        "Bytes of the candidate's could run in the process that judges; isolated mode refuses it.",
        "Have the candidate return plain values, or compare bytes.",
    ),
    LintRule(
        "unreadable-file",
        _UNSUPPORTED,
        "The test file is missing, too large or no valid Python, so none of its tests can pass.",
        "Give the task a test file that Python can read.",
    ),
    LintRule(
        "missing-test",
        _UNSUPPORTED,
        "An expected test is not in the file, so no candidate can be accepted.",
        "Correct the id in expect, or add the test.",
    ),
    LintRule(
        "unlisted-test",
        _UNSUPPORTED,
        "A test that expect doesn't list counts as unknown, so no candidate can be accepted.",
        "List the test in expect, or remove it.",
    ),
    LintRule(
        "skipped-test",
        _UNSUPPORTED,
        "A skipped or expectedly failing test is no pass, so no candidate can be accepted.",
        "Remove the mark, or the test.",
    ),
    LintRule(
        "lacks-fixture",
        _UNSUPPORTED,
        "No conftest.py and no plugin is read, so the test ends in an error.",
        "Define the fixture in the test file, or import it from a helper beside it.",
    ),
    LintRule(
        "subclass",
        _UNSUPPORTED,
        "A class of the test can't inherit from one that lives in another process.",
        "Put the subclass into the fixture, or test through functions.",
    ),
    LintRule(
        "copies-object",
        _UNSUPPORTED,
        "Objects of the candidate can't be copied or pickled from another process.",
        "Compare attributes, or have a function of the candidate make the copy.",
    ),
    LintRule(
        "time-zone",
        _UNSUPPORTED,
        "The standard library takes no object of another process as a time zone.",
        "Call the methods of the time zone directly, or compare plain values.",
    ),
    LintRule(
        "starts-programs",
        _UNSUPPORTED,
        "A program started by a test runs beside the test, where no candidate code is.",
        "Judge programs with the stdio grader.",
    ),
    LintRule(
        "threads",
        _UNSUPPORTED,
        "Calls of the candidate from another thread of the test are refused.",
        "Call from the test's own thread, or start the threads in the fixture's code.",
    ),
    LintRule(
        "patches-library",
        _UNSUPPORTED,
        "What the test replaces in Python's library is not replaced in the candidate's process.",
        "Pass what is to be replaced as an argument.",
    ),
    LintRule(
        "freezes-clock",
        _UNSUPPORTED,
        "The candidate reads the clock of another process, where time goes on.",
        "Name clock in the grader's forward, or pass the time as an argument.",
    ),
    LintRule(
        "seeds-random",
        _UNSUPPORTED,
        "The candidate draws its random numbers in another process, which the seed doesn't reach.",
        "Name random in the grader's forward, or pass a source of random numbers as an argument.",
    ),
    LintRule(
        "process-state",
        _UNSUPPORTED,
        "Environment, folder, arguments and streams of the test's process are not the candidate's.",
        "Name what can be forwarded in the grader's forward, or pass it as an argument.",
    ),
    LintRule(
        "replaces-attribute",
        _UNSUPPORTED,
        "Setting attributes of the candidate's modules, classes or objects is refused by default.",
        "Pass what is to be replaced as an argument, or let the grader go to max_level 5.",
    ),
    LintRule(
        "weak-reference",
        _UNSUPPORTED,
        "How long an object of the candidate lives can't be seen from another process.",
        "Have a function of the candidate tell what the test needs to know.",
    ),
    LintRule(
        "no-assertion",
        _WEAK,
        "The test passes whatever the candidate returns, as long as nothing is raised.",
        "Assert a value.",
    ),
    LintRule(
        "raises-only",
        _WEAK,
        "A candidate that always raises this exception passes.",
        "Also assert the result for an input that is legal.",
    ),
    LintRule(
        "truth-only",
        _WEAK,
        "Any result that is true, or has the type, passes; so does one that never changes.",
        "Compare with the value that is expected, or also assert a case that gives the opposite.",
    ),
    LintRule(
        "differs-only",
        _WEAK,
        "Any result passes but the one that the test names.",
        "Compare with the value that is expected.",
    ),
    LintRule(
        "round-trip",
        _WEAK,
        "A candidate that remembers its argument, or changes nothing, passes.",
        "Also compare what is in between with a value written in the test.",
    ),
    LintRule(
        "input-as-oracle",
        _WEAK,
        "The expected value is made from an argument that the candidate can change, say empty.",
        "Make the expected value before the call, from a copy or as a literal.",
    ),
    LintRule(
        "candidate-as-oracle",
        _WEAK,
        "Both sides of the comparison come from the candidate, which can make them agree.",
        "Compare with a value written in the test.",
    ),
    LintRule(
        "candidate-equality",
        _WEAK,
        "Objects without state are all equal; isolated mode refuses this by default.",
        "Compare attributes with values, and assert that different objects are not equal.",
    ),
    LintRule(
        "identity",
        _WEAK,
        "A candidate whose constants are all one object passes.",
        "Compare with ==, or also assert that another constant is not the result.",
    ),
)
"""By severity, gravest first."""
