"""What a test file does that isolated mode refuses, or that lets the candidate into the judge."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from assay_graders.linting.origins import Origins, qualified

__all__ = ["HAZARDS", "broken_by"]

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
    "seeds-random": ("random.seed", "random.setstate", "numpy.random.seed"),
    "process-state": (
        *("os.chdir", "os.fchdir", "os.putenv", "os.unsetenv", "os.umask", "os.environ.update"),
        *("os.environ.pop", "os.environ.setdefault", "os.environ.clear", "locale.setlocale"),
        *("time.tzset", "monkeypatch.setenv", "monkeypatch.delenv", "monkeypatch.chdir"),
    ),
}
_RULES = {name: rule for rule, names in _BY_NAME.items() for name in names}
_STATE = ("os.environ", "sys.argv", "sys.stdin", "sys.path", "sys.stdout", "sys.stderr")
_COPIES = frozenset(
    {
        *("copy.copy", "copy.deepcopy", "copy.replace", "pickle.dumps", "pickle.dump"),
        *("marshal.dumps", "dill.dumps", "cloudpickle.dumps", "joblib.dump"),
    }
)
_ZONED = frozenset(
    {
        *(
            "datetime.datetime",
            "datetime.time",
            "datetime.datetime.now",
            "datetime.datetime.combine",
        ),
        "datetime.datetime.fromtimestamp",
    }
)
_PATCHES = ("mock.patch", "mocker.patch", "mock.patch.object", "mocker.patch.object")
_WEAK = ("weakref.ref", "weakref.proxy", "weakref.finalize", "gc.get_referrers", "sys.getrefcount")


def broken_by(node: ast.AST, origins: Origins) -> Iterator[str]:
    """Rules that one node of a test file breaks."""
    if isinstance(node, ast.ImportFrom):
        is_star = any(alias.name == "*" for alias in node.names)
        if is_star and not node.level and origins.is_candidates(node.module or ""):
            yield "star-import"
    elif isinstance(node, ast.ClassDef):
        if origins.mentions(*node.bases):
            yield "subclass"
    elif isinstance(node, ast.Call):
        yield from _called(node, origins)
    elif isinstance(node, (ast.Assign, ast.Delete)):
        yield from _written(node.targets, origins)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield from _written([node.target], origins)


def _called(node: ast.Call, origins: Origins) -> Iterator[str]:
    name = origins.dotted(node.func)
    if not name:
        name = f"?.{node.func.attr}" if isinstance(node.func, ast.Attribute) else "?"
    head = name.rpartition(".")[0]
    rule = _RULES.get(name) or _RULES.get(f"{head}.*")
    if rule is not None and not (rule == "unpickles" and _loads_safely(node)):
        yield rule
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    if name in _COPIES and origins.mentions(*given):
        yield "copies-object"
    if name in _WEAK and origins.mentions(*given):
        yield "weak-reference"
    if _is_zoned(node, name, origins):
        yield "time-zone"
    yield from _patched(node, name, origins)


def _loads_safely(node: ast.Call) -> bool:
    """`yaml.load` with one of the loaders that only make plain values."""
    given = (*node.args[1:], *(word.value for word in node.keywords if word.arg == "Loader"))
    return any(qualified(value).rpartition(".")[2].endswith("SafeLoader") for value in given)


def _is_zoned(node: ast.Call, name: str, origins: Origins) -> bool:
    for keyword in node.keywords:
        if keyword.arg in ("tzinfo", "tz") and _is_an_object(keyword.value, origins):
            return True
    if name.endswith(".astimezone") and node.args:
        return _is_an_object(node.args[0], origins)
    return name in _ZONED and any(_is_an_object(given, origins) for given in node.args[-1:])


def _is_an_object(node: ast.expr, origins: Origins) -> bool:
    """A name or a call of the candidate's: the parts of a plain value that it gave are not."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and origins.mentions(node)


def _patched(node: ast.Call, name: str, origins: Origins) -> Iterator[str]:
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
        yield "replaces-attribute"
    elif _is_state(target) or _is_state(named) or last == "syspath_prepend":
        yield "process-state"


def _written(targets: Sequence[ast.expr], origins: Origins) -> Iterator[str]:
    for target in targets:
        if isinstance(target, ast.Attribute):
            if _is_state(origins.dotted(target)):
                yield "process-state"
            elif qualified(target.value) != "self" and origins.mentions(target.value):
                yield "replaces-attribute"
        elif isinstance(target, ast.Subscript) and _is_state(origins.dotted(target.value)):
            yield "process-state"


def _is_state(name: str) -> bool:
    return name.startswith(_STATE)
