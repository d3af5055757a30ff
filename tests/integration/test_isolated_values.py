"""Values and functions on their way to the candidate and back, in suites as others write them."""

from __future__ import annotations

from support.isolation import found, isolated

SOURCE = """
def with_nan(): return (1, float("nan"))
def marked(text):
    def mark(function):
        function.text = text
        return function
    return mark
def mark_of(function): return function.text
"""
TESTS = """
import cand
def test_items_of_a_tuple_that_can_not_be_copied():
    found = cand.with_nan()
    assert len(found) == 2 and found[0] == 1
def test_item_that_can_not_be_sent(): assert cand.with_nan()[1] != 0
def test_what_a_decorator_wrote_on_a_function():
    @cand.marked("red")
    def function(): pass
    assert cand.mark_of(function) == "red"
"""


def test_values_and_functions():
    names = ("items_of_a_tuple_that_can_not_be_copied", "item_that_can_not_be_sent")
    names += ("what_a_decorator_wrote_on_a_function",)

    facts = isolated(TESTS, SOURCE, expect=tuple(f"test_{name}" for name in names))

    assert list(found(facts).values()) == ["passed", "failed", "passed"]
    assert facts.codes == ("value",)
