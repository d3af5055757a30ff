"""Objects of the candidate as the tests see them: one real class for each of its classes.

`isinstance`, `except` and `pytest.raises` therefore work unchanged. A proxy answers what has
no operand of the test's: attributes, length, iteration, text, truth. Comparing with an expected
value is done in `comparing`.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from .bound import exchange, refused
from .comparing import TYPES, contains, equal, hash_of, not_equal, ordered
from .described import ABSTRACT, MUTABLE_CONTENTS
from .raw_names import RawNames
from .stand_ins import StandIn, known_stand_in, stand_in_of
from .verdicts import cuts_short, is_verdict

__all__ = ["CandidateClass", "new_class", "real_class"]

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
_MUTABLE = frozenset(kind.__name__ for kind in MUTABLE_CONTENTS)
_WITH_OPERANDS = ("getitem", "setitem", "delitem", "round", "format")


class CandidateClass(type):
    """Type of the classes that stand for a candidate's: calling one constructs over there."""

    __doc__ = property(lambda cls: exchange().read(cls, "__doc__"))
    __dict__ = property(lambda cls: _raw_names(cls))  # type: ignore[misc]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return exchange().call(cls, args, kwargs, feature="classes")

    def __getattr__(cls, name: str) -> Any:
        return exchange().read(cls, name)

    def __dir__(cls) -> Any:
        return exchange().ask("dir", cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        exchange().set(cls, name, value)

    def __delattr__(cls, name: str) -> None:
        exchange().delete(cls, name)

    def __iter__(cls) -> Any:
        return exchange().ask("iter", cls)

    def __len__(cls) -> int:
        return exchange().ask("len", cls)  # type: ignore[no-any-return]

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return exchange().ask("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        raise refused("contains")

    def __instancecheck__(cls, instance: Any) -> bool:
        """As the candidate's metaclass says, of its own objects alone."""
        if type.__instancecheck__(cls, instance):
            return True
        if not exchange().known.is_candidates(instance):
            return False
        stand_in = known_stand_in(cls)
        if stand_in is None or not stand_in.decides_instances:
            return False
        return exchange().ask("isinstance", instance, cls) is True


def _raw_names(cls: type) -> RawNames:
    return RawNames(cls, type.__dict__["__dict__"].__get__(cls), exchange())


def new_class(stand_in: StandIn, bases: tuple[type, ...]) -> type:
    """The driver's class for a class of the candidate's."""
    namespace = _namespace(stand_in, bases)
    made = _made(stand_in, bases, namespace)
    for name in stand_in.abstract:
        if not issubclass(made, ABSTRACT[name]):
            ABSTRACT[name].register(made)
    return made


def _made(stand_in: StandIn, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
    for tried in (bases, bases[:1], ()):
        try:
            return CandidateClass(stand_in.name, tried, dict(namespace))
        except TypeError:
            continue
    return CandidateClass(stand_in.name, (), {})


def _namespace(stand_in: StandIn, bases: tuple[type, ...]) -> dict[str, Any]:
    is_error = any(issubclass(base, BaseException) for base in bases)
    found: dict[str, Any] = {
        "__module__": stand_in.module,
        "__qualname__": stand_in.qualified,
        "__getattr__": _get_attribute,
        "__setattr__": _set_attribute,
        "__delattr__": _delete_attribute,
        "__reduce_ex__": _reduce,
        "__dir__": _nullary("dir"),
    }
    if is_error:
        found["__setattr__"] = _set_error_attribute
    elif stand_in.content not in TYPES or TYPES[stand_in.content] in MUTABLE_CONTENTS:
        # Weak references need a slot of their own, once in a line of classes.
        has_slot = any(base.__weakrefoffset__ for base in bases)
        slots = () if has_slot else ("__weakref__",)
        found |= {"__slots__": slots, "__str__": _nullary("str"), "__repr__": _nullary("repr")}
    for name in stand_in.specials:
        found[name] = _special(name)
    if stand_in.content in _MUTABLE:
        found["__class__"] = property(_class_shown)
    if not is_error and "__slots__" not in found:
        found["__dict__"] = property(functools.partial(_read_own, "__dict__"))
    own = ("__doc__", "__module__") if stand_in.is_function else ("__doc__",)
    for name in (*own, *stand_in.shadowed):
        found[name] = property(functools.partial(_read_own, name))
    if is_error:
        found["__str__"] = _error_text
    found |= {"__eq__": equal, "__ne__": not_equal, "__hash__": hash_of(stand_in)}
    return found


def _class_shown(self: Any) -> type:
    kind: Any = type(self)
    return _disguise(kind)


_REAL: dict[type, type] = {}


@functools.cache
def _disguise(kind: Any) -> type:
    """What `isinstance` is told an object is: its class, and the built-in type it derives from.

    No object is really of it, since its content would be a copy that nobody keeps up to date.
    """
    base = TYPES[stand_in_of(kind).content]
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made = type.__new__(CandidateClass, kind.__name__, (kind, base), names)
    _REAL[made] = kind
    return made


def real_class(kind: Any) -> Any:
    """The class of which a value of `__class__` tells, itself if it is no such value."""
    return _REAL.get(kind, kind)


def _special(name: str) -> Callable[..., Any]:
    word = name.strip("_")
    if name == "__call__":
        return _call
    if name == "__exit__":
        return _exit
    if name == "__contains__":
        return contains
    if name in _ORDER:
        return ordered(name)
    if name == "__get__":
        return _bind
    if word in _NULLARY or word in ("str", "repr"):
        return _nullary(word)
    if word in _WITH_OPERANDS:
        return lambda self, *operands: exchange().ask(word, self, *operands)
    if name == "__await__":
        return _await
    if name == "__aexit__":
        return _leave

    def refuse(self: Any, *_: Any) -> Any:
        raise refused("operator")

    return refuse


def _nullary(word: str) -> Callable[[Any], Any]:
    return lambda self: exchange().ask(word, self)


def _get_attribute(self: Any, name: str) -> Any:
    return exchange().read(self, name)


def _bind(self: Any, instance: Any, _: Any = None) -> Any:
    """A function of the candidate's in a class of the test's is a method there."""
    if not stand_in_of(type(self)).is_function:
        raise refused("descriptor")
    return self if instance is None else types.MethodType(self, instance)


def _read_own(name: str, self: Any) -> Any:
    return exchange().read(self, name)


def _set_attribute(self: Any, name: str, value: Any) -> None:
    exchange().set(self, name, value)


def _set_error_attribute(self: Any, name: str, value: Any) -> None:
    # Whoever raises or catches an exception sets such names on it.
    if name.startswith("__") and name.endswith("__"):
        BaseException.__setattr__(self, name, value)
    else:
        exchange().set(self, name, value)


def _delete_attribute(self: Any, name: str) -> None:
    exchange().delete(self, name)


def _reduce(self: Any, protocol: int) -> Any:
    raise refused("copy")


def _error_text(self: Any) -> str:
    return exchange().known.text_of(self)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    feature = "functions" if stand_in_of(type(self)).is_function else "special-methods"
    return exchange().call(self, args, kwargs, feature=feature)


def _exit(self: Any, kind: Any, error: Any, _: Any) -> bool:
    """Only an exception that says nothing of a verdict can be held back by the candidate."""
    block = sys._getframe(1)
    if error is None:
        exchange().ask("exit", self, None)
        return False
    held_back = exchange().ask("exit", self, error) is True
    return held_back and _may_be_held_back(error, block)


def _may_be_held_back(error: Any, block: types.FrameType | None) -> bool:
    if not isinstance(error, Exception) or is_verdict(error):
        return False
    if cuts_short(error, exchange().client.tests, block):
        raise refused("held-back")
    return True


def _await(self: Any) -> Any:
    return exchange().ask("await", self).__await__()


async def _leave(self: Any, kind: Any, error: Any, _: Any) -> bool:
    """As `_exit`, for `async with`."""
    # Whoever awaits this: until the first pause it is called by that frame.
    block = sys._getframe(1)
    held_back = await exchange().ask("aexit", self, error) is True
    return held_back and _may_be_held_back(error, block)
