import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.metrics import embedding_cache
from mmeval.metrics.embedding_cache import cached_vectors

Vectors = np.ndarray[Any, np.dtype[np.float32]]
TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))
    return tmp_path / "embeddings"


def counted(made: list[int]) -> Callable[[], Vectors]:
    def make() -> Vectors:
        made.append(1)
        return TABLE

    return make


@pytest.mark.parametrize("left", [-1, 10, 0], ids=["cut", "cut in its head", "empty"])
def test_a_damaged_table_is_made_again(cache: Path, left: int) -> None:
    made: list[int] = []
    cached_vectors("key", 3, counted(made))
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:left])
    found = cached_vectors("key", 3, counted(made))
    cached_vectors("key", 3, counted(made))
    assert len(made) == 2
    assert found.tolist() == TABLE.tolist()
    cached_vectors("key", 4, counted(made))  # another number of rows
    assert len(made) == 3


def test_old_tables_go_and_a_blocked_cache_works(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedding_cache, "MOST_FILES", 2)
    for at, key in enumerate("abc"):
        cached_vectors(key, 3, lambda: TABLE)
        os.utime(cache / f"{key}.npy", (at, at)) if at < 2 else None
    assert sorted(path.name for path in cache.iterdir()) == ["b.npy", "c.npy"]
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "file"))
    assert cached_vectors("key", 3, lambda: TABLE).tolist() == TABLE.tolist()
