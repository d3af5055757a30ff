"""Tests that a JavaScript test file defines by calls of `test`, `it`, `describe` and `suite`."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

from attrs import frozen

from assay_graders.evident.js_tokens import Tokens

__all__ = ["JsTest", "arguments_of", "named_tests", "shuffled"]

_TESTS = ("test", "it")
_SUITES = ("describe", "suite")


@frozen
class JsTest:
    """One test or suite: the statement's tokens, its name, and its function's body.

    `body` are the indexes of the braces of a block, or of the first token of an expression and
    the one after it.
    """

    first: int
    end: int
    is_suite: bool
    name: str | None
    body: tuple[int, int]
    is_block: bool


def named_tests(tokens: Tokens) -> list[tuple[tuple[str, ...], JsTest]]:
    """Each test with the names of the suites around it and its own; unclear names left out."""
    return list(_named(tokens, 0, len(tokens), ()))


def _named(
    tokens: Tokens, start: int, end: int, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsTest]]:
    for test in _statements(tokens, start, end):
        if test.name is None:
            continue
        names = (*above, test.name)
        if not test.is_suite:
            yield names, test
        elif test.is_block:
            yield from _named(tokens, test.body[0] + 1, test.body[1], names)


def _statements(tokens: Tokens, start: int, end: int) -> Iterator[JsTest]:
    """Calls of tests and suites that are statements right here, not inside of any bracket."""
    index = start
    while index < end:
        test = _call(tokens, index, start, end)
        if test is not None:
            yield test
            index = test.end
        else:
            pair = tokens[index].pair
            index = pair + 1 if pair > index else index + 1


def _call(tokens: Tokens, index: int, start: int, end: int) -> JsTest | None:
    first = index
    if tokens[index].text == "await" and index + 1 < end:
        index += 1
    token = tokens[index]
    if token.kind != "word" or token.text not in (*_TESTS, *_SUITES):
        return None
    if index + 1 >= end or tokens[index + 1].text != "(":
        return None
    if first > start and not _ends_statement(tokens, first - 1):
        return None
    opening = index + 1
    closing = tokens[opening].pair
    arguments = arguments_of(tokens, opening)
    body = _body(tokens, *arguments[-1]) if arguments else None
    if body is None:
        return None
    after = closing + 1
    if after < end and tokens[after].text == ";":
        # One on a line of its own belongs to what follows it.
        is_near = "\n" not in tokens.text[tokens[closing].end : tokens[after].start]
        after += is_near
    name = _text(tokens, *arguments[0])
    return JsTest(first, after, token.text in _SUITES, name, *body)


def _ends_statement(tokens: Tokens, index: int) -> bool:
    """Whether a statement can start after this token: not if it is the head of a loop."""
    if tokens[index].text == ")":
        head = tokens[tokens[index].pair - 1].text if tokens[index].pair > 0 else ""
        return head not in ("for", "if", "while", "with", "await")
    return tokens[index].text in (";", "}", "{")


def arguments_of(tokens: Tokens, opening: int) -> list[tuple[int, int]]:
    """First token and token after the last of each argument of a call."""
    found, start, index = [], opening + 1, opening + 1
    closing = tokens[opening].pair
    while index < closing:
        if tokens[index].text == "," and tokens[index].kind == "mark":
            found.append((start, index))
            start = index + 1
        index = tokens[index].pair + 1 if tokens[index].pair > index else index + 1
    if start < closing:
        found.append((start, closing))
    return found


def _text(tokens: Tokens, start: int, end: int) -> str | None:
    """The text of an argument that is one plain string."""
    token = tokens[start]
    if end != start + 1 or token.kind not in ("string", "template") or "\\" in token.text:
        return None
    if token.kind == "template":
        return None if "${" in token.text else token.text[1:-1]
    found = ast.literal_eval(token.text)
    return found if isinstance(found, str) else None


def _body(tokens: Tokens, start: int, end: int) -> tuple[tuple[int, int], bool] | None:
    """The body of a function, and whether it is a block."""
    index = start
    while index < end:
        token = tokens[index]
        if token.text == "=>":
            if tokens[index + 1].text == "{":
                return (index + 1, tokens[index + 1].pair), True
            return (index + 1, end), False
        if token.text == "{" and tokens[start].text in ("function", "async"):
            return (index, token.pair), True
        index = token.pair + 1 if token.pair > index else index + 1
    return None


def shuffled(text: str, tokens: Tokens, chance: random.Random) -> tuple[str, bool]:
    """The text with neighbouring tests, and those of each suite, in another order.

    Only statements with nothing but space and comments between them change places. Says also
    whether all tests of the file took part.
    """
    if not len(tokens):
        return text, True
    made_elsewhere = _calls(tokens) > _readable(tokens, 0, len(tokens))
    made, is_whole = _shuffled(text, tokens, 0, len(tokens), chance)
    return text[: tokens[0].start] + made + text[tokens[len(tokens) - 1].end :], (
        is_whole and not made_elsewhere
    )


def _calls(tokens: Tokens) -> int:
    """Calls of `test`, `it`, `describe` and `suite`, wherever they stand."""
    return sum(
        token.kind == "word"
        and token.text in (*_TESTS, *_SUITES)
        and tokens[index + 1].text == "("
        and tokens[index - 1].text not in (".", "?.", "function")
        for index, token in enumerate(tokens[:-1])
    )


def _readable(tokens: Tokens, start: int, end: int) -> int:
    """Those of them that change places: statements of the file, or of a suite that is one."""
    found = 0
    for test in _statements(tokens, start, end):
        found += 1
        if test.is_suite and test.is_block:
            found += _readable(tokens, test.body[0] + 1, test.body[1])
    return found


def _shuffled(
    text: str, tokens: Tokens, start: int, end: int, chance: random.Random
) -> tuple[str, bool]:
    """The text of these tokens alone."""
    first = tokens[start].start if start < len(tokens) else len(text)
    last = tokens[end - 1].end if end > start else first
    statements = list(_statements(tokens, start, end))
    groups: list[list[JsTest]] = []
    for statement in statements:
        if groups and groups[-1][-1].end == statement.first:
            groups[-1].append(statement)
        else:
            groups.append([statement])
    made, place, is_whole = "", first, len(groups) <= 1
    for group in groups:
        slots = [(tokens[one.first].start, tokens[one.end - 1].end) for one in group]
        parts = []
        for one in group:
            part, is_all = _inside(text, tokens, one, chance)
            parts.append(part)
            is_whole = is_whole and is_all
        chance.shuffle(parts)
        for (begin, stop), part in zip(slots, parts, strict=True):
            made += text[place:begin] + part
            place = stop
    return made + text[place:last], is_whole


def _inside(text: str, tokens: Tokens, test: JsTest, chance: random.Random) -> tuple[str, bool]:
    begin, stop = tokens[test.first].start, tokens[test.end - 1].end
    if not test.is_suite or not test.is_block or test.body[0] + 1 >= test.body[1]:
        return text[begin:stop], True
    opening, closing = test.body
    inner, is_all = _shuffled(text, tokens, opening + 1, closing, chance)
    start, end = tokens[opening + 1].start, tokens[closing - 1].end
    return text[begin:start] + inner + text[end:stop], is_all
