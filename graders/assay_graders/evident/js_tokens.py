"""Tokens of JavaScript text, as far as reading and changing test files needs them.

What can't be read for certain raises Unreadable; then nothing of the file is changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from attrs import frozen

__all__ = ["Token", "Tokens", "Unreadable"]

Kind = Literal["word", "number", "string", "template", "regex", "mark"]

_SPACE = re.compile(r"(?:\s|//[^\n\u2028\u2029]*|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"[#@]?[\w$\\]+")
_NUMBER = re.compile(r"(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)n?")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_REGEX = re.compile(r"/(?![*/])(?:[^\\/\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_MARK = re.compile(r"=>|\.\.\.|\?\.|[-+*&|?]{2}=?|===?|!==?|[<>]=?|[-+*/%&|^!~?:;,.=(){}\[\]@#]")
_BEFORE_REGEX = {
    *("return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "instanceof"),
    *("new", "throw", "await", "yield"),
}
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Unreadable(Exception):
    """The text can't be told apart into tokens for certain."""


@frozen
class Token:
    """One token: its text, where it is, and the index of the token that closes or opens it."""

    kind: Kind
    text: str
    start: int
    end: int
    pair: int = -1


class Tokens(Sequence[Token]):
    """All tokens of a text; brackets are paired, strings and templates are one token each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens: list[Token] = []
        self._read()
        self._match()

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._tokens[index]

    def _read(self) -> None:
        place = len(self.text.split("\n", 1)[0]) if self.text.startswith("#!") else 0
        while True:
            space = _SPACE.match(self.text, place)
            place = space.end() if space else place
            if place >= len(self.text):
                return
            if self.text.startswith("/*", place):
                # A comment without an end; looking for it again after each token takes long.
                raise Unreadable
            kind, end = self._next(place)
            self._tokens.append(Token(kind, self.text[place:end], place, end))
            place = end

    def _next(self, place: int) -> tuple[Kind, int]:
        char = self.text[place]
        if char == "`":
            return "template", self._template(place)
        found = None
        kind: Kind = "mark"
        if char in "'\"":
            kind, found = "string", _STRING.match(self.text, place)
        elif char.isdigit() or re.match(r"\.\d", self.text[place : place + 2]):
            kind, found = "number", _NUMBER.match(self.text, place)
        elif char.isalpha() or char in "_$#\\":
            kind, found = "word", _WORD.match(self.text, place)
        elif char == "/" and self._regex_may_follow():
            kind, found = "regex", _REGEX.match(self.text, place)
        else:
            found = _MARK.match(self.text, place)
        if found is None:
            raise Unreadable
        return kind, found.end()

    def _regex_may_follow(self) -> bool:
        if not self._tokens:
            return True
        last = self._tokens[-1]
        if last.kind == "word":
            return last.text in _BEFORE_REGEX
        return last.kind == "mark" and last.text not in (")", "]", "++", "--")

    def _template(self, place: int) -> int:
        """The place after a template; what it embeds is not looked into but for its brackets.

        Embedded code may hold templates again, any number deep: `open_braces` has a number for
        each embedding that goes on, and `None` for each template.
        """
        open_braces: list[int | None] = [None]
        at = place + 1
        while open_braces:
            if at >= len(self.text):
                raise Unreadable
            depth = open_braces[-1]
            at = (
                self._of_template(at, open_braces)
                if depth is None
                else self._of_code(at, depth, open_braces)
            )
        return at

    def _of_template(self, at: int, open_braces: list[int | None]) -> int:
        if self.text.startswith("${", at):
            open_braces.append(1)
            return at + 2
        if self.text[at] == "`":
            open_braces.pop()
        return at + (2 if self.text[at] == "\\" else 1)

    def _of_code(self, at: int, depth: int, open_braces: list[int | None]) -> int:
        char = self.text[at]
        if char in "'\"":
            found = _STRING.match(self.text, at)
            if found is None:
                raise Unreadable
            return found.end()
        if char == "`":
            open_braces.append(None)
        elif char == "}" and depth == 1:
            open_braces.pop()
        else:
            open_braces[-1] = depth + {"{": 1, "}": -1}.get(char, 0)
        return at + 1

    def _match(self) -> None:
        waiting: list[int] = []
        for index, token in enumerate(self._tokens):
            if token.kind != "mark":
                continue
            if token.text in _PAIRS.values():
                waiting.append(index)
            elif token.text in _PAIRS:
                if not waiting or self._tokens[waiting[-1]].text != _PAIRS[token.text]:
                    raise Unreadable
                opening = waiting.pop()
                for one, other in ((opening, index), (index, opening)):
                    found = self._tokens[one]
                    self._tokens[one] = Token(found.kind, found.text, found.start, found.end, other)
        if waiting:
            raise Unreadable
