"""Whatever a worker answers: the exact value to the exact question, or no pass."""

from __future__ import annotations

import math
import socket
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.hostile import conversation, question

from assay_graders.calls.cases import Tolerance
from assay_graders.calls.conversation import Answer, AnswerKind, Breach, Gone
from assay_graders.calls.judging import matches, shown
from assay_graders.wire.values import Codec

CODEC = Codec()
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.decimals(allow_nan=False, places=2)
)
keys = st.booleans() | st.integers(-2, 2) | st.floats(-2, 2).map(round) | st.text(max_size=2)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=3)
        | st.sets(keys, max_size=3)
        | st.frozensets(keys, max_size=3)
    ),
    max_leaves=8,
)


def answers(reply: bytes) -> Answer:
    """What a conversation makes of one frame's bytes after an honest reading of the question."""

    def play(peer: socket.socket) -> None:
        nonce = question(CODEC, peer)[0]
        body = reply.replace(b"NONCE", nonce.encode())
        peer.sendall(struct.pack(">I", len(body)) + body)

    with conversation(play) as talk:
        return talk.ask("m:f", [1], {})


@given(value=values)
@settings(max_examples=60, deadline=None)
def test_an_honest_answer_arrives_as_it_was_and_matches_itself(value: Any):
    def play(peer: socket.socket) -> None:
        nonce, target, args, kwargs, after, _ = question(CODEC, peer)
        assert (target, args, kwargs, after) == ("m:f", [value], {"k": value}, True)
        body = CODEC.dumps([nonce, "returned", value, [args, kwargs]])
        peer.sendall(struct.pack(">I", len(body)) + body)

    with conversation(play) as talk:
        answer = talk.ask("m:f", [value], {"k": value}, after=True)

    assert answer.kind is AnswerKind.RETURNED
    assert matches(value, answer.value)
    assert answer.after is not None
    assert matches([value], answer.after[0])
    assert shown(answer.value)


@given(one=values, other=values)
@settings(max_examples=200, deadline=None)
def test_two_values_match_only_if_they_are_written_the_same(one: Any, other: Any):
    if matches(one, other):
        assert type(one) is type(other)
        assert one == other
    assume(one != other)
    assert not matches(one, other)


PAIRS = [(1, True), (0, False), (1, 1.0), (0.0, -0.0), ("1", 1), ([], ()), ({1}, frozenset({1}))]
PAIRS += [
    (Decimal("1.0"), Decimal("1.00")),
    ({1: 0}, {True: 0}),
    ({0}, {False}),
    (b"", bytearray()),
]
PAIRS += [([1], [True]), ((1,), (1.0,)), ({(1,)}, {(True,)}), (math.inf, -math.inf)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_values_that_python_calls_equal_do_not_match(one: Any, other: Any):
    assert not matches(one, other)
    assert not matches(other, one)
    assert not matches([one], [other])
    assert matches(one, one)


@given(
    expected=st.floats(allow_nan=True),
    found=st.floats(allow_nan=True),
    bound=st.floats(1e-9, 1e9),
)
@settings(max_examples=200, deadline=None)
def test_a_tolerance_never_covers_what_is_not_a_number(expected: float, found: float, bound: float):
    near = matches(expected, found, Tolerance(abs=bound))
    if math.isfinite(expected) and math.isfinite(found):
        assert near is (abs(expected - found) <= bound or expected == found)
    else:
        assert near is (repr(expected) == repr(found))


FORGED = [
    pytest.param(b'["0","returned",2,null]', id="another-number"),
    pytest.param(b'["NONCE","returned",2]', id="too-short"),
    pytest.param(b'["NONCE","passed",2,null]', id="unknown-kind"),
    pytest.param(b'["NONCE","returned",2,[[1],{"d":[]}]]', id="arguments-unasked"),
    pytest.param(b'["NONCE","raised","ValueError",null]', id="raised-text"),
    pytest.param(b'["NONCE","raised",[[1],""],null]', id="raised-number"),
    pytest.param(b'["NONCE","returned",NaN,null]', id="nan"),
    pytest.param(b'["NONCE","returned",{"f":"nan"},null]', id="tagged-nan"),
    pytest.param(b'["NONCE","returned",1e999,null]', id="infinite"),
    pytest.param(b'["NONCE","returned",2,"returned":3]', id="no-json"),
    pytest.param(b'{"id":"NONCE","id":"NONCE"}', id="object"),
    pytest.param(b'["NONCE","returned",{"ref":1},null]', id="reference"),
    pytest.param(b'["NONCE","returned",{"pattern":["a",0]},null]', id="pattern"),
    pytest.param(b'["NONCE","returned",[{"zone":["UTC"]}],null]', id="zone"),
    pytest.param(b'["NONCE","returned",' + b"[" * 100 + b"]" * 100 + b",null]", id="deep"),
    pytest.param(b'["NONCE","returned",99999999999999999999,null]', id="long-number"),
    pytest.param(b'["NONCE","returned","\\ud800",null]', id="surrogate"),
    pytest.param(b"\xef\xbb\xbf[]", id="mark"),
    pytest.param(b"", id="empty"),
    pytest.param(b"[" * 100_000, id="brackets"),
]


@pytest.mark.parametrize("reply", FORGED)
def test_an_answer_that_breaks_a_rule_is_a_breach(reply: bytes):
    with pytest.raises(Breach):
        answers(reply)


@given(reply=st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-8")))
@settings(max_examples=100, deadline=None)
def test_any_bytes_without_the_number_are_a_breach(reply: bytes):
    with pytest.raises(Breach):
        answers(reply.replace(b"NONCE", b""))


@given(raw=st.binary(min_size=0, max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_stream_ends_in_a_breach_or_in_silence(raw: bytes):
    def play(peer: socket.socket) -> None:
        question(CODEC, peer)
        peer.sendall(raw)

    with conversation(play) as talk, pytest.raises((Breach, Gone)):
        talk.ask("m:f", [], {})


def test_an_answer_that_is_there_before_its_question_is_a_breach():
    def play(peer: socket.socket) -> None:
        for guess in range(50):
            body = CODEC.dumps([str(guess), "returned", 2, None])
            peer.sendall(struct.pack(">I", len(body)) + body)
        question(CODEC, peer)

    with conversation(play) as talk, pytest.raises(Breach):
        talk.ask("m:f", [], {})


def test_a_second_answer_to_the_question_before_is_a_breach():
    def play(peer: socket.socket) -> None:
        nonce = question(CODEC, peer)[0]
        for value in (1, 2):
            body = CODEC.dumps([nonce, "returned", value, None])
            peer.sendall(struct.pack(">I", len(body)) + body)
        question(CODEC, peer)

    with conversation(play) as talk:
        assert talk.ask("m:f", [], {}).value == 1
        with pytest.raises(Breach):
            talk.ask("m:f", [], {})
        with pytest.raises((Breach, Gone)):
            talk.ask("m:f", [], {})


@pytest.mark.parametrize("prefix", [b"\xff\xff\xff\xff", struct.pack(">I", 2**30)])
def test_a_giant_frame_is_a_breach_before_it_is_read(prefix: bytes):
    def play(peer: socket.socket) -> None:
        question(CODEC, peer)
        peer.sendall(prefix + b"x" * 1000)

    with conversation(play) as talk, pytest.raises(Breach):
        talk.ask("m:f", [], {})


def test_a_worker_that_is_dead_is_gone():
    with conversation(lambda peer: None) as talk, pytest.raises(Gone):
        talk.ask("m:f", [], {})


def test_a_number_that_can_not_be_written_out_is_shown_nevertheless():
    assert "too long" in shown(10**5000)
    assert "[cut]" in shown("x" * 5000)
