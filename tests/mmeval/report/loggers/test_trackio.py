import importlib.util
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingExtraError
from mmeval.report.loggers.trackio import TrackioLogger
from tests.support.logged import finished, log_apart


class Stub:
    """trackio's calls as far as they are used, noted; ``log`` fails when ``broken``."""

    def __init__(self) -> None:
        self.begun: dict[str, Any] = {}
        self.logged: dict[str, Any] = {}
        self.finished = self.broken = False

    def init(self, **given: Any) -> None:
        self.begun = given

    def log(self, numbers: dict[str, Any]) -> None:
        if self.broken:
            raise OSError("no space")
        self.logged = numbers

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    made = Stub()
    monkeypatch.setitem(sys.modules, "trackio", made)
    monkeypatch.setattr("mmeval.report.loggers.trackio.need_package", lambda package, extra: None)
    return made


def test_numbers_and_settings_are_logged(tmp_path: Path, stub: Stub) -> None:
    TrackioLogger(name="mine", space_id="me/space").log(*finished(tmp_path))
    assert {"project": "mmeval", "name": "mine", "space_id": "me/space"}.items() <= stub.begun.items()
    assert stub.begun["config"]["versions"] == {"a": "1.0"}
    assert (stub.logged["a/half"], stub.logged["exit_code"], stub.finished) == (0.5, 0, True)


def test_a_run_that_cannot_be_logged_is_ended_all_the_same(tmp_path: Path, stub: Stub) -> None:
    stub.broken = True
    with pytest.raises(OSError, match="no space"):
        TrackioLogger().log(*finished(tmp_path))
    assert stub.finished


def test_without_the_package_the_logger_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        TrackioLogger()
    assert caught.value.extra == "trackio"


@pytest.mark.skipif(importlib.util.find_spec("trackio") is None, reason="trackio is not installed")
def test_the_real_package_keeps_a_run_in_a_folder(tmp_path: Path) -> None:
    log_apart(tmp_path, "trackio", TRACKIO_DIR=str(tmp_path / "kept"))
    with closing(sqlite3.connect(tmp_path / "kept" / "mmeval.db")) as database:
        ((name, numbers),) = database.execute("select run_name, metrics from metrics").fetchall()
    assert (name, json.loads(numbers)["a/half"]) == ("mine", 0.5)
