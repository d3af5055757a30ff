"""Candidates that leave out what a test demands, or let the tests' process do things for them."""

from __future__ import annotations

from support.isolation import found, isolated

SOURCE = """
import re
def value(x): raise StopIteration
class Spy:
    def difference(self, other):
        self.other = other
        return set()
    def __iter__(self): return iter(self.other)
def spy(): return Spy()
def raises(kind, f):
    try: f()
    except kind: return True
    return False
def swallow(f):
    try: f()
    except BaseException: pass
    return 4
async def wait(f):
    try: await f()
    except BaseException: pass
    return 4
class Context:
    @property
    def value(self): raise ValueError("no")
    def __enter__(self): return self
    def __exit__(self, *_): return True
    async def __aenter__(self): return self
    async def __aexit__(self, *_): return True
def steal(text, function):
    kind = type(text)
    made = kind("{0.__globals__[EXPECTED]}")
    token = object.__getattribute__(made, "_assay_token")
    return int(kind._assay_owner.read(token, "format")(function))
def reads(opening):
    text = opening("/hidden/test_h.py").read()
    return int(re.search("SECRET = ([0-9]+)", text)[1])
def inspects(get, function): return int(re.search("return ([0-9]+)", get(function))[1])
"""

TESTS = """
import asyncio, cand, inspect, pytest, unittest
EXPECTED = 77
SECRET = 91
class Text(str): pass
def secret(): return 55
def check(context): assert context.value == 4

def test_stop():
    for got, want in zip(map(cand.value, [1, 2]), [3, 4]): assert got == want
def test_set(): unittest.TestCase().assertSetEqual(cand.spy(), {1, 2})
def test_group():
    def back(): raise ExceptionGroup("x", [AssertionError("y")])
    assert cand.swallow(back) == 4
def test_fail_in_coroutine():
    async def back(): pytest.fail("x")
    assert asyncio.run(cand.wait(back)) == 4
def test_skip():
    def back(): raise unittest.SkipTest("x")
    assert cand.swallow(back) == 4
def test_group_in_coroutine():
    async def inner(): assert 1 == 2
    async def back():
        async with asyncio.TaskGroup() as group: group.create_task(inner())
    assert asyncio.run(cand.wait(back)) == 4
def test_with():
    with cand.Context() as context:
        assert context.value == 4
def test_with_helper():
    with cand.Context() as context:
        check(context)
def test_with_more():
    with cand.Context() as context:
        found = context.value
        assert found == 4
def test_with_group():
    with cand.Context():
        raise ExceptionGroup("x", [AssertionError("y")])
def test_async_with():
    async def run():
        async with cand.Context() as context:
            found = context.value
            assert found == 4
    asyncio.run(run())
def test_function():
    seen = []
    def back():
        seen.append(1)
        assert cand.Context().value == 4
    cand.swallow(back)
    assert seen == [1]
def test_format(): assert cand.steal(Text("x"), secret) == EXPECTED
def test_open(): assert cand.reads(open) == SECRET
def test_inspect(): assert cand.inspects(inspect.getsource, secret) == 55

def test_right_with():
    with cand.Context():
        raise ValueError("x")
    with cand.Context():
        1 / 0
    with cand.Context():
        raise KeyError("x")
        assert False, "not reached"
    assert cand.swallow(lambda: {}["a"]) == 4
def test_right_stop():
    with pytest.raises(StopIteration): cand.value(1)
    assert cand.raises(StopIteration, lambda: cand.value(1))
def test_right_function():
    calls = []
    def flaky():
        calls.append(1)
        if len(calls) < 2: raise ValueError("x")
        assert len(calls) == 2
    assert cand.swallow(flaky) == 4
"""
RIGHT = ("test_right_with", "test_right_stop", "test_right_function")
WRONG = tuple(
    line.partition("(")[0].removeprefix("def ")
    for line in TESTS.splitlines()
    if line.startswith("def test_") and not line.startswith("def test_right")
)


def test_what_a_test_demands_is_not_left_out_and_nothing_is_read_for_the_candidate() -> None:
    facts = isolated(TESTS, SOURCE, expect=(*WRONG, *RIGHT))
    assert found(facts) == dict.fromkeys(WRONG, "failed") | dict.fromkeys(RIGHT, "passed")
