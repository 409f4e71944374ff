from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.authoring.package.check import Installed, faults
from mmeval.authoring.package.environment import Environment
from mmeval.authoring.package.wheel import Wheel
from tests.support.task_folder import write_files

NOTHING: dict[str, list[str]] = {"benchmarks": [], "tasks": [], "faults": []}


def found(folder: Path, *, needs: str = "mmeval", licence: str = "Apache-2.0") -> list[tuple[str, str]]:
    """Severity and check of each fault of a package of one module, whose wheel holds all of it."""
    wheel = Wheel(
        file=folder / "her_own-1.0-py3-none-any.whl",
        names=frozenset({"her_own/__init__.py"}),
        name="her-own",
        version="1.0",
        requires=frozenset({needs}),
        texts={"licenses/LICENSE": licence},
    )
    return [(one.severity, one.check) for one in faults(folder, Installed(wheel, Environment(folder, folder), NOTHING))]


def test_a_whole_package_has_no_fault(tmp_path: Path) -> None:
    assert found(write_files(tmp_path, {"her_own/__init__.py": ""})) == []


def test_a_wheel_of_other_modules_than_the_folder_holds_is_an_error(tmp_path: Path) -> None:
    assert found(tmp_path) == [("error", "wheel")]


@pytest.mark.parametrize("needs", ["numpy", "mmevals"])
def test_a_package_that_does_not_say_it_needs_mmeval_is_warned_of(needs: str, tmp_path: Path) -> None:
    assert found(write_files(tmp_path, {"her_own/__init__.py": ""}), needs=needs) == [("warning", "requires")]


def test_a_licence_that_is_a_placeholder_is_warned_of(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"her_own/__init__.py": ""})

    assert found(folder, licence="PLACEHOLDER: put it here") == [("warning", "licence")]
