from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import RunLockedError
from mmeval.store.run_folder import RunFolder, set_aside
from mmeval.store.writer_lock import hold, wait_for_writers


def test_no_writer_is_no_wait_and_several_may_write_at_once(tmp_path: Path) -> None:
    wait_for_writers(tmp_path)
    for lock in [hold(tmp_path), hold(tmp_path)]:
        lock.close()
    wait_for_writers(tmp_path, patience=0)


@pytest.mark.parametrize(
    "opens", [RunFolder, set_aside], ids=["continued", "set aside"]
)
def test_a_run_folder_is_opened_once_its_writers_have_ended(
    opens: type, tmp_path: Path, monkeypatch: Any
) -> None:
    locks = [hold(tmp_path / "run"), hold(tmp_path / "run")]
    monkeypatch.setattr(
        "mmeval.store.lock.time.sleep", lambda seconds: locks.pop().close()
    )
    opened = opens(tmp_path / "run")
    assert locks == []
    if isinstance(opened, RunFolder):
        opened.close()


def test_a_writer_that_does_not_end_is_an_error_with_the_folder_of_its_log(
    tmp_path: Path,
) -> None:
    lock = hold(tmp_path)
    with pytest.raises(RunLockedError, match=str(tmp_path / "workers")):
        wait_for_writers(tmp_path, patience=-1)
    lock.close()
