import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.system.folders import own_cache, replaced

KILLED = """
import os, signal, sys
from pathlib import Path
from mmeval.system.folders import replaced
with replaced(Path(sys.argv[1])) as new:
    (new / "a").write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def entries(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def test_a_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "report"
    for words in ("old", "new"):
        with replaced(folder) as new:
            (new / words).write_text(words)
    assert entries(folder) == ["new"]
    assert entries(folder.parent) == ["report"]


def test_a_system_that_cannot_exchange_folders_moves_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    test_a_folder_takes_the_place_of_the_old_one(tmp_path)


def test_a_killed_process_leaves_the_old_folder_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "old").touch()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False, env=os.environ)
    left = entries(tmp_path)
    with replaced(folder) as new:
        (new / "new").touch()
    assert killed.returncode == -signal.SIGKILL
    assert len(left) == 2
    assert entries(tmp_path) == ["report"]
    assert entries(folder) == ["new"]


@pytest.fixture(autouse=True)
def _nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MMEVAL_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert own_cache() == tmp_path / ".cache" / "mmeval"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    assert own_cache() == tmp_path / "theirs" / "mmeval"
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "mine"))
    assert own_cache() == tmp_path / "mine"


def test_a_user_without_a_home_has_to_name_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", nobody)
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        own_cache()
