"""A generated package works as it is: its own tests, ruff, mypy, and its wheel in
processes of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.authoring.scaffold.names import PACKAGES, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package
from tests.support.cli import mmeval_process

RULES = "E,F,W,I,N,UP,B,C4,SIM,RUF,RET,A,ARG,PTH,T20"


def succeeds(*words: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", PACKAGES)
def test_its_tests_pass_ruff_and_mypy_find_nothing_and_its_wheel_is_sound(
    kind: PackageKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_package(
        kind, package_name(kind, "her-own"), tmp_path, subtasks=2
    ).folder
    succeeds("ruff", "check", "--no-cache", "--select", RULES, ".", cwd=folder)
    succeeds("ruff", "format", "--no-cache", "--check", ".", cwd=folder)
    monkeypatch.setenv("MYPYPATH", str(folder))
    cache = ("--cache-dir", str(tmp_path.parent / "mypy"))
    succeeds(
        "mypy",
        "--strict",
        "--follow-imports=silent",
        *cache,
        "her_own",
        "tests",
        cwd=folder,
    )
    succeeds("pytest", "-q", "-p", "no:cacheprovider", "-W", "error", cwd=folder)
    checked = mmeval_process("check", "--dist", folder)
    assert checked.code == 0, checked.out + checked.err
