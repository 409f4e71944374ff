"""What is generated works as it is: its own tests, mmeval's checks, ruff, and mypy."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.scaffold.names import KINDS, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.errors import StorageError

ROOT = Path(__file__).parents[4]
RULES = "E,F,W,I,N,UP,B,C4,SIM,RUF,RET,A,ARG,PTH,T20"
SOURCES = ("mmeval", "tasks", "metrics", "model_backends")


def written(kind: PackageKind, folder: Path, *, subtasks: int = 1) -> Path:
    return write_package(kind, package_name(kind, "her-own"), folder, subtasks=subtasks).folder


def succeeds(*words: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_its_own_tests_pass_as_generated(kind: PackageKind, tmp_path: Path) -> None:
    succeeds("pytest", "-q", "-p", "no:cacheprovider", "-W", "error", cwd=written(kind, tmp_path, subtasks=2))


@pytest.mark.parametrize("kind", KINDS)
def test_ruff_has_nothing_to_say(kind: PackageKind, tmp_path: Path) -> None:
    folder = written(kind, tmp_path)

    succeeds("ruff", "check", "--no-cache", "--select", RULES, ".", cwd=folder)
    succeeds("ruff", "format", "--no-cache", "--check", ".", cwd=folder)


@pytest.mark.slow
def test_mypy_has_nothing_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = tmp_path / "links" / "mmeval"
    links.mkdir(parents=True)
    for source in [*(ROOT / "mmeval").iterdir(), *(ROOT / name for name in SOURCES[1:])]:
        (links / source.name).symlink_to(source)
    for kind in KINDS:
        folder = write_package(kind, package_name(kind, f"her-{kind}"), tmp_path).folder
        monkeypatch.setenv("MYPYPATH", f"{links.parent}:{folder}")
        cache = ("--cache-dir", str(tmp_path / "cache"))
        succeeds("mypy", "--strict", "--follow-imports=silent", *cache, f"her_{kind}", "tests", cwd=folder)


@pytest.mark.parametrize("subtasks", [1, 12])
def test_a_benchmark_is_valid(subtasks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written("benchmark", tmp_path, subtasks=subtasks)

    assert main(["validate", str(folder), "--bounds", "false"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0 errors")


def test_tasks_are_numbered_in_their_order(tmp_path: Path) -> None:
    tasks = written("benchmark", tmp_path, subtasks=12) / "her_own" / "tasks"

    assert [file.stem for file in sorted(tasks.glob("her_own_*.yaml"))] == [f"her_own_{i:02}" for i in range(1, 13)]


def test_no_template_is_left_unfilled(tmp_path: Path) -> None:
    texts = [
        file.read_text()
        for kind in KINDS
        for file in written(kind, tmp_path / kind).rglob("*")
        if file.suffix not in (".png", ".wav") and file.is_file()
    ]

    assert not [text for text in texts if "[=" in text or "[%" in text or "NAME" in text]


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="choose another --output_path"):
        written("metric", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_is_full_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, content: Mapping[str, bytes]) -> None:
        (folder / next(iter(content))).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mmeval.authoring.scaffold.package._write", full)

    with pytest.raises(StorageError, match="No space left on device"):
        written("metric", tmp_path)

    assert list(tmp_path.iterdir()) == []
