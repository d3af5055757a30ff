"""Values and functions on their way to the candidate and back, in suites as others write them."""

from __future__ import annotations

from support.isolation import found, isolated, uses

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


STATE = """
ITEMS = [1]
def items(): return list(ITEMS)
def keep(values): keep.values = values
def kept(): return sorted(keep.values)
def sort(values): values.sort()
"""
LASTING = """
import cand, pytest
ITEMS = cand.items()
MINE = [1]
cand.keep(MINE)
SORTED = [2, 1]
cand.keep(SORTED)
@pytest.fixture(scope="module")
def items(): return cand.items()
@pytest.fixture(scope="module")
def mine(): mine = [1]; cand.keep(mine); return mine
def test_first(items, mine): assert items == ITEMS == [1]
def test_result_of_the_file(): ITEMS.append(2); assert cand.items() == [1]
def test_result_of_a_fixture(items): items.append(2); assert cand.items() == [1]
def test_argument_of_the_file(): MINE.append(2); assert cand.kept() != [1, 2]
def test_argument_of_a_fixture(mine): mine.append(2); assert cand.kept() == [1]
def test_changed_by_the_candidate(): cand.sort(SORTED); assert SORTED == [1, 2]
def test_last(items): assert cand.items() == [1]
"""


def test_what_a_file_or_fixture_got_is_watched_in_every_test():
    facts = isolated(LASTING, STATE, expect=("test_none",))

    assert {name: test["codes"] for name, test in uses(facts).items()} == {
        "test_first": [],
        "test_result_of_the_file": ["result-changed"],
        "test_result_of_a_fixture": ["result-changed"],
        "test_argument_of_the_file": ["argument-changed"],
        "test_argument_of_a_fixture": ["argument-changed"],
        "test_changed_by_the_candidate": [],
        "test_last": [],
    }
