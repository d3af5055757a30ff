"""Rules of the sandbox that need no jail."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from assay.api import Limits, OutcomeStatus, Profile, SandboxFailed, SandboxUnavailable
from assay_sandbox import doctor, elf, init, layout, policy, profiles, testtools
from assay_sandbox.capture import StreamCapture
from assay_sandbox.channel import SocketChannel
from assay_sandbox.guard import Reached
from assay_sandbox.layout import Expected
from assay_sandbox.mounted import check_mounts
from assay_sandbox.nsjail_log import read_log
from assay_sandbox.process import outcome_of
from assay_sandbox.records import Record, parse_record
from assay_sandbox.session import resource_limits
from assay_sandbox.sources import unescape
from assay_sandbox.tables import read_table, rows
from assay_sandbox.textproto import Message


def test_an_architecture_without_a_tested_policy_gets_no_jail() -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        policy.policy_for("riscv64")
    assert refused.value.layer == "seccomp policy"
    assert refused.value.fix


def test_the_policy_names_each_call_once_and_leaves_the_unfilterable_out() -> None:
    plain = [name for group in policy.GROUPS.values() for name in group.split()]
    names = [*plain, *policy.ARGUMENT_RULES]
    assert len(names) == len(set(names))
    dangerous = (
        "clone3 openat2 memfd_create shmget shmat ptrace process_vm_readv process_vm_writev"
        " pidfd_getfd kcmp bpf mount umount unshare setns io_uring_setup keyctl userfaultfd"
        " perf_event_open open_by_handle_at pivot_root chroot semget msgget io_setup"
    )
    assert not set(dangerous.split()) & set(names)


def test_the_deny_list_names_each_call_once_and_nothing_that_the_allow_list_allows() -> None:
    denied = [name for group in policy.DENIED.values() for name in group.split()]
    allowed = {name for group in policy.GROUPS.values() for name in group.split()}
    assert len(denied) == len(set(denied))
    assert not set(denied) & (allowed | set(policy.ARGUMENT_RULES))
    texts = {policy.policy_for("x86_64", kind).text for kind in policy.PolicyKind}
    assert len(texts) == len(policy.PolicyKind)


def test_every_profile_has_rules_and_only_agents_and_builds_write() -> None:
    assert set(profiles.PROFILES) == set(Profile)
    writers = {profile for profile, rules in profiles.PROFILES.items() if rules.writable_mounts}
    assert writers == {Profile.AGENT, Profile.BUILD}
    assert profiles.profiles_digest() == profiles.profiles_digest()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"done 1 exited 0 0.1 0.1 1",
        b"done 2 exited 0 0.000000 0.000000 1",
        b"done 1 exited 0 0.000000 0.000000 1\n",
        b"done 1 exited 0 0.000000 0.000000 1 more",
        b"done 1 exited -1 0.000000 0.000000 1",
        b"done 1 exited 1000 0.000000 0.000000 1",
        b"done 1 stopped 19 0.000000 0.000000 1",
        "done 1 exited ٣ 0.000000 0.000000 1".encode(),
        b"failed 2 exec:2",
        b"failed 1 exec:/root/secret",
        b"failed 1 exec:ENOENT",
        b"started 1",
    ],
)
def test_only_an_exact_record_is_a_record(message: bytes) -> None:
    assert parse_record(message, 1) is None


def test_records_are_read() -> None:
    assert parse_record(b"done 1 exited 3 0.250000 1.500000 2048", 1) == Record(
        exit_code=3, cpu=0.25, wall=1.5, peak_memory=2048 * 1024
    )
    assert parse_record(b"done 1 signalled 9 0.000000 0.000000 1", 1) == Record(
        signal=9, peak_memory=1024
    )
    assert parse_record(b"failed 7 limits:1", 7) == Record(failed="limits:EPERM")


def captured(data: bytes = b"", cap: int = 100) -> StreamCapture:
    stream = StreamCapture(cap)
    stream.feed(data)
    return stream


WALL = Reached(OutcomeStatus.TIMED_OUT, "wall", "supervisor")
CANCELLED = Reached(OutcomeStatus.CANCELLED, "", "supervisor")
OOM = Reached(OutcomeStatus.MEMORY_LIMIT, "memory", "cgroup")


@pytest.mark.parametrize(
    ("record", "ended_by", "data", "status"),
    [
        (Record(exit_code=0), None, b"", OutcomeStatus.EXITED),
        (Record(exit_code=137), None, b"", OutcomeStatus.EXITED),
        (Record(signal=9), None, b"", OutcomeStatus.SIGNALLED),
        (Record(signal=9), WALL, b"", OutcomeStatus.TIMED_OUT),
        (Record(exit_code=0), WALL, b"", OutcomeStatus.TIMED_OUT),
        (Record(signal=9), CANCELLED, b"", OutcomeStatus.CANCELLED),
        (Record(exit_code=0), OOM, b"", OutcomeStatus.MEMORY_LIMIT),
        (Record(exit_code=0), None, b"x" * 101, OutcomeStatus.OUTPUT_LIMIT),
        (Record(signal=signal.SIGXCPU, cpu=30.0), None, b"", OutcomeStatus.TIMED_OUT),
        (Record(signal=signal.SIGXCPU, cpu=0.1), None, b"", OutcomeStatus.SIGNALLED),
        (Record(signal=signal.SIGXFSZ), None, b"", OutcomeStatus.DISK_LIMIT),
        (Record(failed="exec:ENOENT"), None, b"", OutcomeStatus.SETUP_FAILED),
    ],
)
def test_outcomes(
    record: Record,
    ended_by: Reached | None,
    data: bytes,
    status: OutcomeStatus,
) -> None:
    outcome = outcome_of(record, ended_by, Limits(), captured(data), captured())
    assert outcome.status is status
    limited = status not in (
        OutcomeStatus.EXITED,
        OutcomeStatus.SIGNALLED,
        OutcomeStatus.CANCELLED,
        OutcomeStatus.SETUP_FAILED,
    )
    assert bool(outcome.enforced_by) is limited
    if ended_by is not None:
        assert outcome.exit_code is None
        assert outcome.signal is None


MOUNTS = (
    b"40 30 0:30 / / ro,nosuid - tmpfs none rw\n"
    b"41 40 0:31 / /tmp rw,nosuid,nodev - tmpfs none rw,size=1k\n"
    b"42 40 8:1 /a\\040b /usr/a\\040b ro,nosuid,nodev,relatime - ext4 /dev/x rw\n"
)
EXPECTED = (Expected("/tmp", writable=True), Expected("/usr/a b"))


def test_mounts_as_asked_pass() -> None:
    check_mounts(MOUNTS, EXPECTED)


@pytest.mark.parametrize(
    "mounts",
    [
        MOUNTS.replace(b"ro,nosuid,nodev,rel", b"rw,nosuid,nodev,rel"),
        MOUNTS.replace(b"ro,nosuid,nodev,rel", b"ro,nodev,rel"),
        MOUNTS.replace(b"ro,nosuid,nodev,rel", b"ro,nosuid,rel"),
        MOUNTS.replace(b"/usr/a", b"/usr/b"),
        MOUNTS.replace(b"/ / ro", b"/ / rw"),
        MOUNTS + b"43 42 8:2 / /usr/a\\040b/deep rw,nosuid,nodev - ext4 /dev/y rw\n",
        b"",
    ],
    ids=["writable", "setuid", "devices", "missing", "root", "nested", "nothing"],
)
def test_mounts_that_differ_are_seen(mounts: bytes) -> None:
    with pytest.raises(SandboxFailed):
        check_mounts(mounts, EXPECTED)


def test_paths_of_mountinfo_are_unescaped_once() -> None:
    assert unescape("/a\\040b\\011c\\134040") == "/a b\tc\\040"


LINE_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line for Python and not for the kernel."""


def test_only_a_line_feed_ends_a_row_of_the_kernels_tables(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(f"1 {LINE_ENDS} a\n2 \udcff b\n".encode("utf-8", "surrogateescape"))
    assert rows(read_table(str(table))) == [f"1 {LINE_ENDS} a", "2 \udcff b"]
    check_mounts(MOUNTS.replace(b" /a\\040b ", f" /a{LINE_ENDS}b ".encode()), EXPECTED)
    shown = f"[I] /w{LINE_ENDS}[E] mount: [F] main\n".encode()
    assert not read_log(shown).failed


def test_the_log_blames_a_layer_and_repeats_nothing() -> None:
    log = b"[I] fine\n[E][date] uid_map write failed: /root/secret\n[F] last\n"
    assert read_log(log).layer == "user namespaces"
    assert read_log(b"[I] [E] in the middle\n[W] warned\n").failed is False
    assert read_log(b"[F] \xff\xfe unknown /root/secret").layer == "nsjail"


def test_limits_cover_every_resource_once() -> None:
    pairs = dict(resource_limits(Limits()))
    assert len(pairs) == len(resource_limits(Limits()))
    assert len(resource_limits(Limits(address_space=0))) == len(pairs) - 1


@pytest.mark.parametrize("value", ["a\nb", "a\x00b", "\x1b[2J", "\x7f", "\ud800", "x" * 4097])
def test_text_that_could_forge_a_line_is_refused(value: str) -> None:
    with pytest.raises(SandboxFailed) as refused:
        Message().text("dst", value)
    assert value not in str(refused.value)


def test_doctor_reports_every_layer_and_a_fix_for_what_is_absent() -> None:
    findings = doctor.diagnose()
    assert (
        len({finding.layer for finding in findings})
        == len((*doctor.FIRST_CHECKS, *doctor.LAST_CHECKS)) + 1
    )
    for finding in findings:
        assert finding.found
        assert finding.follows
        assert "\n" not in finding.fix
        assert finding.fix or finding.state != "absent"
        assert finding.state in ("present", "absent", "degraded")
    json.dumps([attrs.asdict(finding) for finding in findings])


@pytest.mark.parametrize(
    ("name", "value", "layer"),
    [
        ("user/max_user_namespaces", "0", "user namespaces"),
        ("kernel/unprivileged_userns_clone", "0", "user namespaces"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
    ],
)
def test_doctor_names_the_sysctl_that_forbids_jails(
    name: str, value: str, layer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(value + "\n")
    monkeypatch.setattr(doctor, "SYSCTLS", tmp_path)
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    found, fix = doctor.blame("start")
    assert found == layer
    assert fix.startswith("sysctl -w ")


def test_a_missing_nsjail_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(doctor, "nsjail_program", absent)
    assert doctor.blame("start")[0] == "nsjail"


def test_the_init_imports_nothing_but_built_in_and_compiled_modules() -> None:
    """A Python module among them would double the time that each jail takes to start."""
    source = Path(init.__file__).read_text()
    program = f"import sys; before = set(sys.modules); exec({source!r})\n"
    program = program.replace("__main__", "somewhere")
    listing = (
        "print(*{getattr(m, '__file__', None) for n, m in sys.modules.items() if n not in before})"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program + listing],
        capture_output=True,
        check=True,
        text=True,
    )
    assert not [path for path in ran.stdout.split() if path.endswith(".py")]


def test_the_closure_of_the_test_tools_holds_nothing_of_ours() -> None:
    names = {distribution.metadata["Name"].lower() for distribution in testtools.closure()}
    assert "pytest" in names
    assert not any("assay" in name or "nsjail" in name for name in names)


def test_only_an_elf_file_with_room_gets_another_search_path() -> None:
    image = _elf(b"/opt/somewhere/very/private/lib")
    assert elf.library_path(image) == "/opt/somewhere/very/private/lib"
    moved = elf.with_library_path(image, "/runtime/python/lib")
    assert moved is not None
    assert len(moved) == len(image)
    assert elf.library_path(moved) == "/runtime/python/lib"
    assert elf.with_library_path(_elf(b"/lib"), "/runtime/python/lib") is None
    assert elf.with_library_path(b"#!/bin/sh\n", "/runtime/python/lib") is None
    assert elf.needs_library(_elf(b"/lib"), "libneeded.so.1")
    assert not elf.needs_library(_elf(b"/lib"), "libother.so.1")


def _elf(search_path: bytes) -> bytes:
    """A small 64-bit image: one loaded segment, a dynamic section, its strings."""
    strings = b"\0" + search_path + b"\0libneeded.so.1\0"
    at = 64 + 2 * 56
    needed = len(search_path) + 2
    dynamic = struct.pack("<qQqQqQqQ", 5, at + 64, 29, 1, 1, needed, 0, 0)
    size = at + len(dynamic) + len(strings)
    header = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    )
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    moved = struct.pack("<IIQQQQQQ", 2, 4, at, at, at, len(dynamic), len(dynamic), 8)
    return header + load + moved + dynamic + strings


def test_a_channel_that_was_closed_says_so() -> None:
    ours, theirs = socket.socketpair()
    channel = SocketChannel(ours)
    channel.close()
    channel.close()
    theirs.close()


def test_places_of_the_framework_inside_the_system_are_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout, "_framework_paths", lambda: ["/usr/lib/python3/dist-packages"])
    places = [mount.dst for mount in layout.system_layout.__wrapped__().expected]
    assert "/usr/lib/python3/dist-packages" in places
