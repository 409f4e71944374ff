from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.system.folders import own_cache


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


def test_a_user_without_a_home_is_told_what_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", nobody)

    with pytest.raises(StorageError, match="no home folder; name one for caches with MMEVAL_CACHE_DIR"):
        own_cache()
