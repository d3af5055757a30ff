"""Output: kept at either end, counted, cut between characters, never a reason to hang."""

from __future__ import annotations

import pytest
from support.jail import limits, python, session, shell

from assay.api import OutcomeStatus


@pytest.mark.threat("make the supervisor wait for ever", layer="init, supervisor")
def test_a_grandchild_that_holds_the_pipes_does_not_hold_the_command() -> None:
    with session() as jail:
        outcome = jail.run(shell("sleep 600 & echo done"))
        left = jail.run(python("import os; print([p for p in os.listdir('/proc') if p.isdigit()])"))
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, 0)
    assert outcome.stdout.head == b"done\n"
    assert left.stdout.text().count("'") == 2


def test_output_before_a_time_out_is_kept() -> None:
    source = "import time\nprint('one', flush=True)\nprint('two')\ntime.sleep(600)"
    with session() as jail:
        outcome = jail.run(python(source, limits=limits(wall=1.0)))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert outcome.stdout.head.startswith(b"one\n")


@pytest.mark.threat("mislead readers by where output is cut", layer="supervisor")
def test_a_cut_falls_between_characters() -> None:
    with session() as jail:
        outcome = jail.run(python("print('é' * 1000)", limits=limits(output=1001)))
    kept = outcome.stdout.head + outcome.stdout.tail
    assert outcome.status is OutcomeStatus.OUTPUT_LIMIT
    assert outcome.stdout.truncated
    assert outcome.stdout.total == 2001
    assert kept.decode("utf-8") == "é" * 500 + "\n"
    assert "\ufffd" not in outcome.stdout.text()


def test_exactly_the_cap_is_no_limit() -> None:
    with session() as jail:
        outcome = jail.run(python("print('x' * 999)", limits=limits(output=1000)))
    assert outcome.status is OutcomeStatus.EXITED
    assert not outcome.stdout.truncated
    assert outcome.stdout.total == 1000


@pytest.mark.threat("use up the supervisor's memory by output", layer="supervisor")
def test_a_flood_on_either_stream_is_stopped() -> None:
    with session() as jail:
        for stream in ("1", "2"):
            outcome = jail.run(shell(f"exec yes >&{stream}", limits=limits(output=65536)))
            assert outcome.status is OutcomeStatus.OUTPUT_LIMIT
            assert outcome.enforced_by == {"output": "supervisor"}
            flooded = outcome.stdout if stream == "1" else outcome.stderr
            assert flooded.total > 65536
            assert len(flooded.head) + len(flooded.tail) <= 65536


def test_bytes_that_are_no_text_are_kept_as_they_are() -> None:
    with session() as jail:
        outcome = jail.run(python("import os; os.write(1, bytes(range(256)))"))
    assert outcome.stdout.head == bytes(range(256))
    assert "\ufffd" in outcome.stdout.text()


@pytest.mark.threat("make the supervisor wait for closed streams", layer="supervisor, init")
def test_streams_can_be_opened_by_name_and_closed() -> None:
    with session() as jail:
        named = jail.run(shell("echo out > /dev/stdout; echo err > /dev/stderr"))
        closed = jail.run(shell("exec >&- 2>&-; exit 3"))
    assert (named.stdout.head, named.stderr.head) == (b"out\n", b"err\n")
    assert closed.exit_code == 3
