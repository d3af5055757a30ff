"""What a task may ask of its runtime: legal pins and names, and no other text."""

from __future__ import annotations

import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.json_schema import problems
from support.suites import encoded, task_document

from assay.api import InvalidInput, ManifestError, Requirement, requirements, tool_names
from assay.api.runtimes import MAX_REQUIREMENTS, MAX_TOOLS
from assay.manifests import parse_task
from assay.schemas import schema
from assay.suite_manifest import parse_suite

TEXT = st.text(string.ascii_letters + string.digits + "=.-_+!<>~;@[]:/ \n\0", max_size=30)


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("attrs==25.1.0", "attrs", "25.1.0"),
        ("Zope.Interface==7.2", "zope-interface", "7.2"),
        ("a--b__c==1", "a-b-c", "1"),
        ("x==1!2.0rc1.post3.dev4+local.7", "x", "1!2.0rc1.post3.dev4+local.7"),
        ("x==0", "x", "0"),
    ],
)
def test_exact_requirements(text: str, name: str, version: str) -> None:
    assert requirements([text]) == (Requirement(name, version),)


@pytest.mark.parametrize(
    "text",
    [
        *("", "attrs", "attrs==", "==1", "attrs=1", "attrs>=1", "attrs===1", "attrs~=1", "a!=1"),
        *("attrs==1.*", "attrs==1,<2", "attrs == 1", " attrs==1", "attrs==1\n", "attrs==1 #x"),
        *("attrs[x]==1", "attrs==1;python_version>'3'", "attrs @ https://x/y.whl", "-r x", "--pre"),
        *("-e==1", ".a==1", "a-==1", "../a==1", "/a==1", "a/b==1", "ä==1", "a==1\0", "a==٣"),
        *("a==v1", "a==1.0-1", "a==01", "a==1.0alpha1", "a==1.0.RC1", "a==1.0_post1", "a==1+A"),
        *("a" * 101 + "==1", "a==" + "9" * 30, "a==" + "1." * 20 + "1"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="name==version"):
        requirements([text])


@given(TEXT)
def test_whatever_is_accepted_is_a_pin_that_packaging_reads_alike(text: str) -> None:
    try:
        (found,) = requirements([text])
    except InvalidInput:
        return
    name, version = text.split("==")
    assert found.name == canonicalize_name(name)
    assert str(Version(version)) == version == found.version


def test_lists_are_sorted_bounded_and_name_each_once() -> None:
    assert [str(pin) for pin in requirements(["b==1", "A==2"])] == ["a==2", "b==1"]
    with pytest.raises(InvalidInput, match="twice"):
        requirements(["a-b==1", "A_B==1"])
    with pytest.raises(InvalidInput, match=f"at most {MAX_REQUIREMENTS}"):
        requirements([f"a{number}==1" for number in range(MAX_REQUIREMENTS + 1)])
    assert tool_names(["make", "git"]) == ("git", "make")
    with pytest.raises(InvalidInput, match=f"at most {MAX_TOOLS}"):
        tool_names([f"a{number}" for number in range(MAX_TOOLS + 1)])


@pytest.mark.parametrize("name", ["git", "g++", "clang-15", "python3.12", "7z", "a_b"])
def test_names_of_programs(name: str) -> None:
    assert tool_names([name]) == (name,)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-x", "a/b", "../git", "/bin/sh", "Git", "a b", "a\n", "a\0", "a" * 65]
)
def test_other_names_of_programs_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="names of lower-case letters"):
        tool_names([name])


@pytest.mark.parametrize(
    "runtime",
    [
        {"requirements": ["attrs==25.1.0"], "tools": ["git"]},
        {"requirements": [], "tools": []},
        {"requirements": ["attrs"]},
        {"requirements": [1]},
        {"requirements": "attrs==1"},
        {"tools": ["Git"]},
        {"tools": ["git", "git"]},
        {"tools": None},
        {"tool": []},
    ],
)
def test_loader_and_schemas_judge_alike(runtime: object) -> None:
    task = task_document(runtime=runtime)
    suite = {"schema": 1, "id": "s", "runtime": runtime}
    refused = []
    for load, document in ((parse_task, task), (parse_suite, suite)):
        try:
            load(encoded(document), "x.json")
        except ManifestError as error:
            refused.append(error.field.partition(".")[0])
    assert refused in ([], ["runtime", "runtime"])
    for name, document in (("task", task), ("suite", suite)):
        assert bool(problems(schema(name), json.loads(encoded(document)))) == bool(refused)


def test_a_tasks_own_list_replaces_the_suites() -> None:
    suite = parse_suite(
        encoded({"schema": 1, "id": "s", "runtime": {"tools": ["git"], "requirements": ["a==1"]}}),
        "suite.json",
    )
    task = parse_task(
        encoded(task_document(runtime={"requirements": ["b==2"]})), "task.json", suite=suite
    )
    assert dict(task.runtime) == {"requirements": ["b==2"], "tools": ["git"]}


def test_rules_never_show_the_value() -> None:
    for texts in (["evil-value"], ["evil==1", "evil==1"]):
        with pytest.raises(InvalidInput) as refused:
            requirements(texts)
        assert not re.search("evil", str(refused.value))
