"""Identities: they see each changed source file and are stable otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.distributions import GOOD_PLUGIN, install
from support.suites import write

from assay.api import InvalidInput
from assay.identity import (
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
