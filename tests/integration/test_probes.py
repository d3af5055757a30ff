"""The built-in attacks, as the command runs them: nothing escapes, and the canary sees."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.cli import assay
from support.jail import sandbox, store
from support.json_schema import problems

from assay.api import Containment, UsageError
from assay.builtin.hasher import TreeHasher
from assay.schemas import schema
from assay_sandbox.probes.host_state import mounts
from assay_sandbox.probes.sentinels import Sentinels

# The two that differ most; CI runs the whole matrix with the wheel.
PROFILES = ("--profile", "agent", "--profile", "worker")


@pytest.mark.threat(probes=True)
def test_nothing_escapes_and_the_canary_sees(tmp_path: Path) -> None:
    files = ("--junit", tmp_path / "probes.xml", "--sarif", tmp_path / "probes.sarif")
    ran = assay("probe", "--json", *files, *PROFILES, env={"ASSAY_STORE": str(store().root)})
    document = json.loads(ran.out)
    assert problems(schema("probe-output"), document) == []
    odd = [row for row in document["matrix"] if row["containment"] != "contained"]
    worse = [row for row in odd if (row["containment"], row["expected"]) != ("partial", "partial")]
    assert (worse, document["canary"]["blind"]) == ([], [])
    assert ran.code == document["exit_code"] == 0
    assert not document["void"]
    assert {row["containment"] for row in odd} <= {"partial"}
    assert document["counts"]["ESCAPED"] == document["counts"]["no-answer"] == 0
    assert document["mode"] == ("root" if os.geteuid() == 0 else "user")
    assert len(document["sentinels"]) >= 9
    assert all(row["sentinels"] == len(document["sentinels"]) for row in document["matrix"])
    assert all(row["checks"] and row["by"] for row in document["matrix"] if row not in odd)
    profiles = {row["profile"] for row in document["matrix"]}
    assert profiles == set(PROFILES[1::2])
    assert not re.search(r"assay-secret-|/tmp/assay-|" + str(Path.home()), ran.out)

    suites = ElementTree.parse(tmp_path / "probes.xml").getroot()
    cases = [case for suite in suites for case in suite]
    assert len(cases) == len(document["matrix"]) + len(document["canary"]["results"])
    assert {suite.get("failures") for suite in suites} == {"0"}
    run = json.loads((tmp_path / "probes.sarif").read_text("utf-8"))["runs"][0]
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert {result["level"] for result in run["results"]} == {"note"}
    assert len(run["results"]) == len(odd)


def test_an_unknown_probe_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown probe a.*; known: .*fork-bomb"):
        sandbox().attack(store(), TreeHasher(), only=("a\x1b[31m",))


def test_each_sentinel_notices() -> None:
    """What jails can't do is done from outside: each object changed is named, and no other."""
    import socket

    ids = sandbox().capabilities().ids
    assert ids is not None
    with Sentinels(ids, TreeHasher()) as sentinels:
        assert sentinels.changes((), idle=True) == []
        sentinels.secret.write_text("other")
        assert sentinels.changes((), idle=True) == ["secret file"]
        (sentinels.fixture / "a.txt").chmod(0o600)
        assert sentinels.changes((), idle=True) == ["fixture digest"]
        for name, family, address in (
            ("socket", socket.AF_UNIX, sentinels.socket),
            ("abstract socket", socket.AF_UNIX, f"\0{sentinels.token}"),
            ("TCP port", socket.AF_INET, ("127.0.0.1", sentinels.port)),
        ):
            with socket.socket(family) as end:
                end.connect(address)
            assert sentinels.changes((), idle=True) == [name]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(sentinels.token.encode(), ("127.0.0.1", sentinels.datagram_port))
        assert sentinels.changes((), idle=True) == ["UDP port"]
        (sentinels.private / f"{sentinels.token}-new").mkdir()
        assert sentinels.changes((), idle=True) == ["temporary folders"]
        told = [b"x", f"read: {sentinels.environment_text}".encode()]
        assert sentinels.changes(told, idle=True) == ["secrets in answers"]
        assert sentinels.disturb() == ["process", "shared memory", "processes left"]
    assert not sentinels.folder.exists()
    assert not sentinels.shared_memory.exists()


def test_a_changed_mount_table_is_noticed() -> None:
    before = "1 0 8:1 / / rw,relatime - ext4 /dev/sda rw\n2 1 0:2 / /usr ro - ext4 /dev/sda ro\n"
    same = before + "3 1 0:3 / /mnt/other rw - tmpfs none rw\n"
    assert mounts(before, "token") == mounts(same, "token")
    assert mounts(before, "token") != mounts(before.replace("/usr ro", "/usr rw"), "token")
    assert mounts(before, "token") != mounts(same.replace("none", "token"), "token")


def test_a_result_is_as_expected_when_it_is_no_worse() -> None:
    order = [Containment.CONTAINED, Containment.PARTIAL, Containment.NO_ANSWER, Containment.ESCAPED]
    assert [kind.rank for kind in order] == [0, 1, 2, 3]
