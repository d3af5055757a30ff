"""Coroutines of the candidate's, awaited by tests: they run over there, beside the test's own."""

from __future__ import annotations

from support.isolation import found, isolated, uses

from assay.api import Limits, OutcomeStatus

SOURCE = """
import asyncio, contextlib, inspect

async def add(a, b): return a + b
async def after(seconds, value):
    await asyncio.sleep(seconds)
    return value
async def broken(kind): raise kind("no")
class Own(ValueError): pass
async def own(): raise Own("mine")
log = []
async def cancelled_well():
    log.append("start")
    try: await asyncio.sleep(60)
    except asyncio.CancelledError:
        log.append("cancelled")
        await asyncio.sleep(0.01)
        log.append("cleaned")
        raise
async def stubborn():
    try: await asyncio.sleep(60)
    except asyncio.CancelledError: return "kept on"
class Box:
    def __init__(self): self.event = asyncio.Event(); self.value = None; self.open = False
    async def wait(self): await self.event.wait(); return self.value
    async def put(self, value): self.value = value; self.event.set()
    async def __aenter__(self): self.open = True; return self
    async def __aexit__(self, *error): self.open = False; return error[0] is KeyError
    def __aiter__(self): self.left = 3; return self
    async def __anext__(self):
        self.left -= 1
        if self.left < 0: raise StopAsyncIteration
        return self.left
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "awaited"
async def count(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
@contextlib.asynccontextmanager
async def opened(value):
    log.append("open")
    try: yield [value]
    finally: log.append("closed")
async def call(function, *args): return await function(*args) + 1
async def both(function): return await asyncio.gather(function(1), function(2))
async def tasks(function): return await asyncio.create_task(function(5))
async def is_async(function): return inspect.iscoroutinefunction(function), function.__name__
async def give_up(function):
    try: return await asyncio.wait_for(function(), 0.02)
    except asyncio.TimeoutError: return "gave up"
async def hold(function):
    try: await function()
    except Exception as error: return type(error).__name__
def background(values):
    async def work():
        await asyncio.sleep(0.01)
        values.append(1)
        log.append("worked")
    return asyncio.get_running_loop().create_task(work())
def in_loop(): return asyncio.get_running_loop() is not None
def runs(function): return asyncio.run(call(function, 1))
def logged():
    found = log[:]
    log.clear()
    return found
async def fill(values):
    await asyncio.sleep(0)
    values.append(1)
"""

TESTS = """
import asyncio, unittest
import cand, pytest

def test_run(): assert asyncio.run(cand.add(1, b=2)) == 3
def test_is_coroutine():
    made = cand.add(1, 2)
    assert asyncio.iscoroutine(made) and made.__name__ == "add"
    made.close()
def test_errors():
    with pytest.raises(KeyError): asyncio.run(cand.broken(KeyError))
    with pytest.raises(cand.Own, match="mine"): asyncio.run(cand.own())
def test_concurrent():
    async def main():
        box = cand.Box()
        return await asyncio.gather(box.wait(), cand.after(0.01, 2), cand.after(0, 3), box.put(1))
    assert asyncio.run(main()) == [1, 2, 3, None]
def test_own_tasks_go_on():
    async def main():
        box = cand.Box()
        async def tick():
            for _ in range(5): await asyncio.sleep(0.01)
            await box.put("done")
        ticking = asyncio.create_task(tick())
        assert await box.wait() == "done"
        await ticking
    asyncio.run(main())
def test_timeout():
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(cand.cancelled_well(), 0.05)
        assert cand.logged() == ["start", "cancelled", "cleaned"]
        task = asyncio.create_task(cand.cancelled_well())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
        assert cand.logged() == ["start", "cancelled", "cleaned"]
        task = asyncio.create_task(cand.stubborn())
        await asyncio.sleep(0.02)
        task.cancel()
        assert await task == "kept on"
    asyncio.run(main())
def test_context():
    async def main():
        box = cand.Box()
        async with box as entered:
            assert entered is box and box.open
        assert box.open is False
        async with box: raise KeyError
        with pytest.raises(IndexError):
            async with box: raise IndexError
        async with cand.opened(4) as values: assert values == [4]
        assert cand.logged() == ["open", "closed"]
    asyncio.run(main())
def test_iteration():
    async def main():
        assert [i async for i in cand.count(3)] == [0, 1, 2]
        assert [i async for i in cand.Box()] == [2, 1, 0]
        items = cand.count(9)
        assert await anext(items) == 0 and await items.asend(None) == 1
        await items.aclose()
        assert [i async for i in items] == []
        assert await cand.Box() == "awaited"
    asyncio.run(main())
def test_callbacks():
    async def double(x):
        "Twice."
        await asyncio.sleep(0.01)
        return await cand.add(x, x)
    async def main():
        assert await cand.call(double, 2) == 5
        assert await cand.both(double) == [2, 4]
        assert await cand.tasks(double) == 10
        assert await cand.is_async(double) == (True, "double")
        ended = []
        async def sleepy():
            try: await asyncio.sleep(60)
            finally: ended.append(1)
        assert await cand.give_up(sleepy) == "gave up"
        while not ended: await asyncio.sleep(0.01)
        assert await cand.call(lambda x: cand.after(0, x), 7) == 8
    asyncio.run(main())
def test_callback_without_a_loop():
    async def double(x): return await cand.add(x, x)
    assert cand.runs(double) == 3
def test_background():
    async def main():
        task = cand.background([])
        while not (found := cand.logged()): await asyncio.sleep(0.01)
        assert found == ["worked"]
        assert cand.in_loop()
    asyncio.run(main())
    with pytest.raises(RuntimeError): cand.in_loop()
def test_write_back():
    values = []
    asyncio.run(cand.fill(values))
    assert values == [1]

class TestCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.box = cand.Box()
        self.task = asyncio.create_task(self.box.wait())
    async def test_case(self):
        await self.box.put(4)
        self.assertEqual(await self.task, 4)
"""
NAMES = tuple(
    part.partition("(")[0] for part in TESTS.partition("class TestCase")[0].split("\ndef ")[1:]
)


def test_coroutines_are_awaited_over_the_wire():
    facts = isolated(TESTS, SOURCE, expect=(*NAMES, "TestCase::test_case"))
    assert found(facts) == dict.fromkeys((*NAMES, "TestCase::test_case"), "passed"), facts
    assert facts.codes == ()


HOSTILE = """
import asyncio, os, sys
async def never(): await asyncio.Event().wait()
async def spins():
    while True: await asyncio.sleep(0)
async def blocks():
    while True: pass
async def dies(): os._exit(0)
async def leaves(): sys.exit(0)
async def cancels(): raise asyncio.CancelledError
async def always():
    class Always:
        def __eq__(self, other): return True
    return Always()
async def swallows(function):
    try: await function()
    except BaseException: pass
def worker():
    import gc
    return next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
def twice():
    turns = worker()._turns
    turn = turns.turn
    def forged(ms):
        ended, busy = turn(ms)
        return ended + ended, busy
    turns.turn = forged
async def answered(): return 4
def early():
    turns = worker()._turns
    turns.turn = lambda ms: ([[n, "ok", 4, []] for n in range(1, 9)], True)
def unknown(): worker()._turns.turn = lambda ms: ([[99, "ok", 4, []]], True)
def shapeless(): worker()._turns.turn = lambda ms: ({}, [])
def written():
    worker()._turns.turn = lambda ms: ([[1, "ok", 4, [["x", 1]]]], True)
def strange(): worker()._turns.turn = lambda ms: ([[1, "cancelled", 4]], True)
def foreign():
    turns = worker()._turns
    def turn(ms):
        turns._ask("start-back", 1)
        return [], True
    turns.turn = turn
"""
ENDLESS = """
import asyncio
import cand
def test_never(): assert asyncio.run(cand.never()) == 4
def test_spins(): assert asyncio.run(cand.spins()) == 4
def test_blocks(): assert asyncio.run(cand.blocks()) == 4
"""
ATTACKS = """
import asyncio
import cand, pytest
def test_dies(): assert asyncio.run(cand.dies()) == 4
def test_leaves(): assert asyncio.run(cand.leaves()) == 4
def test_always(): assert asyncio.run(cand.always()) == 4
def test_cancels():
    async def main():
        async with asyncio.TaskGroup() as group:
            async def check(): assert await cand.cancels() == 4
            group.create_task(check())
    asyncio.run(main())
def test_swallows():
    async def check(): assert 1 == 2
    asyncio.run(cand.swallows(check))
def run(break_it):
    break_it()
    async def main(): return await asyncio.gather(cand.answered(), cand.never())
    asyncio.run(asyncio.wait_for(main(), 0.1))
def test_twice(): run(cand.twice)
def test_early(): run(cand.early)
def test_unknown(): run(cand.unknown)
def test_shapeless(): run(cand.shapeless)
def test_written(): run(cand.written)
def test_strange(): run(cand.strange)
def test_foreign(): run(cand.foreign)
def test_gathered():
    async def main():
        await asyncio.gather(cand.dies(), cand.always(), return_exceptions=True)
    asyncio.run(main())
def test_after(): assert asyncio.run(cand.answered()) == 4
async def test_no_plugin(): assert await cand.answered() == 4
"""
BREACHES = [
    f"test_{name}"
    for name in ("twice", "early", "unknown", "shapeless", "written", "strange", "foreign")
]
ATTACKED = tuple(
    part.partition("(")[0].removeprefix("def ")
    for part in ATTACKS.split("\n")
    if part.startswith("def test_")
)


def test_hostile_coroutines_pass_nothing():
    facts = isolated(ATTACKS, HOSTILE, expect=(*ATTACKED, "test_no_plugin"))
    outcomes = found(facts)
    assert outcomes.pop("test_after") == "passed", facts
    assert set(outcomes.values()) == {"failed"}, facts
    codes = {name: test["codes"] for name, test in uses(facts).items()}
    assert {name for name in codes if codes[name] == ["lost-protocol"]} == set(BREACHES)
    assert codes["test_gathered"] == ["lost-died"]


def test_coroutines_that_never_end_end_with_their_test():
    facts = isolated(
        ENDLESS + "def test_after(): assert asyncio.run(cand.answered()) == 4\n",
        HOSTILE,
        expect=("test_never", "test_spins", "test_blocks", "test_after"),
        test_seconds=1.5,
    )
    assert found(facts) == {
        "test_never": "failed",
        "test_spins": "failed",
        "test_blocks": "failed",
        "test_after": "passed",
    }
    assert {code.partition("-")[0] for code in facts.codes} == {"lost"}


def test_a_coroutine_that_never_ends_ends_with_the_limits():
    tests = "import asyncio, cand\ndef test_a(): asyncio.run(cand.never())\n"
    facts = isolated(tests, HOSTILE, expect=("test_a",), limits=Limits(wall=1.5))
    assert facts.outcome is not None
    assert facts.outcome.status is OutcomeStatus.TIMED_OUT
    assert not facts.passed
