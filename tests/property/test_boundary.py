"""The boundary on arbitrary edits: what is permitted is a tree, and nothing protected changes."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from support.decisions import task
from support.patches import reader, tree_of

from assay.api.changes import compare, edited_manifest
from assay.api.errors import CandidateMalformed
from assay.api.tasks import AllowRule, Candidate, CandidateKind
from assay.api.trees import Digest, Op, RelPath
from assay.boundary import PathPattern, judge, permitted_edits
from assay.builtin.hasher import TreeHasher
from assay.candidates import edits as read_edits


def _paths(names: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=3).map("/".join)


PATHS = _paths(["a", "b", "B", "c.py"])
CONTENTS = st.sampled_from([b"", b"1", b"2\n", b"\0"])
PATTERNS = st.lists(
    st.sampled_from(["a", "b", "c.py", "*", "**", "?", "*.py"]), min_size=1, max_size=3
).map("/".join)
RULES = st.builds(
    AllowRule, PATTERNS, st.frozensets(st.sampled_from(Op), min_size=1), binary=st.booleans()
)


TREES = st.dictionaries(_paths(["a", "b", "c.py"]), CONTENTS, max_size=5).filter(
    lambda files: not any(other.startswith(f"{name}/") for name in files for other in files)
)


@settings(max_examples=300, deadline=None)
@given(
    TREES,
    st.dictionaries(PATHS, CONTENTS, max_size=4),
    st.lists(PATHS, max_size=3, unique=True),
    st.lists(RULES, max_size=3),
    st.lists(PATTERNS, max_size=2),
)
def test_permitted_part_is_a_tree_inside_the_boundary(
    base: dict[str, bytes],
    files: dict[str, bytes],
    deletes: list[str],
    allow: list[AllowRule],
    protect: list[str],
) -> None:
    before, hasher = tree_of(base), TreeHasher()
    candidate = Candidate(
        "c", "t", CandidateKind.FILES, Digest(""), files=files, deletes=tuple(deletes)
    )
    try:
        wish = read_edits(candidate, before, reader(base))
    except CandidateMalformed:
        return
    changes = compare(
        before,
        edited_manifest(before, wish, hasher),
        binary=lambda path: b"\0" in wish.writes[path].content,
    )
    facts = judge(task(allow=tuple(allow), protect=tuple(protect)), changes, wish)
    result = edited_manifest(before, permitted_edits(wish, facts), hasher)
    changed = {change.path for change in compare(before, result, binary=lambda path: False).changes}
    assert changed == set(facts.permitted)
    assert not any(PathPattern(text).matches(path) for text in protect for path in changed)
    assert {change.path for change in changes.changes} >= changed
    forbidden = {violation.path for violation in facts.violations}
    assert not forbidden & changed
    assert list(facts.violations) == sorted(
        set(facts.violations), key=lambda found: (found.path.encode(), found.reason.value)
    )


def _as_expression(pattern: str) -> re.Pattern[str]:
    """An independent reading of a pattern, on paths that end every component with a slash."""
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            wild = {"*": "[^/]*", "?": "[^/]"}
            parts.append("".join(wild.get(char, re.escape(char)) for char in part) + "/")
    return re.compile("".join(parts), re.DOTALL)


@settings(max_examples=300)
@given(PATTERNS, PATHS)
def test_patterns_agree_with_an_independent_reading(pattern: str, path: str) -> None:
    expected = _as_expression(pattern).fullmatch(path + "/") is not None
    assert PathPattern(pattern).matches(RelPath(path)) is expected
