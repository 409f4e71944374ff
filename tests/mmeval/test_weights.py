"""Weights of a metric: unavailable while they lack, fetched by ``prepare --weights`` alone, used offline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, PluginError
from mmeval.weights import WEIGHTS_DIR, Weights
from tests.support.cli import Ended, environment, mmeval, results
from tests.support.fake_hub import FakeHub
from tests.support.task_folder import write_files
from tests.support.toy_weights import COMMIT, WEIGHTS, registered

MODEL = {"config.json": b"{}", "model.safetensors": bytes(7), "pytorch_model.bin": bytes(900)}


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub(models={"me/scorer": {COMMIT: MODEL}}) as running:
        yield running


@pytest.fixture
def task(tmp_path: Path) -> Path:
    text = "task: weighed_task\nmetric_list: [{metric: weighed}]\nmetadata: {version: 1}\n"
    return write_files(tmp_path, {"t.yaml": text, "test.jsonl": '{"input": "q", "reference": "a"}\n'}) / "t.yaml"


def command(folder: Path, *words: str | Path, **more: str) -> Ended:
    env = environment(
        **{"HF_HOME": str(folder / "home"), "NO_PROXY": "*", "PYTHONPATH": registered(folder / "site"), **more}
    )
    return mmeval(*words, env=env, cwd=folder)


def run(folder: Path, task: Path, *flags: str, **more: str) -> Ended:
    return command(folder, "--tasks", task, "--model", "reference", *flags, **more)


def test_a_metric_whose_weights_lack_is_unavailable_and_says_how_to_get_them(tmp_path: Path, task: Path) -> None:
    done = run(tmp_path, task)

    (warning,) = done.warnings
    assert "its weights me/scorer at cccccccccccc are not here (config.json, model.safetensors)" in warning
    assert warning.endswith(f"run: mmeval prepare {task} --weights")
    assert run(tmp_path, task, "--strict").code == 4


def test_prepare_fetches_them_when_asked_and_only_the_files_that_are_named(
    hub: FakeHub, tmp_path: Path, task: Path
) -> None:
    online = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    without = command(tmp_path, "prepare", task, **online)
    assert (without.code, hub.fetched) == (0, [])
    assert "the metric weighed will be unavailable" in without.out

    done = command(tmp_path, "prepare", task, "--weights", **online)
    later = run(tmp_path, task)

    assert (done.code, later.code) == (0, 0), done.out + later.err
    assert sorted(hub.fetched) == ["config.json", "model.safetensors"]
    assert results(tmp_path / "runs")["results"]["weighed_task"]["weighed,none"] == 7.0


def test_weights_that_cannot_be_had_leave_the_task_unready(tmp_path: Path, task: Path) -> None:
    done = command(tmp_path, "prepare", task, "--weights")

    assert done.code == 4
    assert "the metric weighed: its weights me/scorer at cccccccccccc are not here" in done.out


def test_a_folder_of_ones_own_is_looked_into_first(tmp_path: Path, task: Path) -> None:
    write_files(tmp_path / "mine/me/scorer", {"config.json": "{}", "model.safetensors": "four"})

    done = run(tmp_path, task, **{WEIGHTS_DIR: str(tmp_path / "mine")})

    assert done.code == 0, done.err
    assert results(tmp_path / "runs")["results"]["weighed_task"]["weighed,none"] == 4.0


def test_half_of_the_files_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path))
    write_files(tmp_path / "me/scorer", {"config.json": "{}"})

    assert WEIGHTS.missing == ("model.safetensors",)
    with pytest.raises(MissingDataError, match=r"model\.safetensors not here; run: mmeval prepare TASK --weights"):
        _ = WEIGHTS.folder


@pytest.mark.parametrize(
    ("repo", "revision", "files", "message"),
    [
        ("scorer", COMMIT, ("a",), "write the name of a model of the hub"),
        ("../scorer", COMMIT, ("a",), "write the name of a model of the hub"),
        ("me/scorer", "main", ("a",), "'main' is no commit"),
        ("me/scorer", COMMIT, (), "name every file"),
        ("me/scorer", COMMIT, ("../a",), "no path inside the model"),
    ],
)
def test_weights_are_pinned_and_stay_inside_their_model(
    repo: str, revision: str, files: tuple[str, ...], message: str
) -> None:
    with pytest.raises(PluginError, match=message):
        Weights(repo, revision, files)
