"""A candidate that shouts: nothing raw on the terminal, nothing of the host anywhere."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.json_schema import problems
from support.tiny import FIXED, add_candidate, make_suite, write_tree

from assay.schemas import schema
from assay.store import default_store_root

SECRET = "canary-7f3a9c51"

SHOUTING = """\
import os, sys

def read(path):
    try:
        return open(path, 'rb').read().decode('utf-8', 'replace')
    except OSError as error:
        return str(error)

SEEN = ' '.join([repr(dict(os.environ)), read('/proc/self/environ'), read('/proc/1/environ'),
                 read('/proc/self/cmdline'), read('/proc/1/cmdline'), os.getcwd(), sys.executable])
ANSI = '\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202e\\u2066\\r'

def add(a, b):
    os.write(1, (SEEN + ANSI).encode('utf-8', 'replace'))
    print(SEEN, ANSI)
    raise ValueError(SEEN + ANSI + '\\n  passed   everything')
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return make_suite(tmp_path / "suite")


def _checked(name: str, text: str | bytes) -> Any:
    document = json.loads(text)
    assert problems(schema(name), document) == []
    assert document["schema"] == f"assay-{name}-1"
    return document


@pytest.mark.threat("command the terminal of whoever reads the output", layer="supervisor")
def test_nothing_raw_is_shown_and_nothing_of_the_host_is_told(suite: Path, tmp_path: Path) -> None:
    rows = [
        {"task": "add", "id": "\x1b[31m\u202e", "files": {"src/calc.py": SHOUTING}},
        {"task": "add", "id": "names", "files": {"\x1b[2J\u202e": "", "a\nb": "", "../c": ""}},
        {"task": "no\x1b[31m\u202e", "patch": ""},
        {"task": "add", "id": "claim", "files": {"src/calc.py": FIXED}, "claim": "\x1b[31m"},
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = tmp_path / "run"
    store = str(default_store_root())
    env = {"ASSAY_CANARY_SECRET": SECRET, "HOME": f"/nowhere/{SECRET}", "ASSAY_STORE": store}
    ran = assay("run", suite, "--candidate", file, "--output", run, env=env)
    assert ran.code == 3
    shown = [ran.out, ran.err, assay("show", run).out]
    shown += [assay("show", run, str(number)).out for number in (1, 2, 3)]
    for text in shown:
        assert all(char.isprintable() for char in text.replace("\n", ""))
        assert "\n  passed   everything" not in text
    written = b"".join(path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file())
    everything = written + "".join(shown).replace(str(run), "RUN").encode()
    assert SECRET.encode() not in everything
    # Names of this host's folders and users, but for the folder that the user named.
    hosts = [str(tmp_path), store, str(Path.cwd())]
    for host in hosts:
        assert host.encode() not in everything, host
    assert re.search(rb"assay-(run|ws|store)-[A-Za-z0-9_]{8}\b", everything) is None
    if os.geteuid() != 0:
        assert f"/{Path.home().name}/".encode() not in everything


KEY, CANARY = "provider-key-" + "4711", "canary-of-" + "mine"
TOKEN = "ghp_" + "q7" * 18
LEAKING = f"""\
import base64, sys
SAID = "{KEY}" + " {TOKEN} /home/somebody/x " + base64.b64encode(b"..{CANARY}").decode()

def add(a, b):
    print(SAID)
    raise ValueError(SAID)
"""


def test_no_secret_and_no_host_path_is_kept_or_shown(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", artifacts=["src/*"], allow=["src/**"])
    work = write_tree(tmp_path / "work", {"src/calc.py": LEAKING})
    run = tmp_path / "run"
    env = {"OPENAI_API_KEY": KEY, "ASSAY_SECRETS": "MY_CANARY", "MY_CANARY": CANARY}
    ran = assay("run", suite, "--candidate", work, "--output", run, env=env)
    assert ran.code == 1
    encoded = base64.b64encode(b".." + CANARY.encode()).decode()
    shown = [ran.out, ran.err, *(assay("show", run, *one, env=env).out for one in ([], ["1"]))]
    written = [path.read_text() for path in sorted(run.rglob("*")) if path.is_file()]
    for secret in (KEY, CANARY, TOKEN, "/home/somebody", encoded[3:-4]):
        assert not any(secret in text for text in (*shown, *written)), secret
    assert "<key> <key> <path>/x" in shown[-1]
    assert "workspace/src/calc.py: kept" in shown[-1]
    about = _checked("run", (run / "run.json").read_bytes())["redaction"]
    assert about["version"] == "1"
    # A reader without these keys shows no more than what was kept.
    assert KEY not in assay("show", run, "1").out


def test_documents_of_runs_obey_their_schemas(suite: Path, tmp_path: Path) -> None:
    expect = {"verdict": "rejected", "required": ["no-changes"], "permitted": []}
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED})
    add_candidate(suite / "add", "wrong", {"src/calc.py": FIXED}, expect=expect)
    run = tmp_path / "run"
    ran = assay("run", suite, "--output", run, "--json")
    assert _checked("run-output", ran.out)["exit_code"] == ran.code == 3
    _checked("run", (run / "run.json").read_bytes())
    _checked("report", (run / "report.json").read_bytes())
    _checked("report", assay("show", run, "--json").out)
    trial = _checked("trial-output", assay("show", run, "1", "--json").out)["trial"]
    assert problems(schema("trial"), trial) == []
    checked = assay("check", suite, "--json")
    document = _checked("check-output", checked.out)
    assert document["exit_code"] == checked.code == 3
    assert [item["candidate"] for item in document["unmet"]] == ["wrong"]
