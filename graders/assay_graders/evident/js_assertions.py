"""Where a JavaScript test asserts something, and how to make exactly that assertion fail.

As in Python's: whoever passes the test as it is fails the changed one.
"""

from __future__ import annotations

import ast
import random
import string
from collections.abc import Iterator

from assay_graders.evident.js_tests import JsTest, arguments_of
from assay_graders.evident.js_tokens import Token, Tokens
from assay_graders.evident.literals import Splice

__all__ = ["failing"]

_EQUAL = ("equal", "strictEqual", "deepEqual", "deepStrictEqual")
_OPPOSITES = {
    "throws": "doesNotThrow",
    "rejects": "doesNotReject",
    "match": "doesNotMatch",
    **{name: f"not{name[0].upper()}{name[1:]}" for name in _EQUAL},
}
_OPPOSITES = {other: name for name, other in _OPPOSITES.items()} | {
    name: other for name, other in _OPPOSITES.items() if name not in _EQUAL
}
_FAILS = "null.x"
"""An expression that throws wherever it is evaluated."""


def failing(
    tokens: Tokens, test: JsTest, which: random.Random, how: random.Random
) -> tuple[Splice, ...] | None:
    """Replacements that make a test fail; None where none is certain to."""
    strong: list[tuple[Splice, ...]] = []
    weak: list[tuple[Splice, ...]] = []
    for callee, name in _asserted(tokens, test):
        change, is_strong = _change(tokens, callee, name, how)
        if change:
            (strong if is_strong else weak).append(change)
    if strong or weak:
        return which.choice(strong or weak)
    start = _offset(tokens, tokens[test.body[0]].start)
    if test.is_block:
        return ((start + 1, start + 1, f"{_FAILS};".encode()),)
    if any(t.text == "=" for t in _outer(tokens, *test.body)) or test.body[0] >= test.body[1]:
        return None
    return ((start, start, f"{_FAILS} || ".encode()),)


def _offset(tokens: Tokens, place: int) -> int:
    return len(tokens.text[:place].encode("utf-8"))


def _splice(tokens: Tokens, start: int, end: int, text: str) -> Splice:
    return _offset(tokens, start), _offset(tokens, end), text.encode("utf-8")


def _outer(tokens: Tokens, start: int, end: int) -> Iterator[Token]:
    """Tokens that no bracket among them encloses."""
    index = start
    while index < end:
        token = tokens[index]
        yield token
        index = token.pair + 1 if token.pair > index else index + 1


def _asserted(tokens: Tokens, test: JsTest) -> Iterator[tuple[int, str]]:
    """Calls of assertions that a passing test reaches: index of the opening bracket, and name."""
    start, end = (test.body[0] + 1, test.body[1]) if test.is_block else test.body
    index = start
    while index < end:
        if any(t.text == "return" for t in tokens[start:index]):
            return
        before = tokens[index - 1].text if index > start else ";"
        found = _callee(tokens, index) if before in (";", "}", "{") else None
        if found is not None:
            yield found
            index = tokens[found[0]].pair
        pair = tokens[index].pair
        index = pair + 1 if pair > index else index + 1


def _callee(tokens: Tokens, index: int) -> tuple[int, str] | None:
    if tokens[index].text == "await":
        index += 1
    words = []
    while index + 1 < len(tokens) and tokens[index].kind == "word":
        words.append(tokens[index].text)
        if tokens[index + 1].text == "(":
            is_whole = words[0] == "assert" or len(words) == 1
            return (index + 1, words[-1]) if is_whole else None
        if tokens[index + 1].text != ".":
            return None
        index += 2
    return None


def _change(
    tokens: Tokens, opening: int, name: str, how: random.Random
) -> tuple[tuple[Splice, ...], bool]:
    arguments = arguments_of(tokens, opening)
    if any(tokens[start].text == "..." for start, _ in arguments) or not arguments:
        return (), False
    if name in _EQUAL and len(arguments) >= 2:
        for start, end in (arguments[1], arguments[0]):
            splice = _other_value(tokens, start, end, how)
            if splice is not None:
                return (splice,), True
        return _around(tokens, *arguments[1], "{ is: (", ") }"), True
    if name in ("ok", "assert"):
        return _around(tokens, *arguments[0], "!(", ")"), False
    if name in _OPPOSITES:
        word = tokens[opening - 1]
        return (_splice(tokens, word.start, word.end, _OPPOSITES[name]),), False
    return (), False


def _around(tokens: Tokens, start: int, end: int, one: str, other: str) -> tuple[Splice, ...]:
    begin, stop = tokens[start].start, tokens[end - 1].end
    return _splice(tokens, begin, begin, one), _splice(tokens, stop, stop, other)


def _other_value(tokens: Tokens, start: int, end: int, how: random.Random) -> Splice | None:
    """Another value for an argument that is a literal, or a list or object of literals."""
    leaves = []
    for index in range(start, end):
        token = tokens[index]
        if token.kind == "mark" and token.text in "-,:{}[]":
            continue
        is_key = index + 1 < end and tokens[index + 1].text == ":"
        if is_key and token.kind in ("word", "string", "number"):
            continue
        if token.kind not in ("number", "string") and token.text not in _WORDS:
            return None
        leaves.append(token)
    marks = [tokens[index].text for index in range(start, end)]
    if "-" in marks and any(
        mark == "-" and index > 0 and marks[index - 1] not in (",", ":", "[")
        for index, mark in enumerate(marks)
    ):
        return None
    how.shuffle(leaves)
    for token in leaves:
        text = _other_leaf(token, how)
        if text is not None:
            return _splice(tokens, token.start, token.end, text)
    return None


_WORDS = {"true": "false", "false": "true", "null": "1", "undefined": "1"}


def _other_leaf(token: Token, how: random.Random) -> str | None:
    if token.kind == "word":
        return _WORDS[token.text]
    if token.kind == "number":
        if not token.text.isdigit() or len(token.text) > 15 or token.text.startswith("0"):
            is_zero = token.text == "0"
            is_plain = token.text.replace(".", "", 1).isdigit() and len(token.text) < 12
            return str(how.randint(1, 9)) if is_zero else f"{token.text}7" if is_plain else None
        return str(int(token.text) + how.randint(1, 9))
    if "\\" in token.text:
        return None
    value = ast.literal_eval(token.text)
    places = [index for index, char in enumerate(value) if char in string.ascii_letters]
    quote = token.text[0]
    if not places:
        return f"{quote}{value}{how.choice(string.ascii_lowercase)}{quote}"
    index = how.choice(places)
    choices = [c for c in string.ascii_lowercase if c != value[index].lower()]
    return f"{quote}{value[:index]}{how.choice(choices)}{value[index + 1 :]}{quote}"
