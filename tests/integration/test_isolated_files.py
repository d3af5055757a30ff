"""Open files that tests hand to an isolated candidate: read, written, moved, closed."""

from __future__ import annotations

from support.isolation import found, isolated, uses

SOURCE = """
import csv, json

def lines(file): return [line.rstrip("\\n") for line in file]
def rest(file): return file.read()
def some(file, size): return file.read(size)
def put(file, text): return file.write(text)
def close(file): file.close()
def dump(file, value): json.dump(value, file)
def rows(file): return list(csv.reader(file))
def copy(source, target):
    for line in source: target.write(line.upper())
def rewind(file): file.seek(0); return file.read()
def same(file): return file
def can(file): return file.readable(), file.writable()
def again(file, function):
    file.write("a")
    function()
    file.write("c")
    return file.getvalue()
class Log:
    def __init__(self, file): self.file = file
    def say(self, text): print(text, file=self.file)
"""

TESTS = """
import io, sys, tempfile
import pytest
import cand

def test_text_is_read():
    file = io.StringIO("a\\nb\\nc\\n")
    assert file.readline() == "a\\n"
    assert cand.some(file, 1) == "b" and file.tell() == 3
    assert cand.lines(file) == ["", "c"] and file.read() == ""
    assert cand.rewind(file) == "a\\nb\\nc\\n"
def test_bytes_are_read():
    file = io.BytesIO(b"\\x00\\xffrest")
    assert cand.some(file, 2) == b"\\x00\\xff" and file.read() == b"rest"
def test_real_files_are_read(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("\\u00e9a\\nb,c\\n", encoding="utf-8")
    with path.open(encoding="utf-8") as file:
        assert file.readline() == "\\u00e9a\\n"
        assert cand.rows(file) == [["b", "c"]] and file.read() == ""
        assert cand.can(file) == (True, False)
    with path.open("rb") as file: assert cand.some(file, 2) == b"\\xc3\\xa9" and file.tell() == 2
def test_text_is_written():
    file = io.StringIO()
    assert cand.put(file, "abc") == 3 and file.getvalue() == "abc"
    cand.dump(file, [1])
    assert file.getvalue() == "abc[1]"
    cand.close(file)
    assert file.closed
    with pytest.raises(ValueError): cand.put(file, "x")
def test_real_files_are_written(tmp_path):
    path = tmp_path / "x.txt"
    with path.open("w") as file:
        file.write("1")
        cand.put(file, "2")
        file.write("3")
        cand.put(file, "4")
        with pytest.raises(OSError): cand.rest(file)
    assert path.read_text() == "1234" and cand.same(file) is file
    with pytest.raises(ValueError): cand.put(file, "x")
    with path.open("r+") as file:
        assert cand.some(file, 1) == "1"
        cand.put(file, "x")
    assert path.read_text() == "1x34"
    with path.open("ab") as file: cand.put(file, b"5")
    assert path.read_bytes() == b"1x345"
def test_two_files():
    target = io.StringIO()
    cand.copy(io.StringIO("a\\nb"), target)
    assert target.getvalue() == "A\\nB"
def test_a_file_that_is_kept():
    file = io.StringIO()
    log = cand.Log(file)
    log.say("a")
    assert file.getvalue() == "a\\n"
    file.write("mine\\n")
    log.say("b")
    assert file.getvalue() == "a\\nmine\\nb\\n"
    file.seek(0)
    file.truncate()
    log.say("c")
    assert file.getvalue() == "c\\n"
def test_a_file_changes_during_a_call():
    file = io.StringIO()
    assert cand.again(file, lambda: file.write("b")) == "abc" and file.getvalue() == "abc"
def test_the_same_file_comes_back():
    file = io.StringIO()
    assert cand.same(file) is file
def test_standard_streams(capsys):
    cand.put(sys.stdout, "out")
    cand.put(sys.stderr, "err")
    assert capsys.readouterr() == ("out", "err")
def test_temporary_files():
    with tempfile.NamedTemporaryFile("w+") as file:
        cand.put(file, "abc")
        file.seek(0)
        assert file.read() == "abc"
"""

LEVELS = {
    "text_is_read bytes_are_read real_files_are_read the_same_file_comes_back": 3,
    "text_is_written real_files_are_written two_files a_file_that_is_kept": 4,
    "a_file_changes_during_a_call temporary_files": 4,
    "standard_streams": 2,
}


def test_files_are_read_and_written_through() -> None:
    levels = {f"test_{name}": at for group, at in LEVELS.items() for name in group.split()}

    facts = isolated(TESTS, SOURCE, expect=tuple(levels))

    private = {test.id: test.message_private for test in facts.tests if test.message_private}
    assert set(found(facts).values()) == {"passed"}, private
    assert {test: used["level"] for test, used in uses(facts).items()} == levels


ATTACKS = """
import io, sys
import cand
def test_method_replaced():
    file = io.StringIO()
    cand.replace(file)
    assert file.getvalue() == "right"
def test_read_only_file_written(tmp_path):
    (tmp_path / "x").write_text("right")
    with (tmp_path / "x").open() as file: cand.note(file, "wrong", [0, False])
    assert True
def test_other_token():
    cand.other(io.StringIO())
def test_position_is_none():
    file = io.StringIO("abc")
    cand.note(file, None, ["x", False])
def test_position_far_away(tmp_path):
    (tmp_path / "x").write_text("right")
    with (tmp_path / "x").open("rb") as file:
        cand.note(file, None, [-5, False])
        assert file.tell() == -5
def test_bytes_into_text(): cand.note(io.StringIO(), b"x", [0, False])
def test_globals(): assert cand.globals_of(io.StringIO()) == 4
def test_descriptor(tmp_path):
    with (tmp_path / "x").open("w+") as file: assert cand.descriptor(file) == file.fileno()
EXPECTED = 4
"""
ATTACKER = """
def replace(file): file.getvalue = lambda: "right"
def note(file, content, state):
    files = worker()._objects.files
    files.changed = lambda: [(file._assay_token, content, state)]
def other(file):
    files = worker()._objects.files
    files.changed = lambda: [(file._assay_token + 1, "x", [0, False])]
def worker():
    import sys
    frame = sys._getframe()
    while "answer" not in frame.f_code.co_name: frame = frame.f_back
    return frame.f_locals["self"]
def globals_of(file): return file.__class__.__init__.__globals__["EXPECTED"]
def descriptor(file): return file.fileno()
"""


def test_a_file_gives_its_content_and_nothing_else() -> None:
    names = tuple(line.split("(")[0][4:] for line in ATTACKS.splitlines() if line[:4] == "def ")

    facts = isolated(ATTACKS, ATTACKER, expect=names)

    assert set(found(facts).values()) == {"failed"}, found(facts)
    assert uses(facts)["test_read_only_file_written"]["codes"] == ["lost-protocol"]
