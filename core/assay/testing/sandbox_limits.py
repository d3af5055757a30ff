"""What sandboxes bound, keep and carry: limits, output and channels."""

from __future__ import annotations

import time
from types import ModuleType

from assay.api import ChannelFault, InvalidInput, Limits, OutcomeStatus
from assay.testing.jailed import SLEEP, JailedTests

__all__ = ["LimitsTests"]

ECHO = (
    "import os\n"
    "fd = int(os.environ['ASSAY_CHANNEL_TALK'])\n"
    "stream = os.fdopen(fd, 'r+b', 0)\n"
    "header = stream.read(4)\n"
    "body = stream.read(int.from_bytes(header, 'big'))\n"
    "stream.write(header + body[::-1])\n"
)


class LimitsTests(JailedTests):
    """Limits, output and channels."""

    def test_the_wall_clock_ends_what_ignores_everything(self) -> None:
        source = (
            "import signal, time\n"
            "for number in range(1, 32):\n"
            "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n" + SLEEP
        )
        outcome = self.run(source, wall=0.3)
        assert outcome.status is OutcomeStatus.TIMED_OUT
        assert "wall" in outcome.enforced_by

    def test_a_deadline_of_the_caller_ends_a_command(self) -> None:
        with self.session() as session:
            process = session.start(self.python(SLEEP))
            outcome = process.wait(time.monotonic() + 0.1)
        assert outcome.status is OutcomeStatus.TIMED_OUT

    def test_output_is_cut_and_counted(self) -> None:
        source = "import os\nwhile True: os.write(1, b'ab' * 4096)"
        outcome = self.run(source, output=10_000)
        assert outcome.status is OutcomeStatus.OUTPUT_LIMIT
        assert outcome.stdout.truncated
        assert outcome.stdout.total > 10_000
        assert len(outcome.stdout.head) + len(outcome.stdout.tail) <= 10_000

    def test_streams_are_apart_and_exact(self) -> None:
        content = bytes(range(256))
        source = f"import os; os.write(1, {content!r}); os.write(2, b'other')"
        outcome = self.run(source)
        assert (outcome.stdout.head, outcome.stdout.total) == (content, 256)
        assert outcome.stderr.head == b"other"

    def test_processes_are_bounded(self) -> None:
        source = (
            "import os, time\n"
            "count = 0\n"
            "try:\n"
            "    while count < 64:\n"
            "        if os.fork() == 0: time.sleep(600)\n"
            "        count += 1\n"
            "except OSError: print(count)\n"
        )
        outcome = self.run(source, processes=12)
        assert 0 < int(outcome.stdout.text()) <= 12

    def test_memory_is_bounded(self) -> None:
        memory = 96 * 1024**2
        source = f"held = bytearray(2 * {memory}); print(len(held))"
        outcome = self.run(source, memory=memory)
        assert outcome.stdout.total == 0
        assert outcome.exit_code != 0

    def test_processor_time_is_bounded_for_all_processes_together(self) -> None:
        source = (
            "import os, time\n"
            "for _ in range(20):\n"
            "    if os.fork() == 0:\n"
            "        while time.process_time() < 0.4: pass\n"
            "        os._exit(0)\n"
            "    os.wait()\n"
        )
        outcome = self.run(source, cpu=1)
        assert outcome.status is OutcomeStatus.TIMED_OUT
        assert list(outcome.enforced_by) == ["cpu"]

    def test_files_and_descriptors_are_bounded(self) -> None:
        source = (
            "import os\n"
            "try: os.pwrite(os.open('/tmp/file', os.O_CREAT | os.O_RDWR), b'x', 1 << 20)\n"
            "except OSError: print('file')\n"
            "try:\n"
            "    for n in range(1024): open(f'/tmp/{n}', 'wb').write(bytes(1 << 19))\n"
            "except OSError as error: print('tmp', error.errno)\n"
            "try:\n"
            "    for _ in range(64): os.dup(0)\n"
            "except OSError: print('descriptors')\n"
        )
        outcome = self.run(source, file_size=1 << 20, open_files=32)
        assert outcome.stdout.text().splitlines() == ["file", "tmp 28", "descriptors"]

    def test_limits_that_can_not_be_enforced_are_refused(self) -> None:
        pytest = _pytest()
        for wrong in (Limits(wall=0.0), Limits(processes=-1), Limits(wall=float("inf"))):
            with pytest.raises(InvalidInput):
                self.sandbox().open(self.spec(limits=wrong)).close()

    def test_channels_carry_frames_both_ways(self) -> None:
        with self.session() as session:
            process = session.start(self.python(ECHO), ("talk",))
            channel = process.channels["talk"]
            channel.send(b"abc")
            assert channel.recv(1024, self.soon()) == b"cba"
            assert channel.recv(1024, self.soon()) is None
            assert process.wait().exit_code == 0

    def test_broken_frames_and_silence_are_faults(self) -> None:
        pytest = _pytest()
        lie = "import os; os.write(int(os.environ['ASSAY_CHANNEL_TALK']), b'\\xff' * 8)"
        with self.session() as session:
            process = session.start(self.python(lie), ("talk",))
            with pytest.raises(ChannelFault):
                process.channels["talk"].recv(1024, self.soon())
            process.wait()
            silent = session.start(self.python(SLEEP), ("talk",))
            with pytest.raises(ChannelFault):
                silent.channels["talk"].recv(1024, time.monotonic() + 0.05)
            silent.kill()
            silent.wait()

    def test_limits_of_one_command_are_not_those_of_the_next(self) -> None:
        source = "import os\nfor _ in range(40): os.dup(0)"
        with self.session() as session:
            assert session.run(self.python(source, open_files=32)).exit_code == 1
            assert session.run(self.python(source)).exit_code == 0


def _pytest() -> ModuleType:
    import pytest

    return pytest
