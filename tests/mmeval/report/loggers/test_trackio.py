import importlib.util
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from mmeval.report.loggers.trackio import TrackioLogger
from tests.support.outcomes import finished, log_apart


def test_a_run_is_logged_and_ended_even_if_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trackio = MagicMock()
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    monkeypatch.setattr(
        "mmeval.report.loggers.trackio.need_package", lambda package: None
    )
    TrackioLogger(name="mine", space_id="me/space").log(*finished(tmp_path))
    begun, (logged,) = trackio.init.call_args.kwargs, trackio.log.call_args.args
    assert {"name": "mine", "space_id": "me/space"}.items() <= begun.items()
    assert begun["config"]["versions"] == {"a": "1.0"}
    assert {"a/half": 0.5, "exit_code": 0}.items() <= logged.items()
    trackio.log.side_effect = OSError("no space")
    with pytest.raises(OSError, match="no space"):
        TrackioLogger().log(*finished(tmp_path))
    assert trackio.finish.call_count == 2


@pytest.mark.skipif(
    importlib.util.find_spec("trackio") is None, reason="trackio is not installed"
)
def test_the_real_package_keeps_a_run_in_a_folder(tmp_path: Path) -> None:
    log_apart(tmp_path, "trackio", TRACKIO_DIR=str(tmp_path / "kept"))
    with closing(sqlite3.connect(tmp_path / "kept" / "mmeval.db")) as database:
        ((name, numbers),) = database.execute(
            "select run_name, metrics from metrics"
        ).fetchall()
    assert (name, json.loads(numbers)["a/half"]) == ("mine", 0.5)
