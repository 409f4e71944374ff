from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import FileSystemBytecodeCache

from mmeval.report.page.shell import rendered


def context(title: str) -> dict[str, Any]:
    empty: dict[str, Any] = {name: [] for name in ("runs", "summary", "notes", "tables", "charts")}
    return {**empty, "title": title, "made": "today", "mmeval": "1", "count": 0}


def test_a_page_is_the_same_from_a_template_that_was_kept_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))

    first, again = rendered(context("a <b>")), rendered(context("a <b>"))

    assert first == again
    assert "a &lt;b&gt;" in first
    assert len(list((tmp_path / "templates").iterdir())) == 1


def test_a_cache_that_others_may_write_to_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates").chmod(0o777)

    assert "my title" in rendered(context("my title"))
    assert list((tmp_path / "templates").iterdir()) == []


def test_a_page_is_rendered_though_the_cache_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(FileSystemBytecodeCache, "dump_bytecode", full)

    assert "my title" in rendered(context("my title"))
