import errno
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.scaffold.names import KINDS, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.errors import StorageError


def written(kind: PackageKind, folder: Path, *, subtasks: int = 1) -> Path:
    return write_package(
        kind, package_name(kind, "her-own"), folder, subtasks=subtasks
    ).folder


def test_a_benchmark_is_valid_with_its_tasks_numbered_in_order(tmp_path: Path) -> None:
    folder = written("benchmark", tmp_path, subtasks=12)
    files = (folder / "her_own" / "tasks").glob("her_own_*.yaml")
    assert [file.stem for file in sorted(files)] == [
        f"her_own_{number:02}" for number in range(1, 13)
    ]
    assert folder.stat().st_mode & 0o777 == 0o755
    assert main(["check", str(folder)]) == 0


def test_every_template_is_filled_and_every_module_compiles(tmp_path: Path) -> None:
    files = [
        file
        for kind in KINDS
        for file in written(kind, tmp_path / kind).rglob("*")
        if file.is_file()
    ]
    texts = {
        file: file.read_text() for file in files if file.suffix not in (".png", ".wav")
    }
    assert not [
        file
        for file, text in texts.items()
        if "[=" in text or "[%" in text or "NAME" in text
    ]
    for file, text in texts.items():
        if file.suffix == ".py":
            compile(text, file, "exec")


def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, data: bytes) -> int:
        file.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "file"):
        with pytest.raises(StorageError, match="--output_path"):
            written("metric", folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
