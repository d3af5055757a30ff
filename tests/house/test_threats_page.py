"""The table of threats is that of the tests' marks, and names only what there is.

ASSAY_UPDATE_SNAPSHOT=1 writes it anew.
"""

from __future__ import annotations

import os
import re

from support.repository import ROOT
from support.threats_page import threats, threats_table

from assay_sandbox.probes.catalogue import attacks
from assay_sandbox.probes.matrix import LAYERS

PAGE = ROOT / "docs/reference/threats.md"
UPDATE = "ASSAY_UPDATE_SNAPSHOT"
START, END = "<!-- from the tests' marks -->", "<!-- end -->"


def test_the_table_is_that_of_the_marks() -> None:
    found = PAGE.read_text("utf-8")
    before, _, rest = found.partition(START)
    after = rest.partition(END)[2]
    wanted = f"{before}{START}\n\n{threats_table()}\n{END}{after}"
    if os.environ.get(UPDATE):
        PAGE.write_text(wanted, "utf-8")
        found = wanted
    assert found == wanted, f"set {UPDATE}=1 to write the table anew"


def test_every_layer_is_known_explained_and_proved() -> None:
    named = {layer for threat in threats() for layer in threat.layers}
    assert named == set(LAYERS)
    rows = re.findall(r"^\| (`[^|]+) \| [a-z]", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == set(LAYERS)


def test_every_probe_and_every_module_of_jails_proves_something() -> None:
    found = threats()
    assert {one.probe for one in found} - {""} == {attack.probe.name for attack in attacks()}
    modules = {one.test.partition("::")[0] for one in found}
    jails = {
        f"integration/{path.name}" for path in (ROOT / "tests/integration").glob("test_jail_*")
    }
    assert jails - modules <= {"integration/test_jail_runtime.py"}
    assert len({(one.attack, one.layers, one.test, one.probe) for one in found}) == len(found)
