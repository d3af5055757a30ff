"""What a test file does that isolated mode refuses, or that lets the candidate into the judge."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from attrs import frozen

from assay_graders.isolation.features import HIGHEST_LEVEL, LEVELS
from assay_graders.linting.origins import Origins, qualified

__all__ = ["HAZARDS", "Broken", "broken_by"]

SETTING, NO_LEVEL = LEVELS["attribute-set"], HIGHEST_LEVEL + 1
HAZARDS = frozenset({"star-import", "evaluates-text", "unpickles"})
"""Rules that count in every mode; the others are about isolated mode."""

_BY_NAME = {
    "evaluates-text": (
        *("eval", "exec", "compile", "builtins.eval", "builtins.exec", "builtins.compile"),
        *("runpy.*", "code.*"),
    ),
    "unpickles": (
        *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
        *("shelve.open", "dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads"),
        *("joblib.load", "jsonpickle.decode", "pandas.read_pickle"),
        *("yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    ),
    "starts-programs": (
        *("subprocess.*", "os.system", "os.popen", "os.fork", "os.forkpty", "os.posix_spawn"),
        *("os.posix_spawnp", "os.execv", "os.execve", "os.execvp", "os.execl", "os.execlp"),
        *("os.spawnl", "os.spawnv", "os.spawnlp", "os.spawnvp", "pty.spawn"),
        *("multiprocessing.Process", "multiprocessing.Pool"),
        *("concurrent.futures.ProcessPoolExecutor", "asyncio.create_subprocess_exec"),
        "asyncio.create_subprocess_shell",
    ),
    "threads": (
        *("threading.Thread", "threading.Timer", "_thread.start_new_thread"),
        *("concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool"),
        *("multiprocessing.dummy.*", "asyncio.to_thread"),
    ),
    "freezes-clock": ("freezegun.freeze_time", "time_machine.travel"),
    "seeds-random": ("random.seed", "random.setstate", "numpy.random.seed"),
    "process-state": (
        *("os.chdir", "os.fchdir", "os.putenv", "os.unsetenv", "os.umask", "os.environ.update"),
        *("os.environ.pop", "os.environ.setdefault", "os.environ.clear", "locale.setlocale"),
        *("time.tzset", "monkeypatch.setenv", "monkeypatch.delenv", "monkeypatch.chdir"),
    ),
}
_RULES = {name: rule for rule, names in _BY_NAME.items() for name in names}
_STATE = {
    "os.environ": "environ",
    "os.putenv": "environ",
    "os.unsetenv": "environ",
    "monkeypatch.setenv": "environ",
    "monkeypatch.delenv": "environ",
    "os.chdir": "cwd",
    "os.fchdir": "cwd",
    "monkeypatch.chdir": "cwd",
    "sys.argv": "argv",
    "sys.stdin": "stdin",
    "builtins.input": "stdin",
    "freezegun.freeze_time": "clock",
    "sys.path": "",
    "random.seed": "random",
    "random.setstate": "random",
}
"""Names that begin with one of these are about the process, and by what they can be forwarded."""
_COPIES = frozenset(
    {
        *("copy.copy", "copy.deepcopy", "copy.replace", "pickle.dumps", "pickle.dump"),
        *("marshal.dumps", "dill.dumps", "cloudpickle.dumps", "joblib.dump"),
    }
)
_ZONE_AT = {
    "datetime.datetime": 7,
    "datetime.time": 4,
    "datetime.datetime.now": 0,
    "datetime.datetime.fromtimestamp": 1,
    "datetime.datetime.combine": 2,
}
"""Which positional argument is a time zone."""
_PATCHES = ("mock.patch", "mocker.patch", "mock.patch.object", "mocker.patch.object")
_WEAK = ("weakref.ref", "weakref.proxy", "weakref.finalize", "gc.get_referrers", "sys.getrefcount")


@frozen
class Broken:
    """A rule that a place breaks, unless the grader forwards what it is about or goes so far."""

    rule: str
    unless_forwarded: str = ""
    until_level: int = NO_LEVEL
    only_in_process: bool = False


def broken_by(node: ast.AST, origins: Origins) -> Iterator[Broken]:
    """Rules that one node of a test file breaks."""
    if isinstance(node, ast.ImportFrom):
        is_star = any(alias.name == "*" for alias in node.names)
        if is_star and not node.level and origins.is_candidates(node.module or ""):
            is_known = node.module in origins.theirs.exports
            yield Broken("star-import", only_in_process=is_known)
    elif isinstance(node, ast.ClassDef):
        if origins.mentions(*node.bases):
            yield Broken("subclass")
    elif isinstance(node, ast.Call):
        yield from _called(node, origins)
    elif isinstance(node, (ast.Assign, ast.Delete)):
        yield from _written(node.targets, origins)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield from _written([node.target], origins)


def _called(node: ast.Call, origins: Origins) -> Iterator[Broken]:
    name = origins.dotted(node.func)
    if not name:
        name = f"?.{node.func.attr}" if isinstance(node.func, ast.Attribute) else "?"
    head = name.rpartition(".")[0]
    rule = _RULES.get(name) or _RULES.get(f"{head}.*")
    if rule is not None and not (rule == "unpickles" and _loads_safely(node)):
        yield Broken(rule, _state_of(name) or "")
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    if name in _COPIES and origins.mentions(*given):
        yield Broken("copies-object")
    if name in _WEAK and origins.mentions(*given):
        yield Broken("weak-reference")
    if not origins.mentions(node.func) and _is_zoned(node, name, origins):
        yield Broken("time-zone")
    yield from _patched(node, name, origins)


def _loads_safely(node: ast.Call) -> bool:
    """`yaml.load` with one of the loaders that only make plain values."""
    given = (*node.args[1:], *(word.value for word in node.keywords if word.arg == "Loader"))
    return any(qualified(value).rpartition(".")[2].endswith("SafeLoader") for value in given)


def _is_zoned(node: ast.Call, name: str, origins: Origins) -> bool:
    """Whether something of the candidate's is given to the standard library as a time zone."""
    place = 0 if name.endswith(".astimezone") else _ZONE_AT.get(name)
    at_place = () if place is None else node.args[place : place + 1]
    by_name = [word.value for word in node.keywords if word.arg in ("tzinfo", "tz")]
    return origins.mentions(*at_place, *by_name)


def _patched(node: ast.Call, name: str, origins: Origins) -> Iterator[Broken]:
    first = node.args[0] if node.args else None
    last = name.rpartition(".")[2]
    changes = name in ("setattr", "delattr") or name.startswith("monkeypatch.")
    is_mock = name in _PATCHES or name.removeprefix("unittest.") in _PATCHES
    if not (changes or is_mock) or first is None or last in ("setenv", "delenv", "chdir"):
        return
    text = first.value if isinstance(first, ast.Constant) else ""
    target = text if isinstance(text, str) else ""
    named = origins.dotted(first)
    if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
        named = f"{named}.{node.args[1].value!s}"
    if origins.is_candidates(target) or (not target and origins.mentions(first)):
        yield Broken("replaces-attribute", until_level=SETTING)
    elif last == "syspath_prepend":
        yield Broken("process-state")
    elif _state_of(target or named) is not None:
        yield from _of_state(target or named)
    elif (target or named).partition(".")[0] in sys.stdlib_module_names:
        yield Broken("patches-library")


def _written(targets: Sequence[ast.expr], origins: Origins) -> Iterator[Broken]:
    for target in targets:
        if isinstance(target, ast.Attribute):
            yield from _of_state(origins.dotted(target))
            if qualified(target.value) != "self" and origins.mentions(target.value):
                yield Broken("replaces-attribute", until_level=SETTING)
        elif isinstance(target, ast.Subscript):
            yield from _of_state(origins.dotted(target.value))


def _of_state(name: str) -> Iterator[Broken]:
    state = _state_of(name)
    if state is not None:
        yield Broken("process-state", state)


def _state_of(name: str) -> str | None:
    """By what the state that a name is about can be forwarded; None for any other name."""
    return next((state for begin, state in _STATE.items() if name.startswith(begin)), None)
