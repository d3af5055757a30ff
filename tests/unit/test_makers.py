"""Whether the process that made something lives: told for certain, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys

from attrs import evolve

from assay.api.makers import Life, Maker, life_of, this_process

TELL = """
import json, attrs
from assay.api.makers import this_process
print(json.dumps(attrs.asdict(this_process())), flush=True)
input()
"""


def test_this_process_lives() -> None:
    here = this_process()
    assert here.pid == os.getpid()
    assert here.started > 0
    assert life_of(here) is Life.ALIVE


def test_another_process_lives_until_it_has_ended() -> None:
    import json

    with subprocess.Popen(
        [sys.executable, "-c", TELL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as other:
        assert other.stdout is not None
        maker = Maker(**json.loads(other.stdout.readline()))
        assert maker.pid == other.pid
        assert life_of(maker) is Life.ALIVE
        other.kill()
        # It is dead before anybody waits for it, and after.
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert life_of(maker) is Life.DEAD
    assert life_of(maker) is Life.DEAD


def test_another_process_of_the_same_number_is_not_taken_for_it() -> None:
    here = this_process()
    assert life_of(evolve(here, started=here.started - 1)) is Life.DEAD


def test_what_can_not_be_compared_is_not_known() -> None:
    here = this_process()
    assert life_of(evolve(here, boot="another-start")) is Life.UNKNOWN
    assert life_of(evolve(here, space=here.space + 1)) is Life.UNKNOWN
    assert life_of(evolve(here, started=0)) is Life.UNKNOWN
    assert life_of(Maker("", 0, here.pid, here.started)) is Life.UNKNOWN


def test_a_forked_child_is_another_process() -> None:
    reader, writer = os.pipe()
    here = this_process()
    child = os.fork()
    if not child:
        os.write(writer, b"1" if this_process() != here else b"0")
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 1) == b"1"
    os.close(reader)
    os.waitpid(child, 0)
