"""The tables about probes in the docs, made from the data that the probes are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.api import Containment, Probe, Profile
from assay_sandbox.probes.catalogue import Attack, attacks

START, END = "<!-- from the probes' data -->", "<!-- end -->"
_BLOCK = re.compile(re.escape(START) + r"\n.*?" + re.escape(END), re.DOTALL)


def with_table(page: str, table: str) -> str:
    """The page with its generated part replaced; it has exactly one."""
    assert page.count(START) == page.count(END) == 1
    return _BLOCK.sub(lambda _: f"{START}\n\n{table}\n{END}", page)


def probes_table() -> str:
    """Every probe: what it does and what is expected."""
    head = "| probe | what it does | expected as root | as a user | profiles |"
    return table(head, (_probe_row(attack) for attack in attacks()))


def table(head: str, rows: Iterable[str]) -> str:
    """A table with this line of headings."""
    return "\n".join((head, "|" + "---|" * (head.count("|") - 1), *rows, ""))


def _probe_row(attack: Attack) -> str:
    probe = attack.probe
    name = f"`{probe.name}`" + (" \\*" if attack.canary else "")
    how = probe.how[0].upper() + probe.how[1:] + "."
    if probe.why:
        how += f" *Partial*: {probe.why}."
    cells = (name, how, _kind(probe.root), _kind(probe.user), _profiles(probe))
    return "| " + " | ".join(cells) + " |"


def _kind(kind: Containment) -> str:
    return kind.value


def _profiles(probe: Probe) -> str:
    if probe.profiles == tuple(Profile):
        return "all"
    return ", ".join(profile.value for profile in probe.profiles)
