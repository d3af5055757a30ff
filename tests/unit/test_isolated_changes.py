"""Who changed a container that crossed the wire."""

from __future__ import annotations

from assay_graders.isolation.changes import Watched


def test_what_the_candidate_changed_is_not_the_tests_doing_though_it_was_broken_off() -> None:
    watched = Watched(lambda value: repr(value).encode())
    values = [1]
    watched.add_argument(values)
    taking_over = watched.taking_over()
    taking_over.__enter__()
    values.append(2)
    error = ValueError("broken off")
    assert not taking_over.__exit__(ValueError, error, None)
    assert watched.end() == (False, False)
