from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.errors import MissingExtraError
from mmeval.report.loggers.wandb import WandbLogger
from tests.support.logged import finished, log_apart


class Stub:
    """wandb's calls as far as they are used, noted."""

    def __init__(self) -> None:
        self.begun: dict[str, Any] = {}
        self.logged: dict[str, Any] = {}
        self.files: list[str] = []
        self.summary: dict[str, Any] = {}
        self.id = "r1"
        self.finished = False

    def init(self, **given: Any) -> Stub:
        self.begun = given
        return self

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_error: object) -> None:
        self.finished = True

    def log(self, numbers: dict[str, Any]) -> None:
        self.logged = numbers

    def Table(self, *, columns: list[str], data: list[list[Any]]) -> Any:  # noqa: N802  wandb's name
        return [dict(zip(columns, row, strict=True)) for row in data]

    def Artifact(self, name: str, *, type: str) -> Any:  # noqa: N802  wandb's name
        return SimpleNamespace(add_file=self.files.append)

    def log_artifact(self, artifact: Any) -> None:
        pass


def test_numbers_settings_and_the_results_file_are_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub()
    monkeypatch.setitem(sys.modules, "wandb", stub)
    monkeypatch.setattr("mmeval.report.loggers.wandb.need_package", lambda package, extra: None)
    WandbLogger(project="p", config={"mine": 1}).log(*finished(tmp_path))
    assert {"project": "p", "name": "org/model", "job_type": "evaluation"}.items() <= stub.begun.items()
    assert (stub.begun["config"]["mine"], stub.begun["config"]["versions"]) == (1, {"a": "1.0"})
    assert stub.logged["a/half"] == 0.5
    assert [row["value"] for row in stub.logged["results"]] == [0.5, None]
    assert (stub.files, stub.summary, stub.finished) == ([str(tmp_path / "results.json")], {"exit_code": 0}, True)


def test_without_the_package_the_logger_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        WandbLogger()
    assert caught.value.extra == "wandb"


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")
def test_the_real_package_takes_a_run_offline(tmp_path: Path) -> None:
    log_apart(tmp_path, "wandb", WANDB_MODE="offline", WANDB_DIR=str(tmp_path))
    (kept,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = kept.read_bytes()
    assert (b"a/half" in content, b"mine" in content) == (True, True)
