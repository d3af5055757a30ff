"""No known secret survives in a form that redaction claims to find; ordinary text stays."""

from __future__ import annotations

import base64
import json
import urllib.parse

from hypothesis import given
from hypothesis import strategies as st

from assay.api import Captured
from assay.redaction import PATH, SECRET, Redactor
from assay.token_shapes import find_tokens

# No brackets: a secret could not be told from what stands in its place.
VALUES = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="<>"),
    min_size=8,
    max_size=40,
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
ORDINARY = st.text(st.sampled_from("abc xyz,.\n\t(){}=+*'\"0é→"), max_size=200)
TOKENS = (
    "ghp_" + "a1B2" * 9,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "sk-ant-" + "api03-" + "x" * 40,
    "xoxb-" + "123456789012-abcdef",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE+aaaa\nbbbb==\n-----END RSA " + "PRIVATE KEY-----",
)
HOSTS = ("/home/alice", "/root", "/Users/Alice", "C:\\Users\\Alice", "/srv/assay-data/store")


def encoded(value: str, form: str, offset: int) -> str:
    raw = bytes(offset) + value.encode()
    match form:
        case "plain":
            return value
        case "quoted":
            return urllib.parse.quote(value, safe="")
        case "form":
            return urllib.parse.quote_plus(value)
        case "percent":
            return "".join(f"%{byte:02x}" for byte in value.encode())
        case "json":
            return json.dumps(value)
        case "repr":
            return repr(value)
        case "hex":
            return value.encode().hex()
        case "base64":
            return base64.b64encode(raw).decode()
        case "urlsafe":
            return base64.urlsafe_b64encode(raw + b"tail").decode()
        case _:
            return base64.encodebytes(bytes(60) + raw).decode()


FORMS = ("plain", "quoted", "form", "percent", "json", "repr", "hex", "base64", "urlsafe", "lines")


def decodings(text: str) -> list[str]:
    """The text, and what a reader could make of it with the tools that everybody has."""
    found = [text, urllib.parse.unquote(text), urllib.parse.unquote_plus(text)]
    for joined in (text, text.replace("\n", "")):
        for word in "".join(
            c if c.isascii() and (c.isalnum() or c in "+/=-_") else " " for c in joined
        ).split():
            for cut in range(4):
                part = word[cut:].replace("-", "+").replace("_", "/").rstrip("=")
                part = part[: len(part) // 4 * 4] + (part[len(part) // 4 * 4 :] + "===")[:4]
                try:
                    found.append(base64.b64decode(part).decode("utf-8", "replace"))
                except ValueError:
                    continue
            try:
                found.append(bytes.fromhex(word).decode("utf-8", "replace"))
            except ValueError:
                continue
    return found


@given(VALUES, st.sampled_from(FORMS), st.integers(0, 2), ORDINARY, ORDINARY)
def test_no_known_secret_survives(
    value: str, form: str, offset: int, before: str, after: str
) -> None:
    redactor = Redactor.of([value], wide=False)
    written = encoded(value, form, offset)
    text = redactor.text(f"{before} {written} {after}")
    assert written.strip("\"'") not in text
    assert not any(value in reading for reading in decodings(text))
    assert redactor.text(text) == text


@given(VALUES, st.integers(1, 39), st.sampled_from(["plain", "base64", "hex"]))
def test_no_secret_survives_the_cut_of_a_stream(value: str, at: int, form: str) -> None:
    written = encoded(value, form, 0)
    at = 1 + at % (len(written) - 1)
    stream = Captured(f"a {written[:at]}".encode(), f"{written[at:]} b".encode(), 10**6, True)
    text = Redactor.of([value], wide=False).stream(stream)
    head, tail = text.split("\n[cut]\n")
    # Fewer than four characters on a side tell nothing of a value of eight.
    assert written not in head.removeprefix("a ") + tail.removesuffix(" b")
    assert len(head) <= len("a ") + 3 or len(tail) <= len(" b") + 3 or head == "a "


@given(ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    redactor = Redactor.of(["a-known-secret"], ["/srv/assay-data"])
    assert redactor.text(text) == text
    assert redactor.message(text) == text
    assert redactor.content(text.encode()) == text.encode()


@given(st.lists(st.one_of(TEXT, st.sampled_from((*TOKENS, *HOSTS, "known-secret"))), max_size=8))
def test_redacting_is_idempotent_and_bounded(parts: list[str]) -> None:
    redactor = Redactor.of(["known-secret"], ["/srv/assay-data/store"])
    text = "".join(parts)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert redactor.message(redactor.message(text)) == redactor.message(text)
    assert len(once) <= 6 * len(text) + 8
    assert not any(char in once for char in "\x1b\x9b\x07\x08\u202e")


@given(
    st.sampled_from(TOKENS), st.sampled_from(["{}", "token={}", "'{}'", "https://u:{}@h/", "({})"])
)
def test_credentials_are_found_by_their_shape(token: str, form: str) -> None:
    text = Redactor.of(wide=False).text(f"first\n{form.format(token)}\nlast")
    assert token not in text
    assert SECRET in text
    assert text.startswith("first\n")
    assert text.endswith("\nlast")


@given(
    st.sampled_from(HOSTS),
    st.sampled_from(["{}/x.py", "'{}'", "-I{}/include", "file://{}/x", "a:{}/b", "(see {}/x)"]),
)
def test_places_of_a_host_are_not_told(place: str, form: str) -> None:
    redactor = Redactor.of(places=["/srv/assay-data/store"])
    text = redactor.text(form.format(place))
    assert place not in text
    assert "alice" not in text.lower()
    assert PATH in text


@given(st.recursive(TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)))
def test_json_stays_json_and_keeps_what_is_clean(data: object) -> None:
    redactor = Redactor.of(["known-secret"])
    content = json.dumps({"data": data, "other": "x known-secret"}).encode()
    found = json.loads(redactor.content(content))
    assert found["other"] == "x <key>"
    assert b"known-secret" not in redactor.content(content)
    clean = json.dumps({"a": ["b", 1, None]}, indent=3).encode()
    assert redactor.content(clean) == clean


@given(ORDINARY)
def test_the_detector_agrees_on_ordinary_text(text: str) -> None:
    assert find_tokens(text, wide=True) == ()
