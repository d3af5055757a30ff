"""Services of a task: reached through one port, beyond a candidate's reach in every other way."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.cli import assay
from support.grading import Kept, stored
from support.jail import python, runtime, sandbox, session, store
from support.tiny import add_candidate, add_task, make_suite, write_tree

from assay.api import Network, Profile, RelPath, Service, ServiceFailed, Task
from assay.locking import lock_suite
from assay.services import Services
from assay_sandbox.session import JailSession

PORT = 8088
SERVER = """
import http.server, itertools, os, pathlib, socketserver, sys

class Recorded(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = itertools.count(1)

    def do_GET(self):
        if self.path == "/crash":
            os._exit(3)
        body = pathlib.Path("recorded", self.path[1:]).read_bytes() + b"%d" % next(Recorded.count)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

server = Server(("127.0.0.1", int(os.environ["ASSAY_PORT"])), Recorded)
print("ready to serve", os.getcwd(), *sys.argv[1:], flush=True)
server.serve_forever()
"""
FILES = {"server.py": SERVER, "recorded/answer": "recorded "}
API = Service("api", ("python", "server.py"), PORT, files=RelPath("services/api"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The service's files, in the store."""
    manifest = stored(write_tree(tmp_path_factory.mktemp("service"), FILES))
    found = store().tree(manifest.ref)
    assert found is not None
    return found


@contextlib.contextmanager
def beside(
    folder: str, *services: Service, **changes: Any
) -> Iterator[tuple[JailSession, Services]]:
    """A jail with services, and the one who has them."""
    task = Task("t", "c", "p", RelPath("fixture"), services=services or (API,))
    owner = Services(task, runtime(), sandbox(), Kept(), {}, {"services/api": folder})
    with session(network=Network.LOOPBACK, **changes) as jail, contextlib.ExitStack() as running:
        for one in owner.beside(jail):
            running.callback(one.close)
        yield jail, owner


def ran(jail: JailSession, source: str) -> str:
    outcome = jail.run(python(source))
    assert outcome.exit_code == 0, outcome.stderr.text()
    return outcome.stdout.text()


ASK = f"""
import urllib.request
def ask(path, data=None):
    return urllib.request.urlopen("http://127.0.0.1:{PORT}/" + path, data, timeout=20).read()
"""
LOOK = """
import os, socket, threading
print(ask("answer").decode(), os.path.exists("/service"), os.listdir("/assay") if
      os.path.exists("/assay") else None)
print(sorted(pid for pid in os.listdir("/proc") if pid.isdigit()) == [str(os.getpid())])
try:
    socket.create_server(("127.0.0.1", PORT), reuse_port=True)
except OSError as error:
    print(error.errno)
big = os.urandom(3_000_000)
assert ask("x", big) == big
answers = []
def many():
    for _ in range(4):
        answers.append(ask("answer"))
threads = [threading.Thread(target=many) for _ in range(15)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(answers)))
idle = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(20)]
for one in idle: one.close()
print(ask("answer").decode())
"""


def test_a_service_answers_and_nothing_else_of_it_can_be_reached(folder: str) -> None:
    with beside(folder) as (jail, owner):
        seen = ran(jail, ASK + f"PORT = {PORT}" + LOOK).splitlines()
        assert seen == ["recorded 1 False None", "True", "98", "60", "recorded 62"]
        # Its state goes on between the commands of one jail.
        assert ran(jail, ASK + "print(ask('answer').decode())") == "recorded 63\n"
    assert owner.ended == []
    with beside(folder) as (jail, owner):
        assert ran(jail, ASK + "print(ask('answer').decode())") == "recorded 1\n"


ATTACKS = """
import os, signal, socket
for pid in (-1, 1, *range(2, 40)):
    try:
        if pid != os.getpid(): os.kill(pid, signal.SIGKILL)
    except OSError: pass
for descriptor in range(3, 64):
    try: os.close(descriptor)
    except OSError: pass
for _ in range(3):
    with socket.create_connection(("127.0.0.1", PORT)) as raw:
        raw.sendall(b"\\0\\xff" * 50_000)
    with socket.create_connection(("127.0.0.1", PORT)) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
"""


def test_a_candidate_can_not_end_a_service_with_signals_or_noise(folder: str) -> None:
    with beside(folder) as (jail, owner):
        jail.run(python(f"PORT = {PORT}" + ATTACKS))
        assert ran(jail, ASK + "print(ask('answer').decode())") == "recorded 1\n"
    assert owner.ended == []


def test_a_service_that_a_candidate_brings_to_its_end_is_noted_with_its_output(folder: str) -> None:
    with beside(folder) as (jail, owner):
        ran(jail, ASK + "try: ask('crash')\nexcept OSError: print('gone')")
    (ended,) = owner.ended
    assert ended.id == "api"
    kept = owner.artifacts.content["service-api"]  # type: ignore[attr-defined]
    assert kept.startswith(b"ready to serve /service\n")


@pytest.mark.parametrize("profile", [Profile.VISIBLE, Profile.AGENT])
def test_ready_is_a_line_when_the_task_says_so(folder: str, profile: Profile) -> None:
    told = evolve(API, argv=(*API.argv, "as", "told"), ready_line="serve /service as told")
    other = Service("echo", ("python", "-c", ECHO), PORT + 1)
    with beside(folder, told, other, profile=profile) as (jail, owner):
        assert ran(jail, ASK + "print(ask('answer').decode())") == "recorded 1\n"
        assert ran(jail, f"PORT = {PORT + 1}" + SAY).splitlines() == ["b'hello'"]
    assert owner.ended == []


ECHO = (
    "import os, socket\n"
    "server = socket.create_server(('127.0.0.1', int(os.environ['ASSAY_PORT'])))\n"
    "while True:\n"
    "    one = server.accept()[0]\n"
    "    data = b''.join(iter(lambda: one.recv(9), b''))\n"
    "    one.sendall(data); one.close()\n"
)
SAY = """
import socket
with socket.create_connection(("127.0.0.1", PORT)) as one:
    one.sendall(b"hello"); one.shutdown(socket.SHUT_WR)
    print(b"".join(iter(lambda: one.recv(9), b"")))
"""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"argv": ("python", "-c", "print('why')")}, "ended before it was ready"),
        ({"argv": ("python", "server.py"), "ready_line": "never", "seconds": 0.5}, "not ready in"),
        ({"argv": ("python", "-c", "input()"), "seconds": 5.0}, "ended before it was ready"),
        ({"argv": ("./absent",)}, "could not be started"),
    ],
)
def test_a_service_that_does_not_get_ready_is_nobody_else_s_fault(
    folder: str, changes: dict[str, Any], problem: str
) -> None:
    expected = pytest.raises(ServiceFailed, match=f"service api.*{problem}.*artifact sha256:")
    with expected, beside(folder, evolve(API, **changes)):
        pytest.fail("it was never ready")


CALC = "import urllib.request\n\n\ndef add(a, b):\n"
GOOD = (
    CALC
    + f"    urllib.request.urlopen('http://127.0.0.1:{PORT}/answer').read()\n    return a + b\n"
)
CRASHES = CALC + (
    f"    try: urllib.request.urlopen('http://127.0.0.1:{PORT}/crash')\n"
    "    except OSError: pass\n"
    "    return a + b\n"
)
SELFISH = CALC + (
    "    import http.server, os, signal\n"
    "    for pid in range(1, 99):\n"
    "        try:\n"
    "            if pid != os.getpid(): os.kill(pid, signal.SIGKILL)\n"
    "        except OSError: pass\n"
    f"    http.server.HTTPServer(('127.0.0.1', {PORT}), None)\n"
    "    return a + b\n"
)


SERVICE = {
    "id": "api",
    "argv": ["python", "server.py"],
    "port": PORT,
    "files": "services/api",
}


def suite_with(root: Path, **changes: Any) -> Path:
    """A suite of one task whose service has recorded responses."""
    suite = make_suite(root, network="loopback", services=[{**SERVICE, **changes}])
    write_tree(suite / "add" / "services" / "api", FILES)
    return suite


def test_no_candidate_turns_a_rejection_into_invalid(tmp_path: Path) -> None:
    suite = suite_with(tmp_path / "suite")
    rejected = {"verdict": "rejected", "required": ["protocol-fault"]}
    add_candidate(suite / "add", "gold", {"src/calc.py": GOOD}, expect={"verdict": "accepted"})
    add_candidate(suite / "add", "crashes", {"src/calc.py": CRASHES}, expect=rejected)
    add_candidate(
        suite / "add",
        "selfish",
        {"src/calc.py": SELFISH},
        expect={
            "verdict": "rejected",
            "required": ["visible-tests-failed"],
            "permitted": ["hidden-tests-failed"],
        },
    )
    lock_suite(suite)
    assert lock_suite(suite, check=True).drift == ()
    run = tmp_path / "run"
    done = assay("run", suite, "--output", run, "-j", "2")
    assert done.code == 0, done.out + done.err
    report = json.loads((run / "report.json").read_bytes())
    crashed = next(one for one in report["results"]["trials"] if one["candidate"] == "crashes")
    assert [grader["codes"] for grader in crashed["graders"]] == [["service-ended-api"]] * 2
    (suite / "add" / "services" / "api" / "recorded" / "answer").write_text("another")
    drift = lock_suite(suite, check=True).drift
    assert any(line.startswith("task add: trees.services/api: pinned") for line in drift)


def test_a_service_that_fails_without_a_candidate_makes_its_task_invalid(tmp_path: Path) -> None:
    suite = suite_with(tmp_path / "suite", argv=["python", "-c", "print('no')"])
    other = add_task(suite, "ends", network="loopback", services=[SERVICE])
    write_tree(other / "services" / "api", FILES)
    write_tree(other / "fixture", {"src/calc.py": CRASHES})
    for folder in (suite / "add", other):
        add_candidate(folder, "gold", {"src/calc.py": GOOD}, expect={"verdict": "accepted"})
    run = tmp_path / "run"
    done = assay("run", suite, "--output", run)
    assert done.code == 3, done.out + done.err
    trials = json.loads((run / "report.json").read_bytes())["results"]["trials"]
    assert [(trial["verdict"]["status"], trial["verdict"]["reasons"]) for trial in trials] == [
        ("invalid", ["service-failed"])
    ] * 2
    records = (run / "trials.jsonl").read_text()
    assert "service api ended before it was ready" in records
    assert "service api ended on the untouched fixture" in records
