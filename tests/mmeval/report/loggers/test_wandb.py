import importlib.util
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from mmeval.report.loggers.wandb import WandbLogger
from tests.support.outcomes import finished, log_apart


def test_numbers_settings_and_the_results_file_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = MagicMock()
    wandb.Table.side_effect = lambda columns, data: [
        dict(zip(columns, row, strict=True)) for row in data
    ]
    run = wandb.init.return_value.__enter__.return_value
    run.summary = {}
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setattr(
        "mmeval.report.loggers.wandb.need_package", lambda package: None
    )
    WandbLogger(project="p", config={"mine": 1}).log(*finished(tmp_path))
    begun = wandb.init.call_args.kwargs
    assert begun["name"] == "org/model"
    assert {"mine": 1, "versions": {"a": "1.0"}}.items() <= begun["config"].items()
    logged: dict[str, Any] = {}
    for call in run.log.call_args_list:
        logged |= call.args[0]
    assert logged["a/half"] == 0.5
    assert [row["value"] for row in logged["results"]] == [0.5, None]
    wandb.Artifact.return_value.add_file.assert_called_once_with(
        str(tmp_path / "results.json")
    )
    run.log_artifact.assert_called_once_with(wandb.Artifact.return_value)
    assert run.summary == {"exit_code": 0}


@pytest.mark.skipif(
    importlib.util.find_spec("wandb") is None, reason="wandb is not installed"
)
def test_the_real_package_takes_a_run_offline(tmp_path: Path) -> None:
    log_apart(tmp_path, "wandb", WANDB_MODE="offline", WANDB_DIR=str(tmp_path))
    (kept,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = kept.read_bytes()
    assert (b"a/half" in content, b"mine" in content) == (True, True)
