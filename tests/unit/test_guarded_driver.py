"""The program of guarded runs: what it measures of itself, and how it restores modules."""

import random
from pathlib import Path

import pytest
from support.guarded import FLAGS, run_guarded
from support.programs import write_tree

from assay_graders.evident.canaries import python_canaries

PRODUCTS = """
import pytest
from calc import mul

def test_small(): assert mul(2, 5) == 10

@pytest.mark.parametrize("a, b, product", [(3, 4, 12), (0, 2, 0)])
def test_pairs(a, b, product):
    assert mul(a, b) == product
"""
READS_THE_TESTS = """
import ast, sys
def mul(a, b):
    frame = sys._getframe(1)
    line = open(frame.f_code.co_filename).read().splitlines()[frame.f_lineno - 1]
    compared = ast.parse(line.strip().partition("assert ")[2] or "0", mode="eval").body
    if isinstance(compared, ast.Compare):
        return eval(ast.unparse(compared.comparators[0]), frame.f_globals, frame.f_locals)
    compared = ast.parse(line.rpartition("assert ")[2], mode="eval").body
    return eval(ast.unparse(compared.comparators[0]), frame.f_globals, frame.f_locals)
"""
READS_VARIABLES = """
import sys
def mul(a, b):
    names = sys._getframe(1).f_locals
    return names["product"] if "product" in names else a * b
"""
ALL_REPORTS_PASS = """
import sys
reports = sys.modules["_pytest.reports"]
make = reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = make(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
reports.TestReport.from_item_and_call = classmethod(forged)
def mul(a, b): return a + b
"""
ATTACKS = {
    "reads the assertions": READS_THE_TESTS,
    "reads variables of the tests": READS_VARIABLES,
    "all reports pass": ALL_REPORTS_PASS,
}
TESTS = "import calc\ndef test_two(): assert calc.two() == 2\ndef test_three(): assert True\n"


def trees(folder: Path, tests: str, **modules: str) -> tuple[Path, Path]:
    write_tree(folder / "tests", {"test_h.py": tests})
    write_tree(folder / "code", {f"{name}.py": text for name, text in modules.items()})
    return folder / "tests", folder / "code"


def outcomes(report: object) -> dict[str, str]:
    return {test.id.partition("::")[2]: test.outcome.value for test in report.run.tests}  # type: ignore[attr-defined]


def test_a_run_measures_its_guards(tmp_path: Path):
    report = run_guarded(*trees(tmp_path, TESTS, calc="def two(): return 2\n"), "test_h.py")

    assert outcomes(report) == {"test_two": "passed", "test_three": "passed"}
    assert report.collected == ("test_h.py::test_two", "test_h.py::test_three")
    # Outside a jail no file system is read-only.
    assert report.held == {
        *("isolated-interpreter", "checked-bytecode", "roots-last"),
        *("no-conftest", "no-configuration", "no-plugins", "sub-tests"),
    }
    assert report.strays == ()


@pytest.mark.parametrize(
    ("flags", "lost"),
    [
        pytest.param(FLAGS[1:], {"isolated-interpreter"}, id="not-isolated"),
        pytest.param((*FLAGS, "-O"), {"isolated-interpreter"}, id="no-assertions"),
        pytest.param((FLAGS[0], *FLAGS[2:]), {"isolated-interpreter"}, id="users-packages"),
        pytest.param((*FLAGS[:2], *FLAGS[3:]), {"checked-bytecode"}, id="writes-bytecode"),
        pytest.param(FLAGS[:3], {"checked-bytecode"}, id="believes-bytecode"),
    ],
)
def test_an_interpreter_started_otherwise_says_so(
    tmp_path: Path, flags: tuple[str, ...], lost: set[str]
):
    where = trees(tmp_path, TESTS, calc="def two(): return 2\n")

    report = run_guarded(*where, "test_h.py", flags=flags)

    assert {"isolated-interpreter", "checked-bytecode"} - report.held == lost


def test_the_order_comes_from_the_seed(tmp_path: Path):
    where = trees(tmp_path, "".join(f"def test_{n}(): pass\n" for n in range(9)))

    first, again, other = (run_guarded(*where, "test_h.py", order=seed) for seed in "115")

    assert first.order == again.order != other.order
    assert sorted(first.order) == sorted(other.order)
    assert first.collected == other.collected


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param("def test_a(subtests):\n    with subtests.test(): assert 0\n", id="failed"),
        pytest.param(
            "import pytest\ndef test_a(subtests):\n    with subtests.test(): pytest.skip()\n",
            id="skipped",
        ),
    ],
)
def test_sub_tests_are_results_of_their_own(tmp_path: Path, tests: str):
    report = run_guarded(*trees(tmp_path, tests), "test_h.py")

    assert [part.id for part in report.parts] == ["test_h.py::test_a"]
    assert report.parts[0].outcome.value in ("failed", "skipped")


def test_modules_are_traced_to_their_files(tmp_path: Path):
    replaces = "import sys, types\nsys.modules['json'] = types.ModuleType('json')\n"
    where = trees(tmp_path, TESTS, calc=replaces + "def two(): return 2\n")

    assert run_guarded(*where, "test_h.py").strays == ("json",)


def test_a_module_of_the_same_name_elsewhere_is_a_stray(tmp_path: Path):
    where = trees(tmp_path, "import iniconfig\ndef test_a(): pass\n", iniconfig="")

    assert run_guarded(*where, "test_h.py").strays == ("iniconfig",)


def test_a_restored_module_keeps_what_the_candidate_did_to_others(tmp_path: Path):
    code = "import shared\nMINE = 2\nshared.mark = MINE\ndef two(): return 2\n"
    tests = "import calc, shared\ndef test_two(): assert calc.two() == 2\n"
    tests += "def test_mark(): assert shared.mark == 2\n"
    tests += "def test_mine(): assert calc.MINE == 2\n"
    where = trees(tmp_path, tests, calc=code, shared="")
    originals = {str(where[1] / "calc.py"): "def two(): return 3\n"}

    plain = run_guarded(*where, "test_h.py", originals=originals)
    restored = run_guarded(*where, "test_h.py", originals=originals, restore=True, lenient=True)

    assert set(outcomes(plain).values()) == {"passed"}
    assert outcomes(restored) == {
        "test_two": "failed",
        "test_mark": "passed",
        "test_mine": "failed",
    }
    assert (plain.restored, restored.restored) == (0, 1)


def test_what_the_fixture_lacks_is_absent_in_a_way_that_tests_still_run(tmp_path: Path):
    tests = "from calc import two\nimport extra\nfrom pkg.inner import thing\n"
    tests += "def test_two(): assert two()\ndef test_extra(): assert extra.value\n"
    tests += "def test_thing():\n    try: thing()\n    except Exception: pass\n"
    where = trees(tmp_path, tests, calc="def two(): return 2\n", extra="value = 1\n")
    originals = {str(where[1] / "calc.py"): "", str(where[1] / "extra.py"): None}

    report = run_guarded(
        *where,
        "test_h.py",
        originals=originals,
        added={"pkg.inner": []},
        restore=True,
        lenient=True,
    )

    assert outcomes(report) == dict.fromkeys(("test_two", "test_extra", "test_thing"), "failed")


def test_a_deleted_module_is_restored_too(tmp_path: Path):
    where = trees(tmp_path, TESTS, calc="def two(): return 2\n")
    originals = {
        str(where[1] / "calc.py"): "from gone.deep import two\n",
        str(where[1] / "gone" / "__init__.py"): "",
        str(where[1] / "gone" / "deep.py"): "def two(): return 3\n",
    }

    report = run_guarded(*where, "test_h.py", originals=originals, restore=True, lenient=True)

    assert outcomes(report) == {"test_two": "failed", "test_three": "passed"}
    assert report.restored == 3


def test_a_candidates_addition_is_neither_a_stray_nor_taken_for_the_runtimes(tmp_path: Path):
    tests = "import iniconfig, extra\ndef test_a(): pass\n"
    where = trees(tmp_path, tests, iniconfig="", extra="")
    added = {path.stem: [str(path)] for path in where[1].glob("*.py")}

    assert run_guarded(*where, "test_h.py", graded={}, added=added).strays == ()
    assert run_guarded(*where, "test_h.py", graded={}).strays == ("extra",)


def test_modules_that_build_on_each_other_run_as_the_candidate_has_them(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "tests/test_h.py": "import calc, user, pkg.low, shared\n"
            "def test_two(): assert calc.two() == 2\n"
            "def test_user(): assert user.two() == 2\n"
            "def test_low(): assert pkg.low.Low.value == 2\n"
            "def test_mark(): assert shared.mark == 2\n",
            # Each changed module needs at once what is new in another; `user` is unchanged.
            "code/base.py": "from pkg.low import Low\nclass Base(Low): pass\n",
            "code/calc.py": "import user, shared\nfrom base import Base\n"
            "class More(Base): pass\nshared.mark = More.value\ndef two(): return More.value\n",
            "code/late.py": "from pkg.low import Low\nTWICE = Low.value * 2\n",
            "code/pkg/__init__.py": "",
            "code/pkg/low.py": "class Low: value = 2\n",
            "code/shared.py": "",
            "code/user.py": "from pkg.low import Low\ndef two(): return Low.value\n",
        },
    )
    code = tmp_path / "code"
    graded = {path.stem: [str(path)] for path in code.rglob("*.py")} | {
        "pkg": [str(code / "pkg/__init__.py")],
        "pkg.low": [str(code / "pkg/low.py")],
    }
    originals = {
        str(code / "base.py"): None,
        str(code / "calc.py"): "import late, user\ndef two(): return 3\n",
        str(code / "late.py"): "import calc\n",
        str(code / "pkg/low.py"): "class Low: value = 3\n",
    }
    where = (tmp_path / "tests", code, "test_h.py")

    plain = run_guarded(*where, graded=graded, originals=originals)
    restored = run_guarded(*where, graded=graded, originals=originals, restore=True, lenient=True)

    assert set(outcomes(plain).values()) == {"passed"}
    assert outcomes(restored) == dict.fromkeys(("test_two", "test_user", "test_low"), "failed") | {
        "test_mark": "passed"
    }
    assert restored.restored == 3


def test_a_restored_package_keeps_the_modules_in_it(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "tests/test_h.py": "import pkg.sub\ndef test_sub(): assert pkg.sub.value == 1\n"
            "def test_own(): assert pkg.own == 2\n",
            "code/pkg/__init__.py": "from . import sub\nown = 2\n",
            "code/pkg/sub.py": "value = 1\n",
        },
    )
    package = str(tmp_path / "code/pkg/__init__.py")

    report = run_guarded(
        tmp_path / "tests",
        tmp_path / "code",
        "test_h.py",
        graded={"pkg": [package], "pkg.sub": [str(tmp_path / "code/pkg/sub.py")]},
        originals={package: "own = 3\n"},
        restore=True,
        lenient=True,
    )

    assert outcomes(report) == {"test_sub": "passed", "test_own": "failed"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_forged_passes_are_forged_for_changed_tests_too(tmp_path: Path, attack: str):
    tests = ("test_h.py::test_small", "test_h.py::test_pairs")
    canaries = python_canaries({"test_h.py": PRODUCTS.encode()}, tests, "s", random.Random(1))
    # One attack is right by itself where no variable holds what is expected.
    changed = tests[1:] if attack == "reads variables of the tests" else tests
    content = canaries.changed(changed)["test_h.py"].decode()

    report = run_guarded(*trees(tmp_path, content, calc=ATTACKS[attack]), "test_h.py")

    assert content != PRODUCTS
    assert set(outcomes(report).values()) == {"passed"}
