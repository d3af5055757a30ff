"""The plugin API changes only on purpose: its signatures equal the recorded ones.

ASSAY_UPDATE_SNAPSHOT=1 records them anew; the difference then shows in the review.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from support.signatures import describe_package

import assay.api

SNAPSHOT = Path(__file__).with_name("api_snapshot.txt")
UPDATE = "ASSAY_UPDATE_SNAPSHOT"


def test_the_plugin_api_is_the_recorded_one() -> None:
    found = describe_package(assay.api)
    if os.environ.get(UPDATE):
        SNAPSHOT.write_text(found, "utf-8")
    recorded = SNAPSHOT.read_text("utf-8")
    difference = difflib.unified_diff(
        recorded.splitlines(), found.splitlines(), "recorded", "found", n=2, lineterm=""
    )
    if recorded != found:
        message = f"the plugin API changed; see CONTRIBUTING.md, then set {UPDATE}=1"
        pytest.fail("\n".join((message, *difference)), pytrace=False)


def test_every_public_name_of_the_package_is_recorded() -> None:
    recorded = SNAPSHOT.read_text("utf-8")
    missing = [name for name in assay.api.__all__ if f" {name}" not in recorded]
    assert missing == []
