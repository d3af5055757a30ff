"""Inputs drawn at random from a recorded seed, so that nobody can know them beforehand.

A strategy is an object with one key, the kind of value, and its bounds. The same seed gives the
same inputs on every host and in every version of Python that keeps `random.Random`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from assay_graders.calls.document import DataFault, fields, integer, items, text, value
from assay_graders.calls.functions import Function, read_function
from assay_graders.wire.values import Codec

__all__ = ["Generator", "read_generator"]

MAX_INPUTS = 100_000
MAX_SIZE = 10_000
MAX_INTEGER = 2**256
_MAX_PARTS = 100
_MAX_DEPTH = 8
_ALPHABET = "".join(map(chr, range(0x20, 0x7F)))

Draw = Callable[[random.Random], Any]


@frozen
class Generator:
    """`count` inputs: how each argument is drawn, or the hidden function that draws them all."""

    count: int
    args: tuple[Draw, ...] = ()
    kwargs: Mapping[str, Draw] = field(factory=dict)
    function: Function | None = None

    def draw(self, source: random.Random) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one call."""
        args = [draw(source) for draw in self.args]
        return args, {name: draw(source) for name, draw in self.kwargs.items()}


def read_generator(item: Any, place: str, codec: Codec) -> Generator:
    """A generator as a case file writes it; raises DataFault."""
    entry = fields(item, place, ("count",), ("args", "kwargs", "function"))
    count = integer(entry["count"], f"{place}.count", 1, MAX_INPUTS)
    if "function" in entry:
        if len(entry) > 2:
            raise DataFault(f"{place}: function takes the place of args and kwargs")
        return Generator(count, function=read_function(entry["function"], f"{place}.function"))
    reader = _Reader(codec)
    kwargs = entry.get("kwargs", {})
    if type(kwargs) is not dict or len(kwargs) > _MAX_PARTS:
        raise DataFault(f"{place}.kwargs: must be an object of strategies")
    return Generator(
        count=count,
        args=reader.all(entry.get("args", []), f"{place}.args"),
        kwargs={name: reader.one(part, f"{place}.kwargs.{name}") for name, part in kwargs.items()},
    )


class _Reader:
    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._depth = 0

    def all(self, item: Any, place: str) -> tuple[Draw, ...]:
        return tuple(
            self.one(part, f"{place}[{index}]")
            for index, part in enumerate(items(item, place, _MAX_PARTS))
        )

    def one(self, item: Any, place: str) -> Draw:
        if type(item) is not dict or len(item) != 1:
            raise DataFault(f"{place}: must be an object with one key, the kind of value")
        ((kind, bounds),) = item.items()
        read = _KINDS.get(kind)
        if read is None:
            raise DataFault(f"{place}: unknown kind of value; known: {', '.join(sorted(_KINDS))}")
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise DataFault(f"{place}: is too deep")
        draw: Draw = read(self, bounds, f"{place}.{kind}")
        self._depth -= 1
        return draw

    def size(self, bounds: Mapping[str, Any], place: str) -> tuple[int, int]:
        least = integer(bounds.get("min", 0), f"{place}.min", 0, MAX_SIZE)
        return least, integer(bounds.get("max", least + 10), f"{place}.max", least, MAX_SIZE)

    def integers(self, item: Any, place: str) -> Draw:
        bounds = fields(item, place, ("min", "max"))
        least = integer(bounds["min"], f"{place}.min", -MAX_INTEGER, MAX_INTEGER)
        most = integer(bounds["max"], f"{place}.max", least, MAX_INTEGER)
        return lambda source: source.randint(least, most)

    def floats(self, item: Any, place: str) -> Draw:
        bounds = fields(item, place, ("min", "max"))
        for key in ("min", "max"):
            if type(bounds[key]) not in (int, float) or abs(bounds[key]) > 1e300:
                raise DataFault(f"{place}.{key}: must be a number")
        least, most = float(bounds["min"]), float(bounds["max"])
        if least > most:
            raise DataFault(f"{place}.max: must not be below min")
        return lambda source: source.uniform(least, most)

    def booleans(self, item: Any, place: str) -> Draw:
        fields(item, place, ())
        return lambda source: source.random() < 0.5

    def texts(self, item: Any, place: str) -> Draw:
        bounds = fields(item, place, (), ("alphabet", "min", "max"))
        alphabet = text(bounds.get("alphabet", _ALPHABET), f"{place}.alphabet")
        least, most = self.size(bounds, place)
        return lambda source: "".join(source.choices(alphabet, k=source.randint(least, most)))

    def bytestrings(self, item: Any, place: str) -> Draw:
        least, most = self.size(fields(item, place, (), ("min", "max")), place)
        return lambda source: source.randbytes(source.randint(least, most))

    def lists(self, item: Any, place: str) -> Draw:
        bounds = fields(item, place, ("of",), ("min", "max"))
        draw = self.one(bounds["of"], f"{place}.of")
        least, most = self.size(bounds, place)
        return lambda source: [draw(source) for _ in range(source.randint(least, most))]

    def tuples(self, item: Any, place: str) -> Draw:
        draws = self.all(item, place)
        return lambda source: tuple(draw(source) for draw in draws)

    def dicts(self, item: Any, place: str) -> Draw:
        bounds = fields(item, place, ("keys", "values"), ("min", "max"))
        keys = self.one(bounds["keys"], f"{place}.keys")
        values = self.one(bounds["values"], f"{place}.values")
        least, most = self.size(bounds, place)
        return lambda source: {
            keys(source): values(source) for _ in range(source.randint(least, most))
        }

    def one_of(self, item: Any, place: str) -> Draw:
        draws = self.all(item, place)
        if not draws:
            raise DataFault(f"{place}: is empty")
        return lambda source: source.choice(draws)(source)

    def sampled(self, item: Any, place: str) -> Draw:
        trees = items(item, place, MAX_SIZE)
        if not trees:
            raise DataFault(f"{place}: is empty")
        values = [value(tree, f"{place}[{at}]", self._codec) for at, tree in enumerate(trees)]
        return lambda source: source.choice(values)


_KINDS: dict[str, Callable[[_Reader, Any, str], Draw]] = {
    "boolean": _Reader.booleans,
    "bytes": _Reader.bytestrings,
    "dict": _Reader.dicts,
    "float": _Reader.floats,
    "integer": _Reader.integers,
    "list": _Reader.lists,
    "one_of": _Reader.one_of,
    "sampled": _Reader.sampled,
    "text": _Reader.texts,
    "tuple": _Reader.tuples,
}
