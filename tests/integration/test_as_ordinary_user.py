"""The other half: what may depend on who runs it, again as a user without privileges.

That root and an ordinary user get equal results follows from both reproducing the published ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.users import as_ordinary_user, system_python_problem

HERE = Path(__file__)
ELSEWHERE = {
    "test_as_ordinary_user.py": "this module",
    "test_trees_as_ordinary_user.py": "becomes that user itself",
    "test_control_groups.py": "becomes that user itself, where root gave something away",
    "test_init_build.py": "a compiler serves everybody alike",
    "test_jail_leftovers.py": "test_trees_as_ordinary_user.py reads and removes such trees",
    "test_reproducible.py": "both halves reproduce the published results",
    "test_run_command.py": "commands and exit codes",
    "test_suite_trees.py": "stored and mounted as every other tree",
    "test_services.py": "test_sandbox_conformance.py hands sockets over, the rest is alike",
    "test_linked_installation.py": "how packages are installed",
    **dict.fromkeys(
        (
            "test_call_attacks.py",
            "test_call_eval.py",
            "test_call_grader.py",
            "test_evident_node.py",
            "test_evident_pytest.py",
            "test_evident_unittest.py",
            "test_graders_attacks.py",
            "test_graders_delivery.py",
            "test_graders_faults.py",
            "test_how_to_pages.py",
            "test_isolated_async.py",
            "test_isolated_attacks.py",
            "test_isolated_files.py",
            "test_isolated_forwarding.py",
            "test_isolated_levels.py",
            "test_isolated_library.py",
            "test_isolated_objects.py",
            "test_isolated_on_request.py",
            "test_lint_drive.py",
            "test_isolated_node.py",
            "test_isolated_node_attacks.py",
            "test_result_file_grader.py",
            "test_stdio_grader.py",
            "test_isolated_swallowing.py",
            "test_isolated_values.py",
            "test_unittest_grader.py",
        ),
        "what graders make of a jail; that jails are alike is tested by the jail's own modules",
    ),
    "test_hostile_output.py": "what is shown of a run, whoever made it",
    "test_jail_disk.py": "the same watchdog looks after both",
    "test_damaged_store.py": "whoever runs it, a copy is compared with its manifest",
    "test_no_space_runs.py": "only root mounts a small file system",
    "test_large_sources.py": "a source is looked at in the same way by everybody",
    "test_runtime_requirements.py": "wheels are read on the host, whoever runs it",
    "test_pytest_plugin.py": "the same jails by another way",
    "test_scaled_limits.py": "what is measured in a jail is tested by the jail's own modules",
    "test_tutorial.py": "the same commands as in test_run_command.py",
}
MODULES = sorted(path.name for path in HERE.parent.glob("test_*.py") if path.name not in ELSEWHERE)


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
@pytest.mark.parametrize("module", MODULES)
def test_integration_as_an_ordinary_user(module: str) -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    assert not problem
    finished = as_ordinary_user("-m", "pytest", "-q", "-rs", f"tests/integration/{module}")
    assert finished.code == 0, finished.output
