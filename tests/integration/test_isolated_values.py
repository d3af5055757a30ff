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


LOGS = """
import logging
LOG = logging.getLogger("cand.part")
OWN = logging.getLogger("own")
OWN.setLevel(logging.DEBUG)
def say(level, text, *args): LOG.log(level, text, *args)
def say_own(): OWN.debug("detail")
def odd(): LOG.warning("%d", "x")
"""
LOG_TESTS = """
import logging, unittest
import cand
class Case(unittest.TestCase):
    def test_waits(self):
        with self.assertLogs("cand", "INFO") as caught: cand.say(20, "n is %d", 4)
        self.assertEqual(caught.output, ["INFO:cand.part:n is 4"])
        self.assertEqual(caught.records[0].levelno, 20)
    def test_waits_in_vain(self):
        with self.assertLogs("cand", "ERROR"): cand.say(20, "n")
    def test_waits_for_none(self):
        with self.assertNoLogs("cand", "INFO"): cand.say(10, "n")
    def test_waits_for_none_in_vain(self):
        with self.assertNoLogs("cand", "INFO"): cand.say(40, "n")
    def test_odd(self):
        with self.assertLogs(): cand.odd()
def test_levels(caplog):
    cand.say(10, "a"); cand.say(20, "b"); cand.say(30, "c"); cand.say_own()
    assert [r.getMessage() for r in caplog.records] == ["c", "detail"]
    caplog.set_level(logging.INFO)
    cand.say(10, "a"); cand.say(20, "b")
    assert caplog.records[-1].getMessage() == "b" and len(caplog.records) == 3
def test_none(caplog):
    cand.say(40, "a")
    assert not caplog.records
def test_disabled(caplog):
    logging.disable(logging.CRITICAL)
    try: cand.say(40, "a")
    finally: logging.disable(logging.NOTSET)
    assert not caplog.records
"""


def test_log_records_reach_the_tests():
    failing = ("waits_in_vain", "waits_for_none_in_vain")
    cases = ("waits", "waits_for_none", "odd", *failing)
    names = (*(f"Case::test_{case}" for case in cases), "test_levels", "test_none", "test_disabled")

    facts = isolated(LOG_TESTS, LOGS, expect=names)

    failed = {name for name, got in found(facts).items() if got != "passed"}
    private = {test.id: test.message_private for test in facts.tests}
    assert failed == {"test_none", *(f"Case::test_{case}" for case in failing)}, private
    assert "logs" in uses(facts)["test_levels"]["features"]
