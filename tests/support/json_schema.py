"""The part of JSON Schema that assay's own schemas use, as a judge apart from the loader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["problems"]

_TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_KNOWN = {
    "$schema",
    "title",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "pattern",
    "minLength",
    "minimum",
    "maximum",
    "uniqueItems",
}


def problems(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Rules that the value breaks; raises AssertionError for a keyword not known here."""
    assert schema.keys() <= _KNOWN
    if "anyOf" in schema and all(problems(option, value) for option in schema["anyOf"]):
        return ["anyOf"]
    if "enum" in schema and value not in schema["enum"]:
        return ["enum"]
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        return ["const"]
    if "type" in schema and not _is(schema["type"], value):
        return [f"type {schema['type']}"]
    if isinstance(value, dict):
        return _of_object(schema, value)
    if isinstance(value, list):
        if schema.get("uniqueItems") and any(value.count(item) > 1 for item in value):
            return ["uniqueItems"]
        return [found for item in value for found in problems(schema.get("items", {}), item)]
    if _is("number", value):
        outside = not schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return ["range"] if outside else []
    if isinstance(value, str):
        short = len(value) < schema.get("minLength", 0)
        mismatch = "pattern" in schema and not re.search(schema["pattern"], value)
        return ["text"] if short or mismatch else []
    return []


def _is(type_: str, value: Any) -> bool:
    if isinstance(value, bool):
        return type_ == "boolean"
    return isinstance(value, _TYPES[type_])


def _of_object(schema: Mapping[str, Any], value: Mapping[str, Any]) -> list[str]:
    found = [f"required {key}" for key in schema.get("required", ()) if key not in value]
    named, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for key, item in value.items():
        if key in named:
            found += problems(named[key], item)
        elif others is False:
            found.append(f"unknown {key}")
        else:
            found += problems(others, item)
    return found
