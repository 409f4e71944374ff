"""A generated package works as it is: its own tests, ruff, mypy, and its wheel in
processes of its own."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.authoring.scaffold.names import (
    KINDS,
    PACKAGES,
    PackageKind,
    package_name,
)
from mmeval.authoring.scaffold.package import write_package
from tests.support.cli import environment, mmeval_process

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


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_that_init_prints_work(kind: PackageKind, tmp_path: Path) -> None:
    printed = mmeval_process("init", kind, "her_own", cwd=tmp_path).out
    site = tmp_path / "site"
    if kind in PACKAGES:
        options = ("--quiet", "--no-deps", "--no-build-isolation", "--target", "site")
        succeeds("pip", "install", *options, "./her_own", cwd=tmp_path)
    env = environment(PYTHONPATH=str(site))
    commands = [line for line in printed.splitlines() if line.startswith("  mmeval ")]
    for command in commands:
        words = shlex.split(command)[1:]
        done = mmeval_process(*words, env=env, cwd=tmp_path)
        assert done.code == 0, (command, done.out, done.err)
        assert "There is no number." not in done.out, command
