"""Strict JSON against Python's own reader, on documents and on noise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.api import ManifestError
from assay.canonical import canonical_json
from assay.strict_json import MAX_INTEGER, load, load_lines

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# RFC 8785 writes a larger float as an integer, which can't be told from one that is lost.
FLOATS = st.floats(-MAX_INTEGER, MAX_INTEGER)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_every_legal_document_reads_as_written(value: object, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert load(data, "x", max_bytes=100_000) == value


@given(VALUES)
def test_canonical_bytes_survive_a_round_trip(value: object) -> None:
    data = canonical_json(value)
    assert canonical_json(load(data, "x", max_bytes=100_000)) == data


@given(st.binary(max_size=60) | st.text('[]{}",:\\ 01eE.-+NaInfityu\ud800', max_size=40))
def test_noise_is_a_value_or_one_kind_of_error(noise: bytes | str) -> None:
    data = noise if isinstance(noise, bytes) else noise.encode("utf-8", "surrogatepass")
    try:
        value = load(data, "x", max_bytes=50)
    except ManifestError:
        return
    assert value == json.loads(data)


@given(st.dictionaries(TEXT, VALUES, min_size=1, max_size=4), st.data())
def test_a_repeated_key_is_refused_wherever_it_stands(
    value: dict[str, object], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    members = [f"{json.dumps(name)}:{json.dumps(item)}" for name, item in value.items()]
    members.insert(data.draw(st.integers(0, len(members))), f"{json.dumps(key)}:0")
    with pytest.raises(ManifestError, match="more than once"):
        load(("{" + ",".join(members) + "}").encode(), "x", max_bytes=100_000)


@given(st.lists(VALUES, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\r\n"]))
def test_lines_give_back_their_records(values: list[object], end: str) -> None:
    text = "".join(json.dumps(value, ensure_ascii=False) + end for value in values)
    assert [value for _, value in load_lines(text.encode(), "x")] == values
