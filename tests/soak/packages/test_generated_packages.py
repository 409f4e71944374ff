"""A generated package works as it is: its own tests, ruff, mypy, and its wheel in processes of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.authoring.scaffold.names import KINDS, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package
from tests.support.cli import mmeval_process

ROOT = Path(__file__).parents[3]
RULES = "E,F,W,I,N,UP,B,C4,SIM,RUF,RET,A,ARG,PTH,T20"
SOURCES = ("tasks", "metrics", "model_backends")


def succeeds(*words: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_its_tests_pass_ruff_finds_nothing_and_its_wheel_is_sound(kind: PackageKind, tmp_path: Path) -> None:
    folder = write_package(kind, package_name(kind, "her-own"), tmp_path, subtasks=2).folder
    succeeds("ruff", "check", "--no-cache", "--select", RULES, ".", cwd=folder)
    succeeds("ruff", "format", "--no-cache", "--check", ".", cwd=folder)
    succeeds("pytest", "-q", "-p", "no:cacheprovider", "-W", "error", cwd=folder)
    checked = mmeval_process("validate", "--dist", folder)
    assert checked.code == 0, checked.out + checked.err


def test_mypy_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = tmp_path / "links" / "mmeval"
    links.mkdir(parents=True)
    for source in [*(ROOT / "mmeval").iterdir(), *(ROOT / name for name in SOURCES)]:
        (links / source.name).symlink_to(source)
    for kind in KINDS:
        folder = write_package(kind, package_name(kind, f"her-{kind}"), tmp_path).folder
        monkeypatch.setenv("MYPYPATH", f"{links.parent}:{folder}")
        cache = ("--cache-dir", str(tmp_path / "cache"))
        succeeds("mypy", "--strict", "--follow-imports=silent", *cache, f"her_{kind}", "tests", cwd=folder)
