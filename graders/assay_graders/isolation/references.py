"""References in both directions: which proxy is which object of the worker's.

The same object is always the same proxy. A proxy that came from a module or class remembers
the way, so that it can be used again after the worker had to be replaced.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any, ClassVar

from ..wire.faults import WireFault
from ..wire.stdlib import BUILTIN_TYPES
from .arguments import Lent
from .client import Client
from .described import CONTENTS
from .library import library_error
from .places import Places
from .proxies import CandidateClass, new_class, real_class
from .refusals import CandidateError
from .stand_ins import StandIn, keep, read_stand_in
from .test_side import is_public

__all__ = ["References"]

_DEEPEST_HIERARCHY = 50
_LONGEST_NAME = 500


class References:
    """Turns values into payloads and payloads into proxies."""

    def __init__(self, client: Client, lent: Lent, modules: frozenset[str]) -> None:
        self._client = client
        self._lent = lent
        self._modules = modules
        self.places = Places()
        self._ways: dict[tuple[str, str], type] = {}
        self.coroutine: Callable[[str, str], Any] = _no_coroutine
        self._depth = 0

    def is_candidates(self, value: Any) -> bool:
        """Whether a value stands for an object of the candidate's."""
        return self.places.of(value) is not None

    def is_stale(self, value: Any) -> bool:
        """Whether an object was in a process that is gone, and can't be found again."""
        place = self.places.of(value)
        return (
            place is not None and place.way is None and place.generation < self._client.generation
        )

    def text_of(self, error: BaseException) -> str:
        """What `str` of an exception was where it was raised."""
        place = self.places.of(error)
        return "" if place is None else place.text

    def found_at(self, target: Any, name: str, value: Any) -> None:
        """Remember that `value` is an attribute of a module, or of what has a way itself."""
        place, owner = self.places.of(value), self.places.of(target)
        if place is None or place.way is not None:
            return
        if isinstance(target, types.ModuleType):
            self.places.found(value, place, (target.__name__, name))
        elif owner is not None and owner.way is not None:
            self.places.found(value, place, (owner.way[0], f"{owner.way[1]}.{name}"))

    def refer(self, value: Any) -> Any:
        """The payload for a value that is not plain; raises Refusal."""
        if isinstance(value, types.ModuleType) and value.__name__ in self._modules:
            return ["m", value.__name__]
        place = self.places.of(value)
        if place is None and isinstance(value, CandidateClass):
            value = real_class(value)
            place = self.places.of(value)
        if place is None:
            if isinstance(value, CandidateClass) or isinstance(type(value), CandidateClass):
                raise self._client.refuse("subclass", by_test=True)
            return self._lent.payload(value)
        if place.generation == self._client.generation:
            return [place.word, place.number]
        if place.way is None:
            raise self._client.refuse("stale")
        return ["path", *place.way]

    def describe_error(self, error: BaseException) -> Any:
        """The payload for an exception that a callback raised."""
        place = self.places.of(error)
        if place is not None and place.generation == self._client.generation:
            return [place.word, place.number]
        return self._lent.error_payload(error)

    def resolve(self, payload: Any) -> Any:
        """The value that a payload of the worker's stands for; raises WireFault."""
        if type(payload) is not list or not payload or type(payload[0]) is not str:
            raise WireFault("a reference has another form")
        word, *parts = payload
        resolver = self._RESOLVERS.get((word, len(parts)))
        if resolver is None:
            raise WireFault("a reference of an unknown kind")
        return resolver(self, *parts)

    def _token(self, token: Any) -> Any:
        try:
            return self._lent.given_back(token)
        except KeyError:
            raise WireFault("a reference to something that was never lent") from None

    def _module(self, name: Any) -> Any:
        if type(name) is not str or name not in self._modules:
            raise WireFault("a reference to a module that is not the candidate's")
        return importlib.import_module(name)

    def _builtin(self, name: Any) -> type:
        found = BUILTIN_TYPES.get(name) if type(name) is str else None
        if found is None:
            raise WireFault("a type that is not built in")
        return found

    def _class(self, number: Any) -> type:
        known = self._known(number)
        if known is not None:
            if not isinstance(known, CandidateClass):
                raise WireFault("a number is no class")
            return known
        self._depth += 1
        if self._depth > _DEEPEST_HIERARCHY:
            raise WireFault("classes derive from one another too deeply")
        try:
            fields, bases = self._described(number)
            made = self._found_again(fields) or new_class(fields, bases)
        finally:
            self._depth -= 1
        keep(made, fields)
        place = self.places.register("c", number, made, is_kept=True)
        if fields.is_findable:
            place.way = fields.module, fields.qualified
            self._ways[fields.module, fields.qualified] = made
        return made

    def _described(self, number: int) -> tuple[StandIn, tuple[type, ...]]:
        parts = self._client.request("describe", ("ref", ["c", number]))
        if len(parts) != 2 or type(parts[0]) is not list or not parts[0]:
            raise WireFault("a class is not described")
        *fields, bases = parts[0]
        if type(bases) is not list:
            raise WireFault("a class has no list of bases")
        stand_in = read_stand_in([self._client.decode(field) for field in fields])
        found = [self.resolve(base) for base in bases]
        return stand_in, tuple(base for base in found if _can_be_base(base))

    def _found_again(self, stand_in: StandIn) -> type | None:
        """The class of an earlier worker that the same way led to."""
        made = self._ways.get((stand_in.module, stand_in.qualified))
        if made is None or not stand_in.is_findable:
            return None
        place = self.places.of(made)
        is_older = place is not None and place.generation < self._client.generation
        return made if is_older else None

    def _object(self, number: Any, kind: Any, content: Any) -> Any:
        known = self._known(number)
        if known is not None:
            return known
        made = self.resolve(kind)
        if not isinstance(made, CandidateClass) or issubclass(made, BaseException):
            raise WireFault("an object is of no class")
        base = next((base for base in CONTENTS if issubclass(made, base)), None)
        proxy = _instance(made, base, self._content(base, content))
        self.places.register("o", number, proxy)
        return proxy

    def _content(self, base: type | None, content: Any) -> Any:
        if base is None:
            return None
        if type(content) is not list or len(content) != 2:
            raise WireFault("an object has no content")
        value = self._client.decode(content[1])
        if type(value) is not base:
            raise WireFault("the content of an object is of another type")
        return value

    def _library_error(self, module: Any, name: Any, number: Any) -> type:
        return library_error(module, name) or self._class(number)

    def _error(self, number: Any, kind: Any, arguments: Any, text: Any, state: Any) -> Any:
        known = self._known(number)
        if known is not None:
            return known
        made = self.resolve(kind)
        if not isinstance(made, type):
            raise WireFault("an exception is of no class")
        args, words = self._client.decode(arguments), self._client.decode(text)
        attributes = self._client.decode(state)
        if type(args) is not list or type(words) is not str or type(attributes) is not dict:
            raise WireFault("an exception has another form")
        error = _raised(made, args, words, attributes)
        self.places.register("e", number, error).text = words
        return error

    def _coroutine(self, number: Any, name: Any, qualified: Any) -> Any:
        known = self._known(number)
        if known is not None:
            return known
        if type(name) is not str or type(qualified) is not str:
            raise WireFault("a coroutine has no name")
        made = self.coroutine(name[:_LONGEST_NAME], qualified[:_LONGEST_NAME])
        self.places.register("o", number, made)
        return made

    def _known(self, number: Any) -> Any:
        if type(number) is not int or number <= 0:
            raise WireFault("a number of an object is none")
        if self.places.generation != self._client.generation:
            self.places.restarted(self._client.generation)
        return self.places.known(number)

    _RESOLVERS: ClassVar[dict[tuple[str, int], Callable[..., Any]]] = {
        ("d", 1): _token,
        ("m", 1): _module,
        ("b", 1): _builtin,
        ("c", 1): _class,
        ("o", 3): _object,
        ("s", 3): _library_error,
        ("w", 3): _coroutine,
        ("e", 5): _error,
    }


def _no_coroutine(name: str, qualified: str) -> Any:
    raise WireFault("a coroutine where none can be awaited")


def _can_be_base(base: Any) -> bool:
    """Only these built-in classes mean the same here: exceptions and immutable content."""
    if isinstance(base, CandidateClass):
        return True
    if not isinstance(base, type):
        raise WireFault("a base is no class")
    return base in CONTENTS or (base is SystemExit or issubclass(base, Exception))


def _instance(made: type, base: type | None, content: Any) -> Any:
    create: Any = object.__new__ if base is None else base.__new__
    return create(made) if base is None else create(made, content)


def _raised(made: type, args: list[Any], text: str, attributes: dict[Any, Any]) -> BaseException:
    if not issubclass(made, (Exception, SystemExit)):
        return CandidateError(f"{made.__name__}: {text}")
    try:
        # Calling a candidate's class would construct another one over there.
        if attributes or isinstance(made, CandidateClass):
            create: Any = made.__new__
            error: BaseException = create(made, *args)
            vars(error).update((k, v) for k, v in attributes.items() if is_public(k))
            return error
        plain: BaseException = made(*args)
        return plain
    except Exception:
        return CandidateError(f"{made.__name__}: {text}")
