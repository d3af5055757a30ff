"""The wire's codec: what is plain comes back equal and of the same types; nothing else passes."""

import datetime
import json
import pathlib
import re
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_graders.wire.faults import WireFault
from assay_graders.wire.text import MAX_SAFE_INTEGER, pack, unpack
from assay_graders.wire.values import MAX_DEPTH, Codec

CODEC = Codec()

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=MAX_SAFE_INTEGER - 2, max_value=MAX_SAFE_INTEGER + 2),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(st.characters(), max_size=20),
    st.binary(max_size=20),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.timedeltas(),
    st.uuids(),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
    st.sampled_from(
        [
            ...,
            NotImplemented,
            int,
            ValueError,
            pathlib.PurePosixPath("a/b"),
            pathlib.Path("/x"),
            datetime.timezone(datetime.timedelta(hours=2), "two"),
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(SCALARS, inner, max_size=4),
        st.sets(SCALARS, max_size=4),
        st.frozensets(SCALARS, max_size=4),
        st.builds(deque, st.lists(inner, max_size=3), st.sampled_from([None, 2, 9])),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
        st.builds(lambda d: defaultdict(list, d), st.dictionaries(st.text(max_size=3), inner)),
        st.lists(st.text(max_size=2), max_size=4).map(Counter),
    ),
    max_leaves=12,
)

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6), inner, max_size=2),
        st.builds(
            lambda tag, payload: {tag: payload},
            st.sampled_from(
                [
                    "t",
                    "d",
                    "i",
                    "f",
                    "u",
                    "set",
                    "fset",
                    "b",
                    "ba",
                    "type",
                    "decimal",
                    "fraction",
                    "date",
                    "time",
                    "datetime",
                    "delta",
                    "timezone",
                    "zone",
                    "path",
                    "pattern",
                    "odict",
                    "counter",
                    "ddict",
                    "deque",
                    "uuid",
                    "range",
                    "slice",
                    "complex",
                    "ref",
                    "ellipsis",
                    "notimpl",
                    "purepath",
                ]
            ),
            inner,
        ),
    ),
    max_leaves=15,
)


def same(left: object, right: object) -> bool:
    """Equal, of exactly the same types all the way down, and with the same signs."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple, deque)):
        assert isinstance(right, (list, tuple, deque))
        same_length = len(left) == len(right)
        if isinstance(left, deque) and left.maxlen != right.maxlen:  # type: ignore[union-attr]
            return False
        return same_length and all(map(same, left, right))
    if isinstance(left, dict):
        assert isinstance(right, dict)
        return same(list(left), list(right)) and same(list(left.values()), list(right.values()))
    if isinstance(left, (set, frozenset)):
        return left == right
    if isinstance(left, (float, complex, Decimal)):
        return repr(left) == repr(right)
    return left == right


@settings(max_examples=200)
@given(VALUES)
def test_a_plain_value_comes_back_as_it_was(value):
    back = CODEC.loads(CODEC.dumps(value))
    assert same(value, back)


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        "\ud83d\ude00",
        "\U0001f600\ud83d",
        -0.0,
        float("inf"),
        float("-inf"),
        Decimal("-0E+3"),
        Decimal("1.10"),
        Decimal("Infinity"),
        Fraction(-7, 3),
        2**200,
        -(2**60),
        re.compile("a(b)?", re.IGNORECASE),
        re.compile(rb"\d+"),
        zoneinfo.ZoneInfo("UTC"),
        datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("UTC")),
        slice(1, None, [2]),
        uuid.UUID(int=5),
        {(1, 2): {frozenset({1}): [()]}},
        defaultdict(None, {"a": 1}),
    ],
    ids=repr,
)
def test_values_with_a_trap(value):
    assert same(value, CODEC.loads(CODEC.dumps(value)))


class _List(list):
    pass


class _Decimal(Decimal):
    pass


_Decimal.__module__, _Decimal.__qualname__ = "decimal", "Decimal"


@pytest.mark.parametrize(
    "value",
    [
        object(),
        _List(),
        _Decimal("1"),
        lambda: None,
        ValueError("x"),
        _List,
        defaultdict(_List),
        deque([object()]),
        float("nan"),
        complex(0, float("nan")),
        Decimal("NaN"),
        Decimal("sNaN"),
        [[float("nan")]],
        2 ** (1 << 19),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(WireFault):
        CODEC.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), complex(0, float("nan")), Decimal("NaN")], ids=str)
def test_a_nan_passes_only_where_it_is_allowed(value):
    frame = Codec(nan=True).dumps(value)
    assert repr(Codec(nan=True).loads(frame)) == repr(value)
    with pytest.raises(WireFault):
        CODEC.loads(frame)


def test_a_value_that_is_too_deep_or_holds_itself_is_refused():
    value: list[object] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert CODEC.loads(CODEC.dumps(value)) == value
    loop: list[object] = []
    loop.append(loop)
    for refused in ([value], loop):
        with pytest.raises(WireFault):
            CODEC.dumps(refused)
    with pytest.raises(WireFault):
        CODEC.loads(b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2))


def test_too_many_parts_are_refused_on_both_sides():
    small = Codec(max_nodes=10)
    with pytest.raises(WireFault):
        small.dumps([0] * 10)
    with pytest.raises(WireFault):
        small.loads(b"[" + b"0," * 9 + b"0]")


def test_what_is_not_plain_becomes_a_reference_wherever_it_stands():
    kept: list[object] = []

    def refer(value: object) -> object:
        kept.append(value)
        return [len(kept) - 1]

    alien, inner = object(), deque([object()])
    tree = CODEC.encode([alien, {"a": (alien, inner)}], refer)
    back = CODEC.decode(unpack(pack(tree)), lambda payload: kept[payload[0]])
    assert back == [alien, {"a": (alien, inner)}]
    with pytest.raises(WireFault):
        CODEC.decode(tree)


@settings(max_examples=300)
@given(JSON)
def test_a_hostile_tree_is_a_value_or_a_fault(tree):
    frame = json.dumps(tree).encode()
    try:
        value = CODEC.loads(frame)
    except WireFault:
        return
    assert same(value, CODEC.loads(CODEC.dumps(value)))


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_hostile_bytes_are_a_value_or_a_fault(frame):
    try:
        CODEC.loads(frame)
    except WireFault:
        return


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"9007199254740992",
        b"1" * 5000,
        b"0." + b"1" * 5000,
        b"{}",
        b'{"t":[],"d":[]}',
        b'{"t":[],"t":[]}',
        b'{"x":[]}',
        b'{"t":5}',
        b'{"d":[[1]]}',
        b'{"d":[[1,2],[1,3]]}',
        b'{"d":[[[],2]]}',
        b'{"set":[1,1]}',
        b'{"set":[[]]}',
        b'{"i":"0x10"}',
        b'{"i":"1_0"}',
        b'{"i":" 1"}',
        b'{"i":"01"}',
        b'{"i":5}',
        b'{"f":"NaN"}',
        b'{"f":"nan"}',
        b'{"f":["inf"]}',
        b'{"b":"AA"}',
        b'{"b":7}',
        b'{"type":"os"}',
        b'{"type":["int"]}',
        b'{"type":"eval"}',
        b'{"decimal":["1_0"]}',
        b'{"decimal":["NaN"]}',
        b'{"fraction":[1,0]}',
        b'{"fraction":[2,4]}',
        b'{"date":[1,2]}',
        b'{"date":[2026,2,31]}',
        b'{"zone":["../../etc/passwd"]}',
        b'{"zone":["/etc/passwd"]}',
        b'{"zone":[5]}',
        b'{"pattern":["(",0]}',
        b'{"pattern":["' + b"a" * 5000 + b'",0]}',
        b'{"ddict":["eval",{"d":[]}]}',
        b'{"deque":["ab",null]}',
        b'{"counter":[["a"]]}',
        b'{"odict":[[["a",1]]]}',
        b'{"path":[{"b":"YQ=="}]}',
        b'{"uuid":[-1]}',
        b'{"ref":[1]}',
        b'"\\ud800"',
        b'"\xc3\xa9"',
        b"[1]]",
        b"\xef\xbb\xbf1",
        b"[" * 100_000,
    ],
    ids=lambda frame: frame[:24].decode("latin-1"),
)
def test_frames_that_break_a_rule(frame):
    with pytest.raises(WireFault):
        CODEC.loads(frame)


@pytest.mark.parametrize("kind", ["set", "dict"])
def test_keys_that_were_chosen_to_collide_are_refused(kind):
    modulus = 2**61 - 1
    colliding = [("i", f"{modulus * factor:x}") for factor in range(1, 20_000)]
    tree = ("set", colliding) if kind == "set" else ("d", [[key, 0] for key in colliding])

    with pytest.raises(WireFault, match="share one hash"):
        Codec().decode(tree)


def test_many_keys_that_do_not_collide_are_a_value():
    value = {number * 1_000_003: str(number) for number in range(5_000)}

    assert Codec().loads(Codec().dumps(value)) == value
