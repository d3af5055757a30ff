"""From plain JSON data to attrs classes, strictly: no unknown key, no conversion.

cattrs dispatches on the declared types; the hooks here refuse what it would convert
(text from a number, a tuple from text) and remember the path of the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
from cattrs import Converter

from assay.api.errors import ManifestError
from assay.api.paths import printable
from assay.strict_json import join_field

__all__ = ["FieldError", "checked", "structure", "structure_value"]

T = TypeVar("T")
_SHOWN_RULE = 200
_VALUE_AFTER_RULE = re.compile(r"('\w+' must be [^:]*|Length of '\w+' must be [^:]*): .*")


class FieldError(ValueError):
    """A value breaks a rule; `path` holds keys and indices from the outermost inwards."""

    def __init__(self, rule: str, path: tuple[str | int, ...] = ()) -> None:
        self.rule, self.path = rule, path
        super().__init__(rule)

    def under(self, key: str | int) -> FieldError:
        """The same error, seen from one level further out."""
        return FieldError(self.rule, (key, *self.path))

    def of(self, file: str, field: str = "") -> ManifestError:
        """The error as a user sees it: file, path of the field, rule."""
        at = field
        for key in self.path:
            at = join_field(at, key)
        return ManifestError(file, at, self.rule)


def structure(cls: type[T], value: Any, file: str, field: str = "") -> T:
    """An instance of an attrs class from a JSON object.

    Keys are the attributes' names. Raises ManifestError naming `file`, the path of the
    field below `field`, and the rule; the value is never shown.
    """
    try:
        return structure_value(cls, value)
    except FieldError as error:
        raise error.of(file, field) from None


def structure_value(cls: type[T], value: Any) -> T:
    """An instance of an attrs class from a JSON object; raises FieldError."""
    return _CONVERTER.structure(value, cls)


def checked(key: str | int, check: Callable[..., T], *arguments: Any) -> T:
    """What `check(*arguments)` returns; its FieldError is seen from below `key`."""
    try:
        return check(*arguments)
    except FieldError as error:
        raise error.under(key) from None


def _member(value: Any, type_: Any, key: str | int) -> Any:
    try:
        return _CONVERTER.structure(value, type_)
    except FieldError as error:
        raise error.under(key) from None
    except (TypeError, ValueError, LookupError, AttributeError):
        raise FieldError("has a value of the wrong kind", (key,)) from None


def _class_hook(cls: type[Any]) -> Callable[[Any, Any], Any]:
    attrs.resolve_types(cls)
    fields = {field.alias or field.name: field for field in attrs.fields(cls) if field.init}

    def hook(value: Any, _: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise FieldError("must be an object")
        for key in value:
            if key not in fields:
                raise FieldError("is not a known key", (key,))
        arguments = {}
        for key, field in fields.items():
            if key in value:
                arguments[key] = _member(value[key], field.type or Any, key)
            elif field.default is attrs.NOTHING:
                raise FieldError("is required", (key,))
        return _make(cls, arguments)

    return hook


def _make(cls: type[Any], arguments: Mapping[str, Any]) -> Any:
    try:
        return cls(**arguments)
    except FieldError:
        raise
    except (TypeError, ValueError) as error:
        raise _of_validator(error) from None


def _of_validator(error: Exception) -> FieldError:
    """What a validator said, without the value that attrs' own validators append."""
    text = printable(str(error.args[0]) if error.args else "breaks a rule")
    named = [item.name for item in error.args[1:] if isinstance(item, attrs.Attribute)]
    text = text.partition(" (got ")[0] if named else _VALUE_AFTER_RULE.sub(r"\1", text)
    return FieldError(text[:_SHOWN_RULE], tuple(named[:1]))


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise FieldError("must be text")
    return value


def _whole(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError("must be a whole number")
    return value


def _number(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("must be a number")
    return float(value)


def _flag(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise FieldError("must be true or false")
    return value


def _choice(value: Any, cls: Any) -> Any:
    for member in cls:
        if isinstance(value, str) and member.value == value:
            return member
    raise FieldError("must be one of: " + ", ".join(str(member.value) for member in cls))


def _literal(value: Any, type_: Any) -> Any:
    known = get_args(type_)
    if any(type(value) is type(one) and value == one for one in known):
        return value
    raise FieldError("must be one of: " + ", ".join(str(one) for one in known))


def _is_literal(type_: Any) -> bool:
    return get_origin(type_) is Literal


def _is_sequence(type_: Any) -> bool:
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is Ellipsis
    return origin in (list, frozenset, set)


def _sequence_hook(type_: Any) -> Callable[[Any, Any], Any]:
    maker: Any = get_origin(type_)
    arguments = get_args(type_)
    item: Any = arguments[0] if arguments else Any
    unique = maker in (frozenset, set)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise FieldError("must be a list")
        found = [_member(one, item, index) for index, one in enumerate(value)]
        if unique and len(set(found)) != len(found):
            raise FieldError("must not repeat an entry")
        return maker(found)

    return hook


def _is_record(type_: Any) -> bool:
    return get_origin(type_) is tuple and Ellipsis not in get_args(type_)


def _record_hook(type_: Any) -> Callable[[Any, Any], Any]:
    items = get_args(type_)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise FieldError(f"must be a list of {len(items)} values")
        pairs = enumerate(zip(value, items, strict=True))
        return tuple(_member(one, item, index) for index, (one, item) in pairs)

    return hook


def _is_mapping(type_: Any) -> bool:
    origin = get_origin(type_)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _mapping_hook(type_: Any) -> Callable[[Any, Any], Any]:
    arguments = get_args(type_)
    item: Any = arguments[1] if len(arguments) > 1 else Any

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError("must be an object")
        return {key: _member(one, item, key) for key, one in value.items()}

    return hook


def _is_class(type_: Any) -> bool:
    return isinstance(type_, type) and attrs.has(type_)


def _is_enum(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Enum)


def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(int, _whole)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(bool, _flag)
    converter.register_structure_hook_func(_is_enum, _choice)
    converter.register_structure_hook_func(_is_literal, _literal)
    converter.register_structure_hook_factory(_is_sequence, _sequence_hook)
    converter.register_structure_hook_factory(_is_record, _record_hook)
    converter.register_structure_hook_factory(_is_mapping, _mapping_hook)
    converter.register_structure_hook_factory(_is_class, _class_hook)
    return converter


_CONVERTER = _converter()
