"""Operations on the candidate's objects, as requests: read, call, ask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from .anchors import is_anchored
from .changes import Watched
from .client import Client
from .features import LEVELS
from .forwarding import Forwarding
from .write_back import write_back

__all__ = ["Exchange", "Known", "is_never_answered"]

_NEVER = frozenset(
    {
        *("__file__", "__path__", "__loader__", "__spec__", "__cached__", "__test__"),
        *("__wrapped__", "__code__", "__signature__", "__getstate__", "__setstate__"),
        *("__getnewargs__", "__getnewargs_ex__", "__getinitargs__", "__copy__", "__deepcopy__"),
        *("__array__", "__array_interface__", "__array_ufunc__", "__array_struct__"),
        *("pytestmark", "load_tests", "collect_ignore", "collect_ignore_glob"),
        *("setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function"),
        *("teardown_function", "setup_method", "teardown_method", "setup_class"),
        *("teardown_class", "_mock_name"),
    }
)


_FEATURES = {
    "iter": "iteration",
    "next": "iteration",
    "eq": "equality",
    "content": "equality",
    "contains": "containment",
}


def is_never_answered(name: str) -> bool:
    """Whether tools ask for an attribute of this name, so that no candidate may answer it."""
    return name in _NEVER or name.startswith(("_pytest", "pytest_", "_assay"))


Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_NO_KEYWORDS: tuple[str, list[Any]] = ("d", [])


class Known(Protocol):
    """What is known of proxies, and where the value of an attribute can be found again."""

    def found_at(self, target: Any, name: str, value: Any) -> None: ...

    def is_candidates(self, value: Any) -> bool: ...

    def is_stale(self, value: Any) -> bool: ...

    def text_of(self, error: BaseException) -> str: ...


class Keys(Protocol):
    """The keys that comparisons of some objects go by, as `adapters` finds them."""

    def key_of(self, value: Any) -> tuple[Any] | None: ...


class _NoKeys:
    def key_of(self, value: Any) -> tuple[Any] | None:
        return None


class Exchange:
    """What proxies do over the wire."""

    def __init__(self, client: Client, known: Known, forwarding: Forwarding) -> None:
        self.client = client
        self.forwarding = forwarding
        self.known = known
        self.watched = Watched(client.written)
        self.adapters: Keys = _NoKeys()
        self.end_of_test: Callable[[], None] = lambda: None
        self.came_of: Callable[[Any, Arguments], None] = lambda value, arguments: None

    def ask(self, word: str, target: Any, *operands: Any) -> Any:
        """The value of one operation on a proxy."""
        self.client.uses(_FEATURES.get(word, "special-methods"))
        return self.take(self._asked(word, target, *operands)[0])

    def read(self, target: Any, name: str, *, feature: str = "attributes") -> Any:
        """An attribute of a proxy."""
        if is_never_answered(name):
            raise AttributeError(name)
        self.client.uses(feature)
        value = self.take(self._asked("get", target, name)[0])
        self.known.found_at(target, name, value)
        return value

    def names(self, target: Any) -> list[str]:
        """The names that a module has, without those that tools ask for."""
        found = self.ask("names", target)
        if type(found) is not list or not all(type(name) is str for name in found):
            raise self.client.lose_protocol()
        return [name for name in found if not is_never_answered(name)]

    def raw(self, target: Any, name: str) -> Any:
        """What a class itself has under a name, unbound; raises KeyError."""
        if is_never_answered(name):
            raise KeyError(name)
        self.client.uses("attributes")
        return self.take(self._asked("raw", target, name)[0])

    def set(self, target: Any, name: str, value: Any, *, by_test: bool = False) -> None:
        """Set an attribute of a proxy, where the task allows its level."""
        self._require_settable(name, by_test)
        if self.known.is_stale(value):
            # It is being put back, into a process that never lacked it.
            self.client.refuse("stale")
        elif not self.client.is_lost:
            self._asked("set", target, name, value)

    def delete(self, target: Any, name: str, *, by_test: bool = False) -> None:
        """Delete an attribute of a proxy, where the task allows its level."""
        self._require_settable(name, by_test)
        if not self.client.is_lost:
            self._asked("del", target, name)

    def _require_settable(self, name: str, by_test: bool) -> None:
        if self.client.max_level < LEVELS["attribute-set"] or is_never_answered(name):
            raise self.client.refuse("attribute-set", by_test=by_test)
        self.client.uses("attribute-set")

    def call(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, feature: str
    ) -> Any:
        """Call a proxy; arguments that changed over there change here too."""
        client = self.client
        client.uses(feature)
        if _is_judged():
            raise client.refuse("operator")
        target_tree, args_tree = client.reference(target), client.encode(list(args))
        kwargs_tree = client.encode(kwargs) if kwargs else _NO_KEYWORDS
        tree, changed = self._answered("call", target_tree, args_tree, kwargs_tree)
        self.take_over((args, kwargs), changed)
        for argument in (*args, *kwargs.values()) if kwargs else args:
            self.watched.add_argument(argument)
        value = self.take(tree)
        self.came_of(value, (args, kwargs))
        return value

    def take(self, tree: Any) -> Any:
        """A value that the candidate gave."""
        value = self.client.decode(tree)
        self.watched.add_result(value)
        return value

    def take_over(self, arguments: Arguments, changed: Any) -> None:
        """Give arguments the content that the candidate's copies have now."""
        if type(changed) is not list:
            raise self.client.lose_protocol()
        if changed:
            self.client.uses("write-back")
            with self.watched.taking_over():
                for change in changed:
                    self._take_over(*arguments, change)

    def end_test(self, function: Any) -> None:
        """Refuse what a test did to containers that crossed the wire; they are forgotten.

        And a test, of that function, that only compared the candidate with itself.
        """
        noted = self.client.noted
        if "self-compared" in noted.features and not (noted.is_anchored or is_anchored(function)):
            self.client.refuse("self-compared-only")
        if not all(map(_is_seen, noted.stops)):
            self.client.refuse("stop-iteration")
        noted.stops.clear()
        self.end_of_test()
        is_result, is_argument = self.watched.end()
        if is_result:
            self.client.refuse("result-changed")
        if is_argument:
            # Whether a test changes it may depend on what the candidate left in it or returned.
            self.client.refuse("argument-changed")

    def _asked(self, word: str, target: Any, *operands: Any) -> tuple[Any, list[Any]]:
        trees = [self.client.encode(operand) for operand in operands]
        return self._answered(word, self.client.reference(target), *trees)

    def _answered(self, word: str, *trees: Any) -> tuple[Any, list[Any]]:
        try:
            parts = self.client.request(word, *trees)
        except StopIteration as stop:
            # Only where something is iterated over may this end a loop of the test's.
            if word != "next":
                self.client.noted.stops.append(stop)
            raise
        if len(parts) != 2 or type(parts[1]) is not list:
            raise self.client.lose_protocol()
        return parts[0], parts[1]

    def _take_over(self, args: tuple[Any, ...], kwargs: dict[str, Any], change: Any) -> None:
        if type(change) is not list or len(change) != 2:
            raise self.client.lose_protocol()
        place, tree = change
        if type(place) is int and 0 <= place < len(args):
            before = args[place]
        elif type(place) is str and place in kwargs:
            before = kwargs[place]
        else:
            raise self.client.lose_protocol()
        if not write_back(before, self.client.decode(tree)):
            raise self.client.lose_protocol()


def _is_seen(stop: StopIteration) -> bool:
    """Whether an exception went through code of the test's: built-in loops end without a word."""
    traceback = stop.__traceback__
    while traceback is not None and _is_of_this_package(traceback.tb_frame.f_globals):
        traceback = traceback.tb_next
    return traceback is not None


def _is_of_this_package(names: dict[str, Any]) -> bool:
    return str(names.get("__name__", "")).startswith(f"{__package__}.")


def _is_judged() -> bool:
    """Whether an assertion of unittest's calls, with what it expects: `assertSetEqual` does."""
    frame = sys._getframe(3)
    is_assertion = frame.f_code.co_name.startswith("assert")
    return is_assertion and frame.f_globals.get("__name__") == "unittest.case"
