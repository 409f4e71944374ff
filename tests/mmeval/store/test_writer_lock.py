from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from mmeval.errors import RunLockedError
from mmeval.store.run_folder import RunFolder, set_aside
from mmeval.store.writer_lock import hold, wait_for_writers


def test_nobody_waits_where_nobody_writes(tmp_path: Path) -> None:
    wait_for_writers(tmp_path)
    os.close(hold(tmp_path))
    os.close(hold(tmp_path))
    wait_for_writers(tmp_path, patience=0)


def test_several_may_write_at_once(tmp_path: Path) -> None:
    for lock in [hold(tmp_path), hold(tmp_path)]:
        os.close(lock)


@pytest.mark.parametrize("opens", [RunFolder, set_aside], ids=["continued", "set aside"])
def test_a_run_folder_is_opened_once_its_writers_have_ended(opens: type, tmp_path: Path) -> None:
    lock = hold(tmp_path / "run")
    began = time.monotonic()
    threading.Timer(0.2, os.close, (lock,)).start()
    opened = opens(tmp_path / "run")

    assert time.monotonic() - began > 0.15
    if isinstance(opened, RunFolder):
        opened.close()


def test_a_writer_that_does_not_end_is_told_of(tmp_path: Path) -> None:
    lock = hold(tmp_path)
    with pytest.raises(RunLockedError, match=r"workers of an earlier process do not end; their logs in .*workers name"):
        wait_for_writers(tmp_path, patience=0.1)
    os.close(lock)
