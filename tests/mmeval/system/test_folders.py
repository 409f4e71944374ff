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
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "report"
    for words in ("old", "new"):
        with replaced(folder) as new:
            (new / words).write_text(words)
    assert entries(folder) == ["new"]
    assert entries(folder.parent) == ["report"]


def test_a_system_that_cannot_exchange_folders_moves_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    test_a_folder_takes_the_place_of_the_old_one(tmp_path)


def test_a_killed_process_leaves_the_old_folder_and_the_next_one_tidies_up(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "old").touch()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)], check=False, env=os.environ
    )
    leftovers = entries(tmp_path)
    with replaced(folder) as new:
        (new / "new").touch()
    assert killed.returncode == -signal.SIGKILL
    assert len(leftovers) == 2
    assert entries(tmp_path) == ["report"]
    assert entries(folder) == ["new"]


def test_the_cache_is_where_the_user_says_and_must_be_named_without_a_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("MMEVAL_CACHE_DIR")
    for name, cache in {
        "HOME": "/a/.cache/mmeval",
        "XDG_CACHE_HOME": "/a/mmeval",
        "MMEVAL_CACHE_DIR": "/a",
    }.items():
        monkeypatch.setenv(name, "/a")
        assert own_cache() == Path(cache)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("MMEVAL_CACHE_DIR")
    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        own_cache()
