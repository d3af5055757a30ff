"""One JSON text has one meaning; every trick that readers disagree about is refused."""

from __future__ import annotations

import json

import pytest

from assay.api import ManifestError
from assay.strict_json import MAX_INTEGER, load, load_lines


def refused(data: bytes, **options: int) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        load(data, "x.json", **{"max_bytes": 10_000, **options})
    return caught.value


@pytest.mark.parametrize(
    ("data", "field", "rule"),
    [
        (b'{"a": 1, "a": 1}', "a", "key is given more than once"),
        (b'{"a": {"b": [0, {"c": 1, "c": 2}]}}', "a.b[1].c", "key is given more than once"),
        (b'{"a": NaN}', "a", "must be a finite number"),
        (b'{"a": -Infinity}', "a", "must be a finite number"),
        (b'{"a": 1e999}', "a", "must be a number that a double can hold"),
        (b'{"a": 9007199254740992}', "a", "magnitude at most"),
        (b'{"a": -' + b"9" * 5000 + b"}", "a", "magnitude at most"),
        (b'{"a": "\\ud800"}', "a", "surrogate"),
        (b'{"a\\udc00": 1}', "a\\udc00", "surrogate"),
        (b"\xef\xbb\xbf{}", "", "byte order mark"),
        (b'{"a": "\xff"}', "", "is not valid UTF-8 at byte 7"),
        (b"{}{}", "", "has data after its end at line 1 column 3"),
        (b"{}\n x", "", "has data after its end at line 2 column 2"),
        (b"", "", "is not valid JSON at line 1 column 1"),
        (b'{"a": 1,}', "", "is not valid JSON at line 1"),
        (b"{'a': 1}", "", "is not valid JSON"),
        (b'{"a": "\t"}', "", "is not valid JSON"),
        (b"// x\n{}", "", "is not valid JSON"),
        (b"\x0c{}", "", "is not valid JSON"),
    ],
)
def test_refused_with_place_and_rule(data: bytes, field: str, rule: str) -> None:
    error = refused(data)
    assert (error.file, error.field) == ("x.json", field)
    assert rule in error.rule


def test_the_value_is_never_shown() -> None:
    error = refused(b'{"a": 1, "b": "secret", "b": "secret"}')
    assert "secret" not in str(error)


def test_depth_is_counted_outside_strings() -> None:
    assert load(b"[" * 5 + b"]" * 5, "x", max_bytes=99, max_depth=5) == [[[[[]]]]]
    assert load(b'["[[[[[[", "]]]"]', "x", max_bytes=99, max_depth=1) == ["[[[[[[", "]]]"]
    assert load(rb'["\"[[[["]', "x", max_bytes=99, max_depth=1) == ['"[[[[']
    assert "deeper than 5" in refused(b"[" * 6 + b"]" * 6, max_depth=5).rule
    assert "deeper" in refused(b"[" * 9_999).rule
    assert "deeper" in refused(b'{"a":' * 1_900 + b"1").rule


def test_size_is_checked_before_anything_is_decoded() -> None:
    assert "10 bytes" in refused(b"\xff" * 11, max_bytes=10).rule


def test_keys_in_a_field_path_are_escaped_and_cut() -> None:
    error = refused(b'{"\\u001b' + b"k" * 90 + b'": NaN}')
    assert error.field.startswith("\\x1bkkk")
    assert len(error.field) < 80


@pytest.mark.parametrize("value", [MAX_INTEGER, -MAX_INTEGER, 0, 1.5, "é\u2028", None, True])
def test_plain_values_stay_as_they_are(value: object) -> None:
    assert load(json.dumps({"a": [value]}).encode(), "x", max_bytes=999) == {"a": [value]}


def lines(data: bytes) -> list[tuple[int, object]]:
    return list(load_lines(data, "x.jsonl"))


def test_b71_mark_crlf_blank_lines_and_no_final_newline() -> None:
    data = b'\xef\xbb\xbf{"task_id":"a"}\r\n\r\n   \r\n{"task_id":"b"}'
    assert lines(data) == [(1, {"task_id": "a"}), (4, {"task_id": "b"})]


def test_b71_line_numbers_in_errors_are_the_physical_ones() -> None:
    with pytest.raises(ManifestError, match=r"x\.jsonl: line 4: is not valid JSON at line 4"):
        lines(b'\xef\xbb\xbf{}\r\n\r\n   \r\n{"task_id":')


def test_b72_separators_inside_strings_do_not_end_a_record() -> None:
    data = '{"c":"p\u2028q"}\n{"c":"r\x85s"}\n'.encode()
    assert lines(data) == [(1, {"c": "p\u2028q"}), (2, {"c": "r\x85s"})]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"a":1}{"a":2}\n', "line 1: has data after its end at line 1 column 8"),
        (b'{}\n{"a":"x","a":"y"}\n', "line 2: a: key is given more than once"),
        (b'{"a":"b","score":NaN}\n', "line 1: score: must be a finite number"),
        (b"{}\n\xef\xbb\xbf{}\n", "line 2: is not valid JSON"),
    ],
)
def test_b74_glued_records_and_non_json_are_refused_with_the_line(
    data: bytes, problem: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        lines(data)
    assert problem in str(caught.value)


def test_b74_a_long_line_is_read_and_a_longer_one_refused() -> None:
    data = b'{"a":"' + b"x" * 5_000_000 + b'"}\n'
    assert len(lines(data)) == 1
    with pytest.raises(ManifestError, match="line 1: must not be longer"):
        list(load_lines(data, "x.jsonl", max_line=1_000_000))


def test_b74_other_values_than_objects_are_records_too() -> None:
    assert lines(b"[1]\n2\n") == [(1, [1]), (2, 2)]
