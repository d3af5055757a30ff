"""Names that pytest itself gives to tests."""

from __future__ import annotations

__all__ = ["BUILT_IN_FIXTURES", "FIXTURE_MAKERS"]

BUILT_IN_FIXTURES = frozenset(
    {
        *("cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys"),
        *("doctest_namespace", "monkeypatch", "pytestconfig", "record_property"),
        *("record_testsuite_property", "record_xml_attribute", "recwarn", "request"),
        *("subtests", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"),
    }
)
"""Fixtures that are there without any conftest or plugin."""

FIXTURE_MAKERS = frozenset({"fixture", "yield_fixture"})
"""Decorators that make a function a fixture."""
