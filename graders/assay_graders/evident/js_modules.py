"""JavaScript modules by their text: what they import and export, and other modules like them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from assay_graders.evident.js_tokens import Token, Tokens, Unreadable

__all__ = ["broken", "come_from", "is_module", "lacking", "redirected", "shim", "specifiers"]

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_ABSENT = (
    "const {0} = new Proxy(function () {{}}, Object.fromEntries(Object.getOwnPropertyNames(Reflect)"
    '.map((trap) => [trap, () => {{ throw new Error("absent"); }}])));'
)


def is_module(text: str) -> bool:
    """Whether a text is an ES module: it imports or exports by statement."""
    try:
        tokens = Tokens(text)
    except Unreadable:
        return bool(re.search(r"^[^\S\n]*+(?:import|export)\b", text, re.MULTILINE))
    return any(
        token.kind == "word"
        and token.text in ("import", "export")
        and tokens[index + 1].text not in ("(", ".")
        for index, token in enumerate(tokens)
        if index + 1 < len(tokens)
    )


def exported(text: str) -> set[str]:
    """Names that an ES module exports, as far as its statements say so plainly."""
    try:
        tokens = Tokens(text)
    except Unreadable:
        return set()
    return {name for name in _exported(tokens) if _NAME.fullmatch(name)}


def _exported(tokens: Tokens) -> Iterator[str]:
    for index, token in enumerate(tokens):
        if token.text != "export" or token.kind != "word":
            continue
        following = [t.text for t in tokens[index + 1 : index + 5]]
        words = [word for word in following if word not in ("async", "*")]
        if not words:
            continue
        if words[0] == "default":
            yield "default"
        elif words[0] in ("function", "class", "const", "let", "var") and len(words) > 1:
            yield words[1]
        elif words[0] == "{":
            yield from _listed(tokens, index + 1)


def _listed(tokens: Tokens, opening: int) -> Iterator[str]:
    last = ""
    for index in range(opening + 1, tokens[opening].pair):
        token = tokens[index]
        if token.pair >= 0:
            # No list of names has brackets in it.
            return
        if token.text == ",":
            yield last
        last = token.text
    yield last


def lacking(original: str | None, candidate: str | None) -> str:
    """What the fixture has here, with every name that only the candidate exports absent."""
    text = original or ""
    names = exported(candidate or "") - exported(text)
    if not is_module(text or candidate or ""):
        if original is not None:
            return text
        return f"{_ABSENT.format('assay')}\nmodule.exports = assay;\n"
    if not names and original is not None:
        return text
    lines = [text, _ABSENT.format("assay_absent")]
    lines += [f"export {{ assay_absent as {name} }};" for name in sorted(names)]
    return "\n".join(lines) + "\n"


def broken(restored: str, name: str) -> str:
    """A module that first runs the one of that file name beside it, for what that does."""
    if is_module(restored):
        return f'import "./{name}";\n{restored}'
    strict = '"use strict"; ' if re.match(r"\s*[\"']use strict[\"']", restored) else ""
    return f'{strict}require("./{name}");\n{restored}'


def shim(path: str, text: str) -> str:
    """A module that is the one at an absolute path."""
    if is_module(text):
        default = f'export {{ default }} from "{path}";\n' if "default" in exported(text) else ""
        return f'export * from "{path}";\n{default}'
    return f'module.exports = require("{path}");\n'


def specifiers(text: str) -> list[str] | None:
    """What a file imports and requires; None where that can't be read."""
    try:
        found = list(_imports(Tokens(text)))
    except Unreadable:
        return None
    return None if None in found else [token.text[1:-1] for token in found if token is not None]


def _imports(tokens: Tokens) -> Iterator[Token | None]:
    """The string of each import, None for one that is no plain string."""
    for index, token in enumerate(tokens[:-1]):
        if token.kind != "word" or (index and tokens[index - 1].text == "."):
            continue
        following = tokens[index + 1]
        if token.text in ("import", "require") and following.text == "(":
            inner = tokens[index + 2]
            is_plain = inner.kind == "string" and tokens[index + 3].text == ")"
            yield inner if is_plain else None
        elif token.text in ("import", "from") and following.kind == "string":
            yield following


def redirected(text: str, path: str, copies: Mapping[str, str]) -> str:
    """A module whose imports of certain files lead to others beside those.

    `path` and the keys of `copies` are relative to the graded tree, the values are file names.
    """
    try:
        tokens = Tokens(text)
        found = [token for token in _imports(tokens) if token is not None]
    except Unreadable:
        return text
    folder = posixpath.dirname(path)
    parts: list[str] = []
    done = 0
    for token in sorted(found, key=lambda token: token.start):
        name = token.text[1:-1]
        target = posixpath.normpath(posixpath.join(folder, name))
        if name.startswith(".") and target in copies:
            beside = posixpath.join(posixpath.dirname(name), copies[target])
            parts += text[done : token.start + 1], beside
            done = token.end - 1
    return "".join((*parts, text[done:]))


def come_from(
    file: str, names: Iterable[str] | None, places: frozenset[str], graded: frozenset[str]
) -> bool:
    """Whether a test file imports only Node's own modules, and known files by their place.

    `file`, `places` (trusted files) and `graded` are absolute paths.
    """
    if names is None:
        return False
    for name in names:
        if name.startswith("node:"):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
        if not name.startswith((".", "/")) or path not in places | graded:
            return False
    return True
