"""A declared runtime, from the user's own pip settings to a graded task; no network needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.jail import python, remove_store, runtime, sandbox, session, shell, store
from support.tiny import add_candidate, add_task, make_suite
from support.wheels import PACKAGE, put_wheel, wheel_bytes

from assay import grade, load_benchmark_task
from assay.api import Runtime, RuntimeUnavailable, VerdictStatus, requirements
from assay.builtin.hasher import TreeHasher
from assay.store import Store
from assay_sandbox import downloads
from assay_sandbox.requirements import requirement_files
from assay_sandbox.testtools import SITE_PACKAGES

PINNED = {"requirements": ["Tiny_Pkg==1.0"]}
USES_IT = "import tiny_pkg\n\n\ndef add(a, b):\n    return a + b + tiny_pkg.ANSWER - 42\n"


@pytest.fixture(scope="module", autouse=True)
def _pip() -> None:
    probe = [sys.executable, "-I", "-m", "pip", "--version"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("pip is not installed for this Python")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the jails' user can get into."""
    root = Path(tempfile.mkdtemp(prefix="assay-test-wheels-"))
    root.chmod(0o711)
    yield root
    if (root / "store").exists():
        remove_store(root / "store")
    shutil.rmtree(root)


@pytest.fixture
def wheels(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's pip gets everything from, as the user would say it."""
    put_wheel(place / "wheels", wheel_bytes())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place / "wheels"))
    monkeypatch.setenv("ASSAY_STORE", str(store().root))
    return place / "wheels"


def prepare(spec: dict[str, Any]) -> Runtime:
    """A whole runtime, in the store that all tests share."""
    return sandbox().runtime(spec, store(), TreeHasher())


def files(root: Path, *wanted: str) -> dict[str, bytes]:
    """Only what the requirements bring, by path below site-packages, with a store in `root`."""
    own = Store(root / "store", TreeHasher(), sandbox().capabilities().ids)
    found = requirement_files(requirements(wanted), (), own, TreeHasher())
    return {file.path.removeprefix(f"{SITE_PACKAGES}/"): file.content for file in found}


def unavailable(root: Path, *wanted: str) -> str:
    with pytest.raises(RuntimeUnavailable) as error:
        files(root, *wanted)
    return str(error.value)


def test_a_requirement_is_beside_the_test_tools_and_has_bytecode(
    wheels: Path,
) -> None:
    found = prepare(PINNED)
    assert found.ref != runtime().ref
    assert found.digest != runtime().digest
    with session(runtime=found) as jail:
        outcome = jail.run(
            python(
                "import importlib.metadata as about, os, pytest, tiny_pkg\n"
                "print(tiny_pkg.ANSWER, about.version('tiny-pkg'))\n"
                "up = os.path.dirname\n"
                "print(up(tiny_pkg.__path__[0]) == up(pytest.__path__[0]))\n"
                "print(os.path.exists(tiny_pkg.__cached__))\n"
            )
        )
    assert outcome.stdout.text().split() == ["42", "1.0", "True", "True"], outcome.stderr.text()


def test_lint_finds_the_solution_in_a_required_package(
    place: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = (
        "import tiny_pkg\n\n\ndef add(a, b):\n    correction = tiny_pkg.ANSWER - 42\n"
        "    total = sum((a, b), start=correction)\n    return tiny_pkg.checked(total, 'sum')\n"
    )
    package = {"tiny_pkg/__init__.py": solution.replace("import tiny_pkg", "ANSWER = 42")}
    package["tiny_pkg/__init__.py"] += "\n\ndef checked(total, name):\n    return total\n"
    put_wheel(wheels, wheel_bytes(package, version="2.0"), version="2.0")
    suite = make_suite(place / "suite", runtime={"requirements": ["tiny-pkg==2.0"]})
    expect = {"verdict": "accepted"}
    add_candidate(suite / "add", "gold", {"src/calc.py": solution}, expect=expect)
    ran = assay("lint", suite, "--drive", "--mutants", "0", "--json")
    found = json.loads(ran.out)["findings"]
    details = [item["detail"] for item in found if item["rule"] == "answer-installed"]
    assert details == ["in site-packages/tiny_pkg/__init__.py"]
    assert ran.code == 3


def test_the_second_time_neither_pip_nor_its_source_is_needed(
    wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare(PINNED)
    shutil.rmtree(wheels)
    monkeypatch.setattr(downloads, "_pip", lambda *_: pytest.fail("pip was asked"))
    assert prepare({"requirements": ["tiny-pkg==1.0"]}) == first
    assert prepare({"requirements": []}).ref == runtime().ref


def test_a_damaged_wheel_of_the_store_is_fetched_again(place: Path, wheels: Path) -> None:
    first = files(place, "tiny-pkg==1.0")
    (kept,) = (place / "store").glob("trees*/*/*.whl")
    kept.chmod(0o600)
    kept.write_bytes(wheel_bytes({"tiny_pkg/__init__.py": "ANSWER = 0\n"}))
    assert files(place, "tiny-pkg==1.0") == first


def test_a_note_about_another_tree_is_not_believed(place: Path, wheels: Path) -> None:
    other = wheel_bytes({"tiny_pkg/__init__.py": "ANSWER = 2\n"}, version="2.0")
    put_wheel(wheels, other, version="2.0")
    first = files(place, "tiny-pkg==1.0")
    (note,) = (place / "store/notes").iterdir()
    text = note.read_text()
    assert files(place, "tiny-pkg==2.0") != first
    (second,) = set((place / "store/notes").iterdir()) - {note}
    second.chmod(0o600)
    second.write_text(text)
    assert files(place, "tiny-pkg==2.0")["tiny_pkg/__init__.py"] == b"ANSWER = 2\n"
    assert second.read_text() != text


def test_another_content_is_another_runtime(place: Path, wheels: Path) -> None:
    first = files(place, "tiny-pkg==1.0")
    remove_store(place / "store")
    put_wheel(wheels, wheel_bytes({"tiny_pkg/__init__.py": "ANSWER = 43\n"}))
    assert files(place, "tiny-pkg==1.0") != first


def test_what_can_not_be_had_says_how_to_see_why(place: Path, wheels: Path) -> None:
    before = set(Path(tempfile.gettempdir()).glob("assay-runtime-*"))
    message = unavailable(place, "tiny-pkg==1.0", "no-such-package==3")
    assert "pip download --only-binary :all: --no-deps no-such-package==3 tiny-pkg==1.0" in message
    assert str(place) not in message
    assert set(Path(tempfile.gettempdir()).glob("assay-runtime-*")) == before


def test_a_package_without_a_wheel_is_not_built(place: Path, wheels: Path) -> None:
    mark = place / "executed"
    source = place / "source/evil-1.0"
    source.mkdir(parents=True)
    (source / "setup.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    shutil.make_archive(str(wheels / "evil-1.0"), "gztar", place / "source", "evil-1.0")
    assert "pip can't get evil==1.0 as wheels" in unavailable(place, "evil==1.0")
    assert not mark.exists()


def test_a_hostile_wheel_is_refused_and_not_kept(place: Path, wheels: Path) -> None:
    put_wheel(wheels, wheel_bytes({**PACKAGE, "../../../evil.py": "x"}))
    assert "its wheel holds an unsafe path" in unavailable(place, "tiny-pkg==1.0")
    assert not list((place / "store").glob("trees*/*"))


def test_needs_and_conflicts_are_told_with_both_names(place: Path, wheels: Path) -> None:
    put_wheel(wheels, wheel_bytes(needs=["pytest<2"]))
    conflict = "tiny-pkg==1.0 needs pytest<2, which conflicts with the test tool pytest=="
    assert conflict in unavailable(place, "tiny-pkg==1.0")
    needy = wheel_bytes(version="2.0", needs=["tiny-other>=2"])
    put_wheel(wheels, needy, version="2.0")
    assert "add a version of tiny-other" in unavailable(place, "tiny-pkg==2.0")
    conflict = "pytest==2.0 conflicts with the installed test tool pytest=="
    assert conflict in unavailable(place, "pytest==2.0")
    other = wheel_bytes({"tiny_other.py": "x = 1\n"}, name="tiny_other", version="2.0")
    put_wheel(wheels, other, name="tiny_other", version="2.0")
    both = files(place, "tiny-pkg==2.0", "tiny-other==2.0")
    assert {"tiny_other.py", "tiny_pkg/__init__.py"} < both.keys()


def test_a_test_tool_of_the_installed_version_is_there_already(place: Path, wheels: Path) -> None:
    assert files(place, f"pytest=={pytest.__version__}") == {}


def test_the_users_other_settings_do_not_matter(
    place: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONSTRAINT", str(place / "nothing"))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    monkeypatch.setenv("PYTHONPATH", str(place / "code"))
    (place / "code").mkdir()
    (place / "code/pip.py").write_text("raise SystemExit('not this one')\n")
    assert files(place, "tiny-pkg==1.0")


def test_a_task_that_imports_its_requirement_is_graded(place: Path, wheels: Path) -> None:
    suite = make_suite(place / "suite", runtime=PINNED)
    expect = {"verdict": "accepted", "required": [], "permitted": []}
    add_candidate(suite / "add", "gold", {"src/calc.py": USES_IT}, expect=expect)
    done = assay("check", suite)
    assert done.code == 0, done.out + done.err
    task = load_benchmark_task(suite, "add")
    shutil.rmtree(wheels)
    assert grade(task, {"src/calc.py": USES_IT}).status is VerdictStatus.ACCEPTED


def test_a_run_without_its_requirement_exits_4_with_the_fix(place: Path, wheels: Path) -> None:
    suite = make_suite(place / "suite", runtime={"requirements": ["no-such-package==3"]})
    add_candidate(suite / "add", "gold", {"src/calc.py": USES_IT})
    done = assay("run", suite, "--output", place / "run")
    assert done.code == 4
    assert "pip can't get no-such-package==3" in done.err
    assert not (place / "run").exists()


def test_declared_tools_are_visible_and_part_of_the_digest() -> None:
    found = prepare({"tools": ["sh", "no-such-tool", "python"]})
    assert found.ref == runtime().ref
    assert found.digest != runtime().digest
    assert found.tools["python"] == runtime().tools["python"]
    assert "not found" in found.unavailable["no-such-tool"]
    with session(runtime=found) as jail:
        outcome = jail.run(shell(f"test -x {found.tools['sh']} && echo yes"))
    assert outcome.stdout.text() == "yes\n"


def test_a_task_whose_declared_tool_is_absent_is_skipped_with_the_reason(
    place: Path, wheels: Path
) -> None:
    suite = make_suite(place / "suite", runtime={"tools": ["no-such-tool"]})
    add_candidate(suite / "add", "gold", {"src/calc.py": "def add(a, b):\n    return a + b\n"})
    done = assay("run", suite, "--output", place / "run")
    assert done.code == 4
    assert "no-such-tool: not found" in done.err
    with pytest.raises(RuntimeUnavailable, match="no-such-tool: not found"):
        grade(load_benchmark_task(suite, "add"), {"src/calc.py": USES_IT})
    other = add_task(suite, "other")
    add_candidate(other, "gold", {"src/calc.py": "def add(a, b):\n    return a + b\n"})
    done = assay("run", suite, "--output", place / "run")
    assert done.code == 0, done.err
    assert "skipped add: no-such-tool: not found" in done.out
    report = json.loads((place / "run/report.json").read_text())
    assert report["results"]["skipped"] == [{"task": "add"}]


def test_a_command_grader_may_use_a_declared_tool(place: Path, wheels: Path) -> None:
    grader = {
        "id": "command",
        "use": "command",
        "role": "visible",
        "options": {"argv": ["grep", "-q", "a + b", "src/calc.py"]},
    }
    suite = make_suite(place / "suite", runtime={"tools": ["grep"]}, graders=[grader])
    task = load_benchmark_task(suite, "add")
    assert grade(task, {"src/calc.py": "a + b\n"}).status is VerdictStatus.ACCEPTED
    assert grade(task, {"src/calc.py": "a * b\n"}).status is VerdictStatus.REJECTED
