import errno
import tempfile
from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.interchange.spool import LineSpan, TemporaryLines


def test_values_come_back_in_any_order_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    values = [{"a": [1, None]}, "half \ud83d", "x" * 100_000, []]
    kept = TemporaryLines()
    spans = [kept.put(value) for value in values]
    assert spans[0] == LineSpan(0, len(kept.line(spans[0])))
    assert [kept.get(span) for span in reversed(spans)] == values[::-1]
    assert list(tmp_path.iterdir()) == []
    kept.close()
    kept.close()


def test_a_full_disk_and_a_folder_that_is_gone_are_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left")

    kept = TemporaryLines()
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(StorageError, match="TMPDIR"):
        kept.put("a")
    kept.close()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StorageError, match="TMPDIR"):
        TemporaryLines()
