"""A package's public names as text: one line for each name, field, member and method.

Annotations are taken as they are written, so that the text is the same on every Python.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, NewType, Protocol

import attrs

_PUBLIC_DUNDERS = frozenset({"__call__", "__enter__", "__exit__", "__le__", "__lt__"})


def describe_package(package: ModuleType) -> str:
    """Everything that the modules of a package declare as public, module by module."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    lines: list[str] = []
    for name in names:
        if name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{name}")
        lines += ["", f"# {module.__name__}", ""]
        for public in sorted(getattr(module, "__all__", ())):
            lines += _describe(module, public, getattr(package, "__all__", ()))
    return "\n".join(lines).strip() + "\n"


def _describe(module: ModuleType, name: str, exported: Any) -> Iterator[str]:
    value = getattr(module, name)
    where = "" if name in exported else "  (import from the module)"
    if isinstance(value, FunctionType):
        yield f"def {name}{_signature(value)}{where}"
    elif isinstance(value, NewType):
        yield f"type {name} = NewType({value.__supertype__.__name__}){where}"
    elif isinstance(value, type):
        yield f"{_kind(value)} {name}{_bases(value)}{where}"
        yield from (f"    {line}" for line in _members(value))
    elif isinstance(value, int):
        # Flags of the platform: their numbers differ between machines.
        yield f"value {name}: {type(value).__name__}{where}"
    else:
        yield f"value {name} = {_value(value)}{where}"


def _kind(cls: type[Any]) -> str:
    if issubclass(cls, Enum):
        return "enum"
    if getattr(cls, "_is_protocol", False):
        return "protocol"
    return "data" if attrs.has(cls) else "class"


def _bases(cls: type[Any]) -> str:
    plain = (object, Enum, Protocol)
    names = [base.__name__ for base in cls.__bases__ if base not in plain]
    return f"({', '.join(names)})" if names else ""


def _members(cls: type[Any]) -> Iterator[str]:
    if issubclass(cls, Enum):
        for member in cls:
            yield f"{member.name} = {_enum_value(member)}"
    fields = {field.name for field in attrs.fields(cls)} if attrs.has(cls) else set()
    if attrs.has(cls):
        for field in attrs.fields(cls):
            if not field.name.startswith("_"):
                yield f"{field.name}: {_annotation(_written(cls, field))}{_default(field)}"
    else:
        for name, annotation in sorted(inspect.get_annotations(cls).items()):
            if not name.startswith("_") and not issubclass(cls, Enum):
                yield f"{name}: {_annotation(annotation)}{_class_value(cls, name)}"
    for name, member in sorted(vars(cls).items()):
        if name not in fields:
            yield from _member(cls, name, member)


def _written(cls: type[Any], field: attrs.Attribute[Any]) -> Any:
    """A field's annotation as its class has it; whoever resolves types changes the field's."""
    for base in cls.__mro__:
        if field.name in (found := inspect.get_annotations(base)):
            return found[field.name]
    return field.type


def _member(cls: type[Any], name: str, member: Any) -> Iterator[str]:
    is_error = issubclass(cls, Exception)
    if name == "__init__" and is_error and isinstance(member, FunctionType):
        yield f"def {name}{_signature(member)}"
    elif name.startswith("_") and name not in _PUBLIC_DUNDERS:
        return
    elif isinstance(member, FunctionType):
        if not (attrs.has(cls) and name in ("__le__", "__lt__")):
            yield f"def {name}{_signature(member)}"
    elif isinstance(member, property) and member.fget is not None:
        yield f"property {name}: {_annotation(member.fget.__annotations__.get('return'))}"
    elif isinstance(member, classmethod | staticmethod):
        yield f"{type(member).__name__} {name}{_signature(member.__func__)}"


def _class_value(cls: type[Any], name: str) -> str:
    return f" = {_value(vars(cls)[name])}" if name in vars(cls) else ""


def _signature(function: FunctionType) -> str:
    signature = inspect.signature(function)
    parts: list[str] = []
    previous: inspect.Parameter | None = None
    for parameter in signature.parameters.values():
        is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if is_keyword and (previous is None or previous.kind < parameter.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(parameter))
        previous = parameter
    returns = signature.return_annotation
    arrow = "" if returns is inspect.Signature.empty else f" -> {_annotation(returns)}"
    return f"({', '.join(parts)}){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    has_type = parameter.annotation is not parameter.empty
    kind = f": {_annotation(parameter.annotation)}" if has_type else ""
    has_default = parameter.default is not parameter.empty
    default = f" = {_value(parameter.default)}" if has_default else ""
    return f"{stars}{parameter.name}{kind}{default}"


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return "None" if annotation is None else getattr(annotation, "__name__", repr(annotation))


def _default(field: attrs.Attribute[Any]) -> str:
    if field.default is attrs.NOTHING:
        return ""
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
        return f" = {field.default.factory.__name__}()"  # type: ignore[union-attr]
    return f" = {_value(field.default)}"


def _enum_value(member: Enum) -> str:
    extra = [
        f"{name}={_value(value)}"
        for name, value in sorted(vars(member).items())
        if not name.startswith("_")
    ]
    return "  ".join((repr(member.value), *extra))


def _value(value: Any) -> str:
    if value is ...:
        return "..."
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if attrs.has(type(value)):
        return _instance(value)
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(_value(item) for item in value))}}}"
    if isinstance(value, type):
        return value.__name__
    return repr(value)


def _instance(value: Any) -> str:
    """A default that is data of ours; one that holds a function is told by its name alone."""
    if any(callable(getattr(value, field.name)) for field in attrs.fields(type(value))):
        return f"{type(value).__name__}({value.name!r}, ...)"
    return f"{type(value).__name__}()" if value == type(value)() else repr(value)
