"""Normalising is idempotent and never touches what states a result."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.normalise import normalise

PIECES = st.sampled_from(
    [
        "/tmp/a-1",
        "/tmp/",
        "/var/tmp/x",
        "/private",
        "pid ",
        "pid=",
        "port ",
        "localhost:",
        "127.0.0.1:",
        "[::1]:",
        "at ",
        "in ",
        "0x7f00aa",
        "12",
        "3.5s",
        "ms",
        "duration_ms ",
        "2024-01-31 10:00:00",
        "T",
        "Z",
        " call ",
        "<workspace>",
        "<normalized>",
        "assert ",
        "E ",
        " ",
        "\n",
        "\r",
        "\x85",
        "é",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=60)


@settings(max_examples=500)
@given(TEXTS)
def test_twice_is_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(TEXTS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_counts_and_asserted_numbers_stay_visible(noise: str, one: int, other: int) -> None:
    for line in ("{} failed, 3 passed in 0.12s", "E   assert {} == 7", "not ok {} - adds"):
        first, second = (f"{noise}\n{line.format(number)}\n" for number in (one, other))
        assert (normalise(first) == normalise(second)) == (one == other)
