"""What surrounds jailed code: its variables, homes, seed, clock and network, and nobody else's."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import pytest
from support.cli import assay
from support.grading import grade
from support.jail import python, runtime, sandbox, session, store
from support.tiny import FIXED, add_candidate, make_suite, write_tree

from assay.api import Network, Profile, RelPath, RuntimeUnavailable, Task, TestOutcome
from assay.builtin.copier import CopyCopier
from assay.builtin.hasher import TreeHasher
from assay.host import Components
from assay.plan import lacking
from assay.plugins import Registry
from assay.suites import open_suite
from assay.surroundings import surroundings
from assay_graders.pytest_grader import PytestGrader, PytestOptions
from assay_graders.unittest_grader import UnittestGrader, UnittestOptions
from assay_sandbox.faketime import with_tried_library

CALLER = {
    "ASSAY_CANARY": "s3cr3t",
    "HOME": "/s3cr3t",
    "XDG_CONFIG_HOME": "/s3cr3t",
    "PYTHONPATH": "/s3cr3t",
    "GIT_DIR": "/s3cr3t",
    "GIT_AUTHOR_NAME": "s3cr3t",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.s3cr3t",
    "GIT_CONFIG_VALUE_0": "s3cr3t",
    "TZ": "Asia/Tokyo",
}
CLOCK = "2001-02-03T04:05:06Z"
SECONDS = 981173106

LOOK = """
import json, os, site, subprocess, sys, sysconfig, time
home = os.environ["HOME"]
packages = sysconfig.get_path("purelib", "posix_user")
os.makedirs(packages)
for name in ("usercustomize", "users_own"):
    with open(f"{packages}/{name}.py", "w") as file:
        file.write("print('user site')")
os.makedirs(f"{home}/.config/git")
for name in (".gitconfig", ".config/git/config"):
    with open(f"{home}/{name}", "w") as file:
        file.write("[core]\\n\\tpager = s3cr3t\\n")
found = subprocess.run(["git", "config", "--list", "--show-scope"], capture_output=True, text=True)
imports = subprocess.run(
    [sys.executable, "-c", "import users_own"], capture_output=True, text=True, cwd="/"
)
everything = dict(os.environ), open("/proc/self/environ").read()
for pid in os.listdir("/proc"):
    for name in ("environ", "cmdline"):
        try:
            everything += (open(f"/proc/{pid}/{name}").read(),)
        except (OSError, UnicodeError):
            pass
print(json.dumps({
    "places": sorted(v for k, v in os.environ.items() if k in ("HOME", "TMPDIR") or "XDG" in k),
    "private": oct(os.stat(home).st_mode & 0o777), "owner": os.stat(home).st_uid == os.getuid(),
    "user_site": site.ENABLE_USER_SITE, "git": [found.returncode, found.stdout, found.stderr],
    "imports": [imports.returncode, imports.stdout], "hour": time.localtime(0).tm_hour,
    "git_names": sorted(name for name in os.environ if name.startswith("GIT_")),
    "everything": repr(everything),
}))
"""


@pytest.mark.parametrize("profile", list(Profile))
def test_nothing_of_the_caller_or_of_a_user_is_in_any_jail(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CALLER.items():
        monkeypatch.setenv(name, value)
    with session(profile=profile) as jail:
        outcome = jail.run(python(LOOK))
    assert outcome.exit_code == 0, outcome.stderr.text()
    seen = json.loads(outcome.stdout.text())
    assert "s3cr3t" not in seen.pop("everything")
    home = "/tmp/home"
    inner = sorted(f"{home}/{name}" for name in (".cache", ".config", ".local/share"))
    assert seen == {
        "places": ["/tmp", home, *inner, f"{home}/.local/state"],
        "private": "0o700",
        "owner": True,
        "user_site": False,
        "git": [0, "", ""],
        "imports": [1, ""],
        "hour": 0,
        "git_names": ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"],
    }


HASH = int(
    subprocess.run(
        [sys.executable, "-c", "print(hash('a'))"],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        check=True,
    ).stdout
)
HASHING = "def hashed():\n    return hash('a')\n"
NOT_YET = "def hashed():\n    return None\n"
CASES = (
    "import unittest\nfrom hashing import hashed\n\n\nclass T(unittest.TestCase):\n"
    f"    def test_it(self):\n        self.assertEqual(hashed(), {HASH})\n"
)
FUNCTIONS = f"from hashing import hashed\n\n\ndef test_it():\n    assert hashed() == {HASH}\n"


@pytest.mark.parametrize(
    ("runner", "mode"),
    [
        *(("pytest", mode) for mode in ("unguarded", "tamper-evident", "isolated")),
        ("unittest", "unguarded"),
    ],
)
def test_sets_have_one_order_under_every_python_runner(runner: str, mode: str) -> None:
    grader: Any = PytestGrader() if runner == "pytest" else UnittestGrader()
    options: Any = PytestOptions if runner == "pytest" else UnittestOptions
    test = "test_it.py::test_it" if runner == "pytest" else "test_it.T.test_it"
    facts = grade(
        grader,
        options(tests=("test_it.py",), expect=(test,), hidden=True, roots=(".",), mode=mode),
        {"hashing.py": HASHING},
        fixture={"hashing.py": NOT_YET},
        hidden={"test_it.py": FUNCTIONS if runner == "pytest" else CASES},
    )
    assert [result.outcome for result in facts.tests] == [TestOutcome.PASSED], facts


def test_the_task_s_clock_is_told_to_every_process_and_its_seed_too() -> None:
    task = Task("t", "c", "p", RelPath("fixture"), env={"OWN": "x"}, seed=7, clock=CLOCK)
    told = surroundings(task, runtime())
    assert told == {
        "OWN": "x",
        "PYTHONHASHSEED": "7",
        "ASSAY_SEED": "7",
        "SOURCE_DATE_EPOCH": str(SECONDS),
        "ASSAY_CLOCK": CLOCK,
    }
    assert "ASSAY_CLOCK" not in surroundings(attrs.evolve(task, clock=None), runtime())


TIMES = """
import json, subprocess, time, datetime
date = subprocess.run(["date", "+%s"], capture_output=True, check=True).stdout
before = time.monotonic()
time.sleep(0.01)
print(json.dumps([time.time(), int(date), datetime.datetime.now().year, time.monotonic() - before]))
"""


def faked(**changes: Any) -> Task:
    task = Task("t", "c", "p", RelPath("fixture"), clock=CLOCK, runtime={"faketime": True})
    return attrs.evolve(task, **changes)


def test_the_time_is_faked_where_the_runtime_says_so_or_the_library_is_named_as_unfit() -> None:
    prepared = sandbox().runtime({"faketime": True}, store(), TreeHasher())
    problem = prepared.unavailable.get("libfaketime")
    assert ("libfaketime" in prepared.tools) is (problem is None)
    if problem is not None:
        assert problem.endswith(("install your system's package libfaketime", "a newer one"))
        return
    assert prepared.digest != runtime().digest
    assert prepared.versions["libfaketime"].startswith("sha256:")
    told = surroundings(faked(), prepared)
    for profile in Profile:
        with session(profile=profile, runtime=prepared, env=told) as jail:
            outcome = jail.run(python(TIMES))
        assert outcome.exit_code == 0, outcome.stderr.text()
        now, date, year, slept = json.loads(outcome.stdout.text())
        assert SECONDS <= now < SECONDS + 60
        assert SECONDS <= date < SECONDS + 60
        assert (year, slept >= 0.01) == (2001, True)


def test_the_library_is_told_the_task_s_time_and_leaves_the_monotonic_clock_alone() -> None:
    prepared = attrs.evolve(runtime(), tools={"libfaketime": "/usr/lib/libfaketime.so.1"})
    told = surroundings(faked(), prepared)
    assert (told["FAKETIME"], told["LD_PRELOAD"]) == (
        "@2001-02-03 04:05:06",
        "/usr/lib/libfaketime.so.1",
    )
    assert told["FAKETIME_DONT_FAKE_MONOTONIC"] == told["DONT_FAKE_MONOTONIC"] == "1"
    assert "LD_PRELOAD" not in surroundings(faked(runtime={}), prepared)
    assert "LD_PRELOAD" not in surroundings(faked(clock=None), prepared)


@pytest.mark.parametrize("library", ["/usr/lib/no-such-library.so", "/usr/bin/env"])
def test_a_library_that_does_not_fake_the_time_is_not_used(library: str) -> None:
    claimed = attrs.evolve(runtime(), tools={**runtime().tools, "libfaketime": library})
    tried = with_tried_library(claimed, sandbox().open)
    assert tried.tools == runtime().tools
    assert "does not work with this Python" in tried.unavailable["libfaketime"]


def test_without_the_library_there_is_no_real_time_instead() -> None:
    lacking = attrs.evolve(runtime(), unavailable={"libfaketime": "not found; install it"})
    with pytest.raises(RuntimeUnavailable, match="libfaketime: not found; install it"):
        surroundings(faked(), lacking)


PORT = 8765
HOLD = f"""
import os, socket
turn = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_TURN"]))
with socket.create_server(("127.0.0.1", {PORT})) as server:
    turn.sendall(b"\\0\\0\\0\\5bound")
    assert turn.recv(1) == b""
    with socket.create_connection(("127.0.0.1", {PORT})), server.accept()[0]:
        print("reached its own")
"""


def test_two_jails_bind_one_port_at_once() -> None:
    with contextlib.ExitStack() as opened:
        jails = [opened.enter_context(session(network=Network.LOOPBACK)) for _ in range(2)]
        held = [jail.start(python(HOLD), channels=("turn",)) for jail in jails]
        deadline = time.monotonic() + 30
        for process in held:
            assert process.channels["turn"].recv(16, deadline) == b"bound"
        for process in held:
            process.channels["turn"].close()
        answers = [process.wait(deadline).stdout.text() for process in held]
    assert answers == ["reached its own\n"] * 2


SURROUNDED = f"""
import os, socket, subprocess, sys, time

def add(a, b):
    print(dict(os.environ), open("/proc/self/environ").read())
    assert os.environ["OWN"] == "x"
    assert os.environ["ASSAY_SEED"] == os.environ["PYTHONHASHSEED"] == "7"
    assert (os.environ["ASSAY_CLOCK"], os.environ["SOURCE_DATE_EPOCH"]) == ("{CLOCK}", "{SECONDS}")
    with socket.create_server(("127.0.0.1", {PORT})):
        time.sleep(0.3)
    return a + b
"""


def test_whole_trials_side_by_side_and_nothing_of_the_caller_in_the_run(tmp_path: Path) -> None:
    suite = make_suite(
        tmp_path / "suite", env={"OWN": "x"}, seed=7, clock=CLOCK, network="loopback"
    )
    for name in ("one", "two"):
        add_candidate(
            suite / "add",
            name,
            {"src/calc.py": f"# {name}\n{SURROUNDED}"},
            expect={"verdict": "accepted"},
        )
    run = tmp_path / "run"
    environment = {name: value for name, value in CALLER.items() if name != "HOME"}
    done = assay("run", suite, "--output", run, "-j", "2", env=environment)
    assert done.code == 0, done.out + done.err
    kept = b"".join(path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file())
    assert b"s3cr3t" not in kept + (done.out + done.err).encode()


def test_a_task_that_can_not_be_told_its_time_is_not_run(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", clock=CLOCK, runtime={"faketime": True})
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED}, expect={"verdict": "accepted"})
    benchmark = open_suite(str(suite)).task("add")
    components = Components(Registry(), TreeHasher(), CopyCopier(), sandbox(), store())
    lacking_it = attrs.evolve(runtime(), unavailable={"libfaketime": "not found; install it"})
    assert lacking(benchmark, components, lacking_it) == "libfaketime: not found; install it"


GIT_CHECK = """
import subprocess, sys

def git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), (arguments, done)
    return done.stdout.strip()

assert git("rev-parse", "HEAD", "main") == "COMMIT\\nCOMMIT"
assert git("log", "--all", "--format=%an %ae %cn %at %ct %s") == (
    "assay assay@example.invalid assay SECONDS SECONDS Fixture"
)
assert git("rev-parse", "--show-toplevel") == "/workspace"
assert git("symbolic-ref", "HEAD") == "refs/heads/main"
assert git("status", "--porcelain") in ("", "M src/calc.py")
assert git("fsck", "--strict", "--full") == ""
assert git("stash", "list") == git("reflog") == git("remote") == ""
git("hook", "run", "pre-commit", "--ignore-missing")
sys.path.insert(0, "/workspace/src")
import calc
assert calc.add(2, 3) == 5
"""
SETTINGS = (
    "[apply]\n\twhitespace = error\n[commit]\n\tgpgsign = true\n[core]\n\thooksPath = hooks\n"
    "[init]\n\tdefaultBranch = other\n[user]\n\tname = s3cr3t\n[safe]\n\tdirectory = /nowhere\n"
)
COMMIT = "38b56e1b445f8db58788bdd2c5b5b73e61136c55"


def test_a_repository_of_one_commit_that_no_candidate_can_change(tmp_path: Path) -> None:
    check = GIT_CHECK.replace("COMMIT", COMMIT).replace("SECONDS", str(SECONDS))
    argv = ["python", "-B", "/hidden/check.py"]
    suite = make_suite(
        tmp_path / "suite",
        clock=CLOCK,
        git={"init": True},
        graders=[
            {
                "id": "hidden",
                "use": "command",
                "role": "hidden",
                "options": {"argv": argv, "hidden": True, "cwd": "src"},
            }
        ],
    )
    write_tree(suite / "add" / "hidden", {"check.py": check})
    gold = {"src/calc.py": FIXED}
    add_candidate(suite / "add", "gold", gold, expect={"verdict": "accepted"})
    add_candidate(
        suite / "add",
        "hook",
        {**gold, ".git/hooks/pre-commit": "#!/bin/sh\n"},
        expect={"verdict": "rejected", "required": ["ignored-path-changed"]},
    )
    run = tmp_path / "run"
    settings = write_tree(tmp_path / "settings", {"git/config": SETTINGS, "hooks/pre-commit": "x"})
    caller = {name: value for name, value in CALLER.items() if name.startswith("GIT_")}
    caller |= {"XDG_CONFIG_HOME": str(settings), "GIT_CONFIG_GLOBAL": str(settings / "git/config")}
    done = assay("run", suite, "--output", run, env=caller)
    assert done.code == 0, done.out + done.err + kept(run)
    report = json.loads((run / "report.json").read_bytes())
    gold_trial = report["results"]["trials"][0]
    assert gold_trial["changes"] == [{"op": "modified", "path": "src/calc.py"}]
    assert ".git" not in json.dumps(gold_trial)


def kept(run: Path) -> str:
    """All of a run's artifacts as text."""
    return "".join(path.read_text() for path in run.glob("artifacts/**/*") if path.is_file())
