"""The table of probes in the docs is that of the data; each probe has its program.

ASSAY_UPDATE_SNAPSHOT=1 writes it anew.
"""

from __future__ import annotations

import ast
import os
import re

from support.probes_page import probes_table, with_table
from support.repository import ROOT, own_files, relative, text_of

from assay.api import Containment, Profile
from assay_sandbox.probes.catalogue import attacks
from assay_sandbox.probes.matrix import LAYERS

PROGRAMS = ROOT / "sandbox/assay_sandbox/probes/inside"
UPDATE = "ASSAY_UPDATE_SNAPSHOT"
WEAK = re.compile(r"share_network|UNFILTERED|weakened\(")


def test_the_table_is_that_of_the_data() -> None:
    path = ROOT / "docs/reference/probes.md"
    found = path.read_text("utf-8")
    wanted = with_table(found, probes_table())
    if os.environ.get(UPDATE):
        path.write_text(wanted, "utf-8")
        found = wanted
    assert found == wanted, f"set {UPDATE}=1 to write the table anew"


def test_each_probe_is_complete_and_has_its_program() -> None:
    defined = {
        f"{path.stem}.{node.name}"
        for path in PROGRAMS.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and [argument.arg for argument in node.args.args] == ["report", "facts"]
    }
    used = [attack.program for attack in attacks() if attack.program]
    assert set(used) == defined
    names = [attack.probe.name for attack in attacks()]
    assert len(set(names)) == len(names) >= 37
    for attack in attacks():
        probe = attack.probe
        assert attack.program or attack.drive
        assert all((probe.threat, probe.how, probe.layers, probe.profiles))
        assert set(probe.layers) <= set(LAYERS)
        contained = {probe.root, probe.user} == {Containment.CONTAINED}
        assert contained == (not probe.why)


def test_the_canary_covers_what_is_attacked() -> None:
    canary = {attack.program.partition(".")[0] for attack in attacks() if attack.canary}
    assert canary == {attack.program.partition(".")[0] for attack in attacks() if attack.program}
    assert all(Profile.AGENT in attack.probe.profiles for attack in attacks() if attack.canary)


def test_only_the_canary_can_weaken_a_jail() -> None:
    found = {
        relative(path)
        for path in own_files()
        if path.suffix == ".py" and relative(path).split("/")[0] in ("core", "graders", "sandbox")
        if WEAK.search(text_of(path) or "")
    }
    assert {path.rpartition("/")[2] for path in found} == {
        "attack.py",
        "canary.py",
        "configuration.py",
        # For the sandbox that is only for finding faults, whose verdicts have no trust.
        "policy.py",
        "sandbox.py",
    }
