"""Objects of the candidate as the tests see them: one real class for each of its classes.

`isinstance`, `except` and `pytest.raises` therefore work unchanged. A proxy answers what has
no operand of the test's: attributes, length, iteration, text, truth. Comparing with an expected
value is done here, on content, or refused; the candidate may only object to an equality.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from .described import CONTENTS, MUTABLE_CONTENTS
from .exchange import Exchange
from .stand_ins import StandIn, stand_in_of

__all__ = ["CandidateClass", "bind", "exchange", "new_class"]

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_OPERATORS = tuple(
    f"__{prefix}{name}__"
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
        *("lshift", "rshift", "and", "or", "xor"),
    )
    for prefix in ("", "r", "i")
)
_NULLARY = (
    *("len", "iter", "next", "reversed", "bool", "int", "float", "index", "complex", "neg"),
    *("pos", "abs", "invert", "trunc", "floor", "ceil", "bytes", "fspath", "enter", "dir"),
    *("aiter", "anext", "aenter"),
)
_WITH_OPERANDS = ("getitem", "setitem", "delitem", "round", "format")
_TYPES = {kind.__name__: kind for kind in (*CONTENTS, *MUTABLE_CONTENTS)}


class _Bound:
    exchange: Exchange


def bind(exchange: Exchange) -> None:
    """Give all proxies of this process their exchange."""
    _Bound.exchange = exchange


def exchange() -> Exchange:
    """The exchange of this process."""
    return _Bound.exchange


class CandidateClass(type):
    """Type of the classes that stand for a candidate's: calling one constructs over there."""

    __doc__ = property(lambda cls: _Bound.exchange.read(cls, "__doc__"))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _Bound.exchange.call(cls, args, kwargs, feature="classes")

    def __getattr__(cls, name: str) -> Any:
        return _Bound.exchange.read(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        raise _refused("attribute-set")

    def __delattr__(cls, name: str) -> None:
        raise _refused("attribute-set")

    def __iter__(cls) -> Any:
        return _Bound.exchange.ask("iter", cls)

    def __len__(cls) -> int:
        return _Bound.exchange.ask("len", cls)  # type: ignore[no-any-return]

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return _Bound.exchange.ask("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        raise _refused("contains")


def new_class(stand_in: StandIn, bases: tuple[type, ...]) -> type:
    """The driver's class for a class of the candidate's."""
    namespace = _namespace(stand_in, bases)
    for tried in (bases, bases[:1], ()):
        try:
            return CandidateClass(stand_in.name, tried, dict(namespace))
        except TypeError:
            continue
    return CandidateClass(stand_in.name, (), {})


def _refused(code: str) -> BaseException:
    return _Bound.exchange.client.refuse(code)


def _namespace(stand_in: StandIn, bases: tuple[type, ...]) -> dict[str, Any]:
    is_error = any(issubclass(base, BaseException) for base in bases)
    found: dict[str, Any] = {
        "__module__": stand_in.module,
        "__qualname__": stand_in.qualified,
        "__getattr__": _get_attribute,
        "__setattr__": _set_attribute,
        "__delattr__": _delete_attribute,
        "__reduce_ex__": _reduce,
    }
    if is_error:
        found["__setattr__"] = _set_error_attribute
    elif stand_in.content not in _TYPES or _TYPES[stand_in.content] in MUTABLE_CONTENTS:
        found |= {"__slots__": (), "__str__": _nullary("str"), "__repr__": _nullary("repr")}
    for name in stand_in.specials:
        found[name] = _special(name)
    own = ("__doc__", "__module__") if stand_in.is_function else ("__doc__",)
    for name in (*own, *stand_in.shadowed):
        found[name] = property(functools.partial(_read_own, name))
    if is_error:
        found["__str__"] = _error_text
    found |= {"__eq__": _equal, "__ne__": _not_equal, "__hash__": _hash_of(stand_in)}
    return found


def _special(name: str) -> Callable[..., Any]:
    word = name.strip("_")
    if name == "__call__":
        return _call
    if name == "__exit__":
        return _exit
    if name == "__contains__":
        return _contains
    if name == "__get__":
        return _bind
    if word in _NULLARY or word in ("str", "repr"):
        return _nullary(word)
    if word in _WITH_OPERANDS:
        return lambda self, *operands: _Bound.exchange.ask(word, self, *operands)
    if name == "__await__":
        return _await
    if name == "__aexit__":
        return _leave
    code = "order" if name in _ORDER else "operator"

    def refuse(self: Any, *_: Any) -> Any:
        raise _refused(code)

    return refuse


def _nullary(word: str) -> Callable[[Any], Any]:
    return lambda self: _Bound.exchange.ask(word, self)


def _get_attribute(self: Any, name: str) -> Any:
    return _Bound.exchange.read(self, name)


def _bind(self: Any, instance: Any, _: Any = None) -> Any:
    """A function of the candidate's in a class of the test's is a method there."""
    if not stand_in_of(type(self)).is_function:
        raise _refused("descriptor")
    return self if instance is None else types.MethodType(self, instance)


def _read_own(name: str, self: Any) -> Any:
    return _Bound.exchange.read(self, name)


def _set_attribute(self: Any, name: str, value: Any) -> None:
    raise _refused("attribute-set")


def _set_error_attribute(self: Any, name: str, value: Any) -> None:
    # Whoever raises or catches an exception sets such names on it.
    if not (name.startswith("__") and name.endswith("__")):
        raise _refused("attribute-set")
    BaseException.__setattr__(self, name, value)


def _delete_attribute(self: Any, name: str) -> None:
    raise _refused("attribute-set")


def _reduce(self: Any, protocol: int) -> Any:
    raise _refused("copy")


def _error_text(self: Any) -> str:
    return _Bound.exchange.known.text_of(self)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    feature = "functions" if stand_in_of(type(self)).is_function else "special-methods"
    return _Bound.exchange.call(self, args, kwargs, feature=feature)


def _exit(self: Any, kind: Any, error: Any, _: Any) -> bool:
    """Only an exception that says nothing of a verdict can be held back by the candidate."""
    if error is None:
        _Bound.exchange.ask("exit", self, None)
        return False
    held_back = _Bound.exchange.ask("exit", self, error) is True
    return held_back and isinstance(error, Exception) and not isinstance(error, AssertionError)


def _await(self: Any) -> Any:
    return _Bound.exchange.ask("await", self).__await__()


async def _leave(self: Any, kind: Any, error: Any, _: Any) -> bool:
    """As `_exit`, for `async with`."""
    held_back = await _Bound.exchange.ask("aexit", self, error) is True
    return held_back and isinstance(error, Exception) and not isinstance(error, AssertionError)


def _hash_of(stand_in: StandIn) -> Any:
    if stand_in.hashed_by == "none":
        return None
    if stand_in.hashed_by == "own":
        return _nullary("hash")
    content = _TYPES.get(stand_in.content)
    return object.__hash__ if content is None else content.__hash__


def _equal(self: Any, other: Any) -> Any:
    """Equal by content and not objected to; between two objects of the candidate's, refused."""
    if _Bound.exchange.known.is_candidates(other):
        raise _refused("self-compare")
    stand_in = stand_in_of(type(self))
    content = _TYPES.get(stand_in.content)
    if content is None:
        if stand_in.compared_by == "object":
            return NotImplemented
        raise _refused("equality")
    if content in CONTENTS and not isinstance(self, content):
        raise _refused("equality")
    own = self if content in CONTENTS else _Bound.exchange.ask("content", self)
    compare: Any = content.__eq__
    equal = compare(own, other)
    if stand_in.compared_by != "own":
        return equal
    if equal is not True:
        raise _refused("equality")
    if _Bound.exchange.ask("eq", self, other) is not True:
        raise _refused("equality-disagrees")
    return True


def _not_equal(self: Any, other: Any) -> Any:
    equal = _equal(self, other)
    return equal if equal is NotImplemented else not equal


def _contains(self: Any, item: Any) -> bool:
    """Found by looking at each element here; a class with an `in` of its own has to agree."""
    stand_in = stand_in_of(type(self))
    if "__iter__" not in stand_in.specials:
        raise _refused("contains")
    found = any(element is item or element == item for element in self)
    if stand_in.contains_by == "own":
        if not found:
            raise _refused("contains")
        if _Bound.exchange.ask("contains", self, item) is not True:
            raise _refused("contains-disagrees")
    return found
