import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import FileSystemBytecodeCache

from mmeval.report.page import shell


def rendered(title: str) -> str:
    empty: dict[str, Any] = {name: [] for name in ("runs", "summary", "notes", "tables", "layouts", "charts")}
    return shell.rendered({**empty, "title": title, "made": "today", "mmeval": "1", "count": 0})


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this installation keeps what it has compiled."""
    monkeypatch.setattr(shell, "COMPILED", tmp_path / "__pycache__")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "__pycache__"


def test_a_page_is_the_same_if_its_template_cannot_be_kept(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        unkept = rendered("a <b>")
        assert not compiled.exists()
    first, again = rendered("a <b>"), rendered("a <b>")
    assert (first == again == unkept, "a &lt;b&gt;" in first, len(list(compiled.iterdir()))) == (True, True, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemBytecodeCache, "dump_bytecode", full)
    for file in compiled.iterdir():
        file.unlink()
    assert rendered("a <b>") == unkept
