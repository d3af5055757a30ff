"""What a test does to its own process reaches the candidate's where the task declares it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolation import found, isolated
from support.jail import sandbox, store
from support.wheels import put_wheel, wheel_bytes

from assay.api import GraderUnfit, Runtime
from assay.builtin.hasher import TreeHasher

SOURCE = """
import datetime, os, random, sys, time
from datetime import date, datetime as when
LOADED = os.environ.get("LOADED", "not set")
def arguments(): return sys.argv[1:]
def lines(): return sys.stdin.read().splitlines()
def line(): return sys.stdin.readline()
def raw(): return sys.stdin.buffer.read()
def asked(): return input("Name? ") + "!"
def variable(name): return os.environ.get(name)
def variables(): return sorted(os.environ)
def folder(): return os.getcwd()
def draw(): return random.random()
def now(): return when.now()
def utc(): return datetime.datetime.now(datetime.timezone.utc)
def today(): return date.today()
def stamp(): return time.time(), time.gmtime()[:3], time.strftime("%Y")
def later(day): return day + datetime.timedelta(days=1)
def elapsed(start): return (datetime.datetime.now() - start).total_seconds()
"""

TESTS = """
import io, os, random, sys
import cand, pytest

def test_argv(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "-x", "y"])
    assert cand.arguments() == ["-x", "y"]
    sys.argv.append("z")
    assert cand.arguments() == ["-x", "y", "z"]
def test_argv_after(): assert cand.arguments() == []

def test_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a\\nb\\nc\\n"))
    assert cand.line() == "a\\n"
    assert cand.lines() == ["b", "c"]
    sys.stdin.seek(2)
    assert cand.lines() == ["b", "c"]
def test_stdin_bytes(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\\xff\\x00x")))
    assert cand.raw() == b"\\xff\\x00x"
def test_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("Ann\\n"))
    assert cand.asked() == "Ann!"
    assert capsys.readouterr().out == "Name? "
    monkeypatch.setattr("builtins.input", lambda prompt: prompt + "Bob")
    assert cand.asked() == "Name? Bob!"

def test_environ(monkeypatch):
    assert cand.variable("HIDE") is None
    monkeypatch.setenv("HIDE", "a=\\udcff\\n")
    assert cand.variable("HIDE") == "a=\\udcff\\n"
    os.environ["HIDE"] = "b"
    monkeypatch.delenv("HOME")
    assert (cand.variable("HIDE"), cand.variable("HOME")) == ("b", None)
def test_environ_after():
    assert cand.variable("HOME") == os.environ["HOME"]
    assert "PYTEST_CURRENT_TEST" in os.environ
    assert not [name for name in cand.variables() if name.startswith(("PYTEST", "ASSAY"))]
    assert cand.variable("HIDE") is None

def test_folder(monkeypatch):
    monkeypatch.chdir("/workspace/data")
    assert cand.folder() == "/workspace/data"
def test_folder_after(): assert cand.folder() == "/workspace"

def test_random():
    random.seed(7)
    random.random()
    first = cand.draw()
    random.seed(7)
    assert [random.random(), random.random()][1] == first
    state = random.getstate()
    values = cand.draw(), cand.draw()
    random.setstate(state)
    assert (cand.draw(), cand.draw()) == values
"""
NAMES = tuple(part.partition("(")[0] for part in TESTS.split("def ")[1:])


def test_what_a_task_declares_reaches_the_candidate():
    facts = isolated(
        TESTS,
        SOURCE,
        expect=NAMES,
        tree={"data/a.txt": "a"},
        forward=("argv", "stdin", "environ", "cwd", "random"),
    )
    assert found(facts) == dict.fromkeys(NAMES, "passed"), facts
    assert facts.codes == ()


def test_what_a_task_does_not_declare_makes_the_grader_unfit_even_if_it_is_swallowed():
    tests = """
import sys
import cand
def test_a():
    sys.argv = ["prog"]
    try: cand.draw()
    except BaseException: pass
"""
    with pytest.raises(GraderUnfit, match="can't be isolated: process-state"):
        isolated(tests, SOURCE, expect=("test_a",))


def test_a_candidate_that_changes_the_arguments_makes_no_grader_unfit():
    source = "def read(argv): argv.append('x')\ndef after(): return 1\n"
    tests = """
import sys, cand
def test_a():
    cand.read(sys.argv)
    assert cand.after() == 1
"""
    facts = isolated(tests, source, expect=("test_a",))
    assert found(facts) == {"test_a": "failed"}
    assert facts.codes == ("process-state",)


def test_a_fresh_process_gets_what_the_test_wants():
    tests = """
import os, sys, cand, pytest
sys.argv = ["prog", "given"]
os.environ["LOADED"] = "at load"
def test_dies(): cand.leave()
def test_after():
    assert (cand.arguments(), cand.variable("LOADED")) == (["given"], "at load")
    assert cand.LOADED == "at load"
"""
    source = SOURCE + "def leave(): os._exit(0)\n"
    facts = isolated(tests, source, expect=("test_dies", "test_after"), forward=("argv", "environ"))
    assert found(facts) == {"test_dies": "failed", "test_after": "passed"}, facts


def test_a_candidate_that_can_not_follow_fails_and_does_not_make_the_grader_unfit():
    source = "import os\ndef refuse(_): raise OSError('no')\nos.chdir = refuse\n" + SOURCE
    tests = """
import cand
def test_a(monkeypatch):
    monkeypatch.chdir("/workspace/data")
    try: cand.folder()
    except BaseException: pass
"""
    facts = isolated(tests, source, expect=("test_a",), tree={"data/a.txt": "a"}, forward=("cwd",))
    assert found(facts) == {"test_a": "failed"}
    assert facts.codes == ("forward",)


CLOCK = """
import datetime, time
import cand, pytest
from freezegun import freeze_time

@freeze_time("2020-02-29 12:00:00")
def test_frozen():
    assert cand.now() == datetime.datetime(2020, 2, 29, 12)
    assert cand.today() == datetime.date(2020, 2, 29)
    assert cand.utc() == datetime.datetime(2020, 2, 29, 12, tzinfo=datetime.timezone.utc)
    assert cand.stamp() == (time.time(), (2020, 2, 29), "2020")
    assert cand.later(datetime.date.today()) == datetime.date(2020, 3, 1)
    assert cand.later(datetime.datetime.now()) == datetime.datetime(2020, 3, 1, 12)
def test_moves():
    with freeze_time("2020-01-01") as frozen:
        assert cand.today() == datetime.date(2020, 1, 1)
        frozen.move_to("2021-01-01")
        assert cand.today() == datetime.date(2021, 1, 1)
        frozen.tick(86400)
        assert cand.today() == datetime.date(2021, 1, 2)
        with freeze_time("1999-01-01", tz_offset=-4):
            assert cand.now() == datetime.datetime(1998, 12, 31, 20)
        assert cand.today() == datetime.date(2021, 1, 2)
def test_ticks():
    with freeze_time("2020-01-01", tick=True):
        assert 0 <= cand.elapsed(datetime.datetime(2020, 1, 1)) < 60
def test_over():
    assert abs((cand.now() - datetime.datetime.now()).total_seconds()) < 60
    assert type(cand.now()) is datetime.datetime
"""
CLOCK_NAMES = ("test_frozen", "test_moves", "test_ticks", "test_over")


@pytest.fixture(scope="module")
def with_freezegun() -> Iterator[Runtime]:
    """A runtime with the installed freezegun, from wheels made of its files."""
    probe = [sys.executable, "-I", "-m", "pip", "--version"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("pip is not installed for this Python")
    with tempfile.TemporaryDirectory(prefix="assay-test-wheels-") as folder:
        Path(folder).chmod(0o711)
        pins = []
        for name, needs in (("freezegun", ["python-dateutil"]), ("python-dateutil", [])):
            found_here = importlib.metadata.distribution(name)
            texts = {
                str(file): file.locate().read_text("utf-8")
                for file in found_here.files or ()
                if file.suffix == ".py"
            }
            put_wheel(
                Path(folder),
                wheel_bytes(
                    texts, name=name.replace("-", "_"), version=found_here.version, needs=needs
                ),
                name=name.replace("-", "_"),
                version=found_here.version,
            )
            pins.append(f"{name}=={found_here.version}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PIP_NO_INDEX", "1")
            patch.setenv("PIP_FIND_LINKS", folder)
            patch.setenv("ASSAY_STORE", str(store().root))
            yield sandbox().runtime({"requirements": pins}, store(), TreeHasher())


def test_a_frozen_clock_reaches_the_candidate(with_freezegun: Runtime):
    facts = isolated(
        CLOCK,
        SOURCE,
        expect=CLOCK_NAMES,
        runtime=with_freezegun,
        requirements=("freezegun",),
        forward=("clock",),
    )
    assert found(facts) == dict.fromkeys(CLOCK_NAMES, "passed"), facts


@pytest.mark.parametrize(("frozen", "forward"), [("", ()), (", auto_tick_seconds=5", ("clock",))])
def test_a_clock_that_is_not_forwarded_makes_the_grader_unfit(with_freezegun, frozen, forward):
    tests = f"""
import cand, freezegun
@freezegun.freeze_time("2020-01-01"{frozen})
def test_a(): cand.today()
"""
    with pytest.raises(GraderUnfit, match="can't be isolated: clock"):
        isolated(
            tests,
            SOURCE,
            expect=("test_a",),
            runtime=with_freezegun,
            requirements=("freezegun",),
            forward=forward,
        )


def test_the_clock_needs_freezegun_in_the_runtime():
    with pytest.raises(GraderUnfit, match="requirements lack freezegun"):
        isolated(CLOCK, SOURCE, expect=CLOCK_NAMES, forward=("clock",))
