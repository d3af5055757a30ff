"""Identities: they see each changed source file and are stable otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.distributions import GOOD_PLUGIN, install
from support.suites import write

from assay.api import IdentityMismatch, InvalidInput
from assay.identity import (
    check_plugin_pins,
    distribution_identity,
    environment,
    environment_digest,
    framework_identity,
)
from assay.plugins import Registry

GROUP = "assay.graders"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    entry = {GROUP: {"good": "acme_identity.plugin:Good"}}
    modules = {"acme_identity/__init__.py": "", "acme_identity/plugin.py": GOOD_PLUGIN}
    root = install(tmp_path, "acme-identity", entry, modules)
    monkeypatch.syspath_prepend(str(root))
    return root


def test_every_source_file_counts_and_caches_do_not(site: Path) -> None:
    first = distribution_identity("Acme_Identity")
    assert (first.name, first.version) == ("acme-identity", "1.0")
    write(site, {"acme_identity/__pycache__/plugin.cpython-311.pyc": "x"})
    os.utime(site / "acme_identity/plugin.py", (0, 0))
    assert distribution_identity("acme-identity") == first
    write(site, {"acme_identity/data.json": "{}"})
    second = distribution_identity("acme-identity")
    write(site, {"acme_identity/data.json": "[]"})
    third = distribution_identity("acme-identity")
    assert len({first.digest, second.digest, third.digest}) == 3


def test_b77_a_stale_empty_metadata_folder_hides_nothing(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = distribution_identity("acme-identity")
    (tmp_path / "stale/acme_identity-0.9.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "stale"))
    assert distribution_identity("acme-identity") == before


def test_an_absent_distribution_is_named() -> None:
    with pytest.raises(InvalidInput, match="distribution no-such-dist is not installed"):
        distribution_identity("no-such-dist")


def test_the_framework_is_identified_by_its_sources() -> None:
    identity = framework_identity()
    assert identity == framework_identity()
    assert identity["name"] == "assay"
    assert identity["digest"] != distribution_identity("attrs").digest


def test_the_environment_is_plain_stable_data_without_places(site: Path) -> None:
    plugins = Registry().info(GROUP)
    data = environment(plugins, {"sandbox": {"mode": "user"}})
    assert data == environment(tuple(reversed(plugins)), {"sandbox": {"mode": "user"}})
    assert sorted(data["distributions"]) == ["acme-identity", "assay"]
    text = json.dumps(data)
    assert json.loads(text) == data
    assert str(site) not in text
    assert environment_digest(data) != environment_digest(environment(plugins))


def test_plugin_pins_hold_only_for_what_is_installed_exactly_so(site: Path) -> None:
    found = distribution_identity("acme-identity")
    pin = {"version": found.version, "digest": found.digest}
    check_plugin_pins({"acme-identity": pin})
    write(site, {"acme_identity/plugin.py": GOOD_PLUGIN + "# changed\n"})
    absent = {"version": "1", "digest": found.digest}
    with pytest.raises(IdentityMismatch, match="plugin acme-identity, plugin acme-none"):
        check_plugin_pins({"acme-none": absent, "acme-identity": pin})
