"""Metrics that open models, as users run them offline: MMMG's by tiny random models,
and a toy whose process is killed."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import cli
from tests.support.cli import (
    DEADLINE,
    Ended,
    mmeval_process,
    openai,
    results,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.models import OF_MMMG, weights_folder
from tests.support.scoring import WHOLE, Runs
from tests.support.shipped_tasks import NEED_WEIGHTS


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    weights_folder(folder / "models")
    return cli.environment(
        MMEVAL_WEIGHTS_DIR=str(folder / "models"),
        MMEVAL_CACHE_DIR=str(folder / "cache"),
    )


def run(output: Path, environment: Mapping[str, str], *flags: str) -> Ended:
    with MockServer() as server:
        asked = (
            *openai(server, outputs="text+image+audio"),
            "--judge",
            f"openai,model=j,base_url={server.url}",
        )
        return mmeval_process(
            "--tasks",
            ",".join(NEED_WEIGHTS),
            "--data",
            "bundled",
            "--output_path",
            output,
            "--report",
            "false",
            *asked,
            *flags,
            env=environment,
        )


def values(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    rows = found["mmeval"]["results"]
    return {
        (row["task"], row["metric"]): (row["value"], row["scored"], row["n"])
        for row in rows
        if not row["slice"]
    }


def models(found: Any) -> Iterator[dict[str, Any]]:
    """The models of metrics in a results file, wherever they stand."""
    if isinstance(found, dict) and {"name", "revision", "fingerprint"} <= found.keys():
        yield found
    for part in (
        found.values()
        if isinstance(found, dict)
        else found
        if isinstance(found, list)
        else ()
    ):
        yield from models(part)


def test_every_task_of_mmmg_is_scored_by_all_of_its_models_and_alike_in_one_process(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    first = run(tmp_path / "a", environment)
    again = run(tmp_path / "b", environment, "--score_workers", "0")
    opened = {
        model["name"]: model["fingerprint"] for model in models(results(tmp_path / "a"))
    }
    found = values(results(tmp_path / "a"))
    of_models = {
        key: value for key, value in found.items() if not key[1].startswith("judge_")
    }
    assert set(NEED_WEIGHTS) == {task for task, _ in of_models}
    assert all(
        scored == n
        for (_, metric), (_, scored, n) in of_models.items()
        if metric != "overall"
    )
    assert {name for name in OF_MMMG if not name.startswith("CPJKU")} <= opened.keys()
    assert all(opened.values())
    assert (again.code, values(results(tmp_path / "b"))) == (first.code, found)


def kept_rows(folder: Path) -> int:
    """Scores that the next process finds."""
    return sum(
        file.read_bytes().count(b"\n") for file in folder.rglob("scores/*/*/*.jsonl")
    )


@pytest.mark.parametrize("victim", ["run", "process with models"])
def test_whatever_is_killed_while_models_score_every_answer_is_scored(
    victim: str, tmp_path: Path
) -> None:
    runs = Runs(tmp_path, answer="yes slow 0.2")
    with started(*runs.words(), env=runs.env) as running:
        wait_for(lambda: len(runs.of("batch")) >= 4, "the first batches")
        wait_for(lambda: kept_rows(tmp_path) > 0, "rows of them that are kept")
        first = runs.of("batch")[-1].process
        os.kill(running.process.pid if victim == "run" else first, signal.SIGKILL)
        code = running.process.wait(DEADLINE)
    if victim == "run":
        code = mmeval_process(*runs.words(), env=runs.env).code
    assert (code, runs.rows) == (0, WHOLE)
    later = [int(note.more) for note in runs.of("batch") if note.process != first]
    assert 0 < sum(later) < len(WHOLE), "what was scored is kept"
