"""Values between the processes of isolated Node tests: round trips, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.node_process import NodeProcess, node_process

Tree = Any

WORDS = st.text(max_size=6)
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Nd",)), max_size=4)
TIMES = st.integers(-(10**15), 10**15)
LEAVES: st.SearchStrategy[Tree] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda n: str(n) != "-0.0"),
    WORDS,
    st.sampled_from([["u"], ["f", "nan"], ["f", "inf"], ["f", "-inf"], ["f", "-0"]]),
    st.integers().map(lambda n: ["n", f"{n:x}"]),
    st.sampled_from([["y", "iterator"], ["y", "toPrimitive"], ["Y", "own"]]),
    (TIMES | st.none()).map(lambda n: ["d", n]),
    st.sampled_from([["r", "a+", "gi", 3], ["r", "(?:)", "", 0]]),
    st.binary(max_size=6).map(lambda b: ["b", "Buffer", base64.b64encode(b).decode()]),
    st.binary(max_size=6).map(lambda b: ["b", "ArrayBuffer", base64.b64encode(b).decode()]),
    st.binary(min_size=8, max_size=8).map(
        lambda b: ["b", "BigInt64Array", base64.b64encode(b).decode()]
    ),
)


def flat(pairs: list[tuple[Tree, Tree]]) -> list[Tree]:
    """Keys and values in turn, each key once."""
    return [part for pair in dict(pairs).items() for part in pair]


def containers(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    entries = st.lists(st.tuples(KEYS, inner), max_size=3).map(flat)
    items = st.lists(inner | st.just(["h"]), max_size=4).map(lambda found: ["a", *found])
    named = st.lists(st.tuples(KEYS, inner), min_size=1, max_size=2).map(flat)
    return st.one_of(
        items,
        items.map(lambda found: ["z", found]),
        st.lists(st.tuples(KEYS, inner), min_size=1, max_size=2).map(
            lambda pairs: ["z", ["O", *flat(pairs)]]
        ),
        st.tuples(items, named).map(lambda both: ["A", both[0], *both[1]]),
        entries.map(lambda parts: ["o", *parts]),
        entries.map(lambda parts: ["O", *parts]),
        st.lists(st.tuples(WORDS, inner), max_size=3).map(lambda pairs: ["m", *flat(pairs)]),
        st.lists(WORDS, max_size=3).map(lambda found: ["s", *dict.fromkeys(found)]),
    )


VALUES = st.recursive(LEAVES, containers, max_leaves=12)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    return draw(VALUES)


TAGS = st.sampled_from(["a", "o", "A", "m", "s", "=", "#", "h", "b", "n", "__proto__"])


@st.composite
def documents(draw: st.DrawFn) -> Any:
    def longer(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=2)

    return draw(st.recursive(LEAVES | TAGS, longer, max_leaves=12))


@pytest.fixture(scope="module")
def node() -> Iterator[NodeProcess]:
    with node_process("codec") as process:
        yield process


def sent(node: NodeProcess, frame: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = node.ask(base64.b64encode(frame).decode())
    assert "crash" not in answer, answer
    assert not answer.get("polluted"), frame
    return answer


def written(tree: Tree) -> bytes:
    return json.dumps(tree).encode("ascii")


@settings(deadline=None, max_examples=100)
@given(tree=trees())
def test_a_value_is_written_as_it_was_read(node: NodeProcess, tree: Tree) -> None:
    assert sent(node, written(tree)) == {"tree": tree, "polluted": False}


IDENTITY = {
    "the same object twice": ["a", ["o"], ["=", 1]],
    "a list in itself": ["a", ["=", 0]],
    "a circle": ["o", "a", ["m", 1, ["=", 0]]],
    "a key that is inherited": ["o", "__proto__", ["o", "polluted", 1], "constructor", 1],
    "a lone surrogate": "\ud800",
    "a list of nothing": ["a", ["h"], ["h"]],
}


@pytest.mark.parametrize("name", IDENTITY)
def test_identity_and_odd_names_survive(node: NodeProcess, name: str) -> None:
    tree = IDENTITY[name]
    assert sent(node, written(tree)) == {"tree": tree, "polluted": False}


@settings(deadline=None, max_examples=100)
@given(tree=documents())
def test_whatever_is_json_is_a_value_or_refused(node: NodeProcess, tree: Tree) -> None:
    answer = sent(node, written(tree))
    if "tree" in answer:
        again = sent(node, written(answer["tree"]))
        assert again == answer


@settings(deadline=None, max_examples=100)
@given(tree=trees(), at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_bytes_are_a_value_or_refused(
    node: NodeProcess, tree: Tree, at: int, byte: int, cut: bool
) -> None:
    frame = bytearray(written(tree))
    at %= len(frame)
    frame[at] = byte
    sent(node, bytes(frame[:at]) if cut else bytes(frame))


REFUSED = {
    "an object of JSON": b'{"a": 1}',
    "a key twice": b'["o", "a", 1, "a", 2]',
    "an inherited key twice": b'["o", "__proto__", 1, "__proto__", 2]',
    "a key of a map twice": b'["m", 1, 2, 1, 3]',
    "NaN twice in a set": b'["s", ["f", "nan"], ["f", "nan"]]',
    "an element twice": b'["s", 1, 1]',
    "an odd number of parts": b'["o", "a"]',
    "a key that is no text": b'["o", 1, 2]',
    "the length of a list": b'["A", ["a"], "length", 9]',
    "an item behind a list": b'["A", ["a"], "4294967294", 1]',
    "a number out of range": b"1e999",
    "a constant": b"NaN",
    "no JSON": b"[1",
    "two values": b"1 2",
    "nothing": b"",
    "no UTF-8": b'"\xff"',
    "a mark at the start": b"\xef\xbb\xbf1",
    "an unknown tag": b'["x"]',
    "nothing frozen": b'["z", 1]',
    "a frozen map": b'["z", ["m"]]',
    "an inherited tag": b'["__proto__"]',
    "a tag of the language": b'["constructor"]',
    "a tag with more": b'["u", 1]',
    "an integer with a sign only": b'["n", "-"]',
    "an integer in another form": b'["n", "0a"]',
    "a negative nothing": b'["n", "-0"]',
    "a long integer": b'["n", "' + b"1" * 20_001 + b'"]',
    "no base 64": b'["b", "Buffer", "?"]',
    "base 64 in another form": b'["b", "Buffer", "YQ"]',
    "bytes of another size": b'["b", "Float64Array", "YQ=="]',
    "bytes of an unknown kind": b'["b", "Object", "YQ=="]',
    "a pattern that is none": b'["r", "(", "", 0]',
    "flags that are none": b'["r", "a", "zz", 0]',
    "a long pattern": b'["r", "' + b"a" * 2_001 + b'", "", 0]',
    "a time that is none": b'["d", 8640000000000001]',
    "half a millisecond": b'["d", 0.5]',
    "what was not met": b'["=", 0]',
    "what is met later": b'["a", ["=", 1], ["o"]]',
    "a place before all": b'["=", -1]',
    "an inherited place": b'["=", "length"]',
    "a reference": b'["#", "o", 1, null, false]',
    "too deep": b'["a",' * 200 + b"1" + b"]" * 200,
    "very deep": b"[" * 100_000 + b"]" * 100_000,
    "too many parts": b'["a"' + b",[]" * 2_100_000 + b"]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_value_is_refused(node: NodeProcess, name: str) -> None:
    assert "fault" in sent(node, REFUSED[name])
