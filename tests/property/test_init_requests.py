"""Both inits read the same request alike, and refuse the same bytes that are none."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_sandbox import init, init_build
from assay_sandbox.init_request import encode_request

HARNESS = Path(__file__).parents[1] / "support" / "init_requests.c"
SANITIZERS = "-fsanitize=address,undefined", "-fno-sanitize-recover"
OPTIONS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror")

Read = Callable[[bytes], bytes]

texts = st.binary(max_size=12).map(lambda text: text.replace(b"\0", b"0"))
variables = st.tuples(texts.map(lambda name: name.replace(b"=", b"_") or b"N"), texts)
numbers = st.one_of(st.integers(0, 20), st.sampled_from([2**31, 2**63 - 1, 2**63, 2**64 - 1]))
limits = st.tuples(st.integers(0, 17), st.tuples(numbers, numbers))
requests = st.builds(
    encode_request,
    st.lists(texts, max_size=4),
    st.lists(variables, max_size=4),
    texts.map(lambda path: b"/" + path) | texts,
    st.lists(limits, max_size=18),
)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A request that was cut, or of which some bytes are others, more or fewer."""
    data = draw(requests)
    at = draw(st.integers(0, len(data)))
    end = draw(st.integers(at, min(len(data), at + 6)))
    return data[:at] + draw(st.binary(max_size=6)) + data[end:]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """What the compiled init makes of a request, framed anew; nothing when it is refused."""
    name, compiler = init_build._compiler()
    if not name:
        pytest.skip(compiler.reason)
    program = tmp_path_factory.mktemp("harness") / "requests"
    command = [compiler.path, *OPTIONS, f"-I{Path(init_build.__file__).parent}"]
    command += ["-o", str(program), str(HARNESS)]
    if subprocess.run([*command, *SANITIZERS], capture_output=True, check=False).returncode != 0:
        subprocess.run(command, check=True)
    with subprocess.Popen(
        [program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    ) as running:
        assert running.stdin
        assert running.stdout
        taken, given_back = running.stdin, running.stdout

        def read(data: bytes) -> bytes:
            taken.write(len(data).to_bytes(4, "little") + data)
            taken.flush()
            return given_back.read(int.from_bytes(given_back.read(4), "little"))

        yield read
        taken.close()
    assert running.returncode == 0


def interpreted(data: bytes) -> bytes:
    """The same from the init in Python."""
    try:
        argv, env, cwd, bounds = init.parse_request(data)
    except OSError:
        return b""
    pairs = [tuple(variable.split(b"=", 1)) for variable in env]
    return encode_request(argv, pairs, cwd, [(kind, (s, h)) for kind, s, h in bounds])


@given(requests | spoiled() | st.binary(max_size=40))
def test_a_request_is_read_alike_or_refused_by_both(compiled: Read, data: bytes) -> None:
    answer = interpreted(data)
    assert compiled(data) == answer
    assert answer in (data, b"")


@given(requests)
def test_only_a_sound_request_is_one(compiled: Read, data: bytes) -> None:
    for cut in range(len(data)):
        assert not compiled(data[:cut])
        assert not interpreted(data[:cut])
    assert not compiled(data + b"\0")
    assert not interpreted(data + b"\0")


@pytest.mark.parametrize(
    ("argv", "env", "cwd", "bounds", "sound"),
    [
        ([b"x"], [(b"A", b"1")], b"/", [(0, (1, 2))], True),
        ([b"x", b""], [(b"A", b"")], b"/tmp", [], True),
        ([b"x"], [], b"/", [(15, (2**63 - 1, 2**63 - 1))], True),
        ([], [], b"/", [], False),
        ([b""], [], b"/", [], False),
        ([b"x\0y"], [], b"/", [], False),
        ([b"x"], [(b"", b"1")], b"/", [], False),
        ([b"x"], [], b"", [], False),
        ([b"x"], [], b"tmp", [], False),
        ([b"x"], [], b"/", [(16, (1, 1))], False),
        ([b"x"], [], b"/", [(0, (2, 1))], False),
        ([b"x"], [], b"/", [(0, (1, 2**63))], False),
        ([b"x"], [], b"/", [(0, (1, 1))] * 17, False),
    ],
)
def test_what_a_sound_request_is(
    compiled: Read,
    argv: list[bytes],
    env: list[tuple[bytes, bytes]],
    cwd: bytes,
    bounds: list[tuple[int, tuple[int, int]]],
    sound: bool,
) -> None:
    data = encode_request(argv, env, cwd, bounds)
    assert bool(compiled(data)) is sound
    assert bool(interpreted(data)) is sound


def test_what_claims_more_than_there_is_is_refused(compiled: Read) -> None:
    huge = b"\xff\xff\xff\xff"
    for data in (huge, huge * 3, b"\1\0\0\0" + huge, b"\1\0\0\0\2\0\0\0x\0\0"):
        assert not compiled(data)
        assert not interpreted(data)
