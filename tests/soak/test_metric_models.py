"""MMMG's tasks that models of metrics score, as users run them offline: tiny random models stand below one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.support import cli
from tests.support.cli import Ended, mmeval_process, openai, results
from tests.support.metric_models import TINY, weights_folder
from tests.support.mmmg_tasks import NEED_WEIGHTS
from tests.support.mock_openai_server import MockServer


def named(*labels: str) -> tuple[str, ...]:
    """What the bundled rows name under these labels."""
    folder = files("mmeval.tasks.mmmg") / "bundled" / "seed_instruction"
    rows: list[dict[str, Any]] = [
        json.loads(line)
        for file in folder.iterdir()
        if file.name.startswith("a_")
        for line in file.read_text("utf-8").splitlines()
        if file.name.endswith(".jsonl")
    ]
    return tuple(sorted({row[label] for row in rows for label in labels if isinstance(row.get(label), str)}))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    sounds = tuple(label.replace(" ", "_") for label in named("start", "end", "target"))
    weights_folder(folder / "models", sounds=sounds, instruments=named("instrument"))
    return cli.environment(MMEVAL_WEIGHTS_DIR=str(folder / "models"), MMEVAL_CACHE_DIR=str(folder / "cache"))


def run(output: Path, environment: Mapping[str, str], *flags: str) -> Ended:
    with MockServer() as server:
        asked = (*openai(server, outputs="text+image+audio"), "--judge", f"openai,model=j,base_url={server.url}")
        return mmeval_process(
            *("--tasks", ",".join(NEED_WEIGHTS), "--data", "bundled", "--output_path", output),
            *("--report", "false", *asked, *flags),
            env=environment,
        )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> tuple[Ended, dict[str, Any]]:
    output = tmp_path_factory.mktemp("first")
    return run(output, environment), results(output)


def values(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    rows = found["mmeval"]["results"]
    return {(row["task"], row["metric"]): (row["value"], row["scored"], row["n"]) for row in rows if not row["slice"]}


def test_every_task_is_scored_by_all_of_its_metrics(done: tuple[Ended, dict[str, Any]]) -> None:
    ended, found = done
    of_models = {key: value for key, value in values(found).items() if not key[1].startswith("judge_")}

    assert set(NEED_WEIGHTS) == {task for task, _ in of_models}
    assert "is unavailable" not in ended.err
    assert all(scored == n for (task, metric), (_, scored, n) in of_models.items() if metric != "overall")


def test_the_models_that_were_used_are_recorded(done: tuple[Ended, dict[str, Any]]) -> None:
    text = json.dumps(done[1])

    assert all(name in text for name in TINY if not name.startswith("CPJKU"))
    assert '"fingerprint": ""' not in text


def test_another_run_gives_the_same_numbers(
    done: tuple[Ended, dict[str, Any]], environment: Mapping[str, str], tmp_path: Path
) -> None:
    again = run(tmp_path, environment, "--score_workers", "0")

    assert again.code == done[0].code
    assert values(results(tmp_path)) == values(done[1])


def test_a_device_that_is_not_here_is_refused(environment: Mapping[str, str], tmp_path: Path) -> None:
    ended = run(tmp_path, environment, "--metric_device", "cuda:7")

    assert ended.code != 0
    assert "--metric_device cuda:7" in ended.err
