"""The queue of a model that scores slowly."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.metric.scoring.scorer import Scorer
from tests.support.scoring import MODEL, PLUGINS, ScoringRun, answered, plan
from tests.support.task_folder import installed, write_files


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_files(tmp_path / "model", MODEL)
    monkeypatch.setenv("TOY_NOTES", str(tmp_path / "notes"))
    with installed(tmp_path / "site", monkeypatch, {"models": {}}, more=PLUGINS):
        yield


@pytest.fixture
def run(tmp_path: Path) -> ScoringRun:
    return ScoringRun(tmp_path)


def test_other_tasks_do_not_wait_behind_a_model(
    run: ScoringRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = run.folder / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("TOY_GATE", str(gate))

    async def score(scorer: Scorer) -> None:
        await scorer.add(0, answered("yes held", 0))
        while not run.notes("batch"):  # another process writes it
            await asyncio.sleep(0.01)
        for i in range(40):
            await scorer.add(1, answered("yes", i))
        while len(run.rows) < 40:
            await asyncio.sleep(0.01)
        assert {position for position, _ in run.rows} == {1}
        gate.write_text("go on")
        await scorer.drain()

    run.works(score, run.plan(), plan("toy_yes"))
    assert len(run.rows) == 41


def test_a_run_that_is_stopped_does_not_wait_for_what_a_model_has_left(
    run: ScoringRun,
) -> None:
    async def stop(scorer: Scorer) -> None:
        for i in range(12):
            await scorer.add(0, answered("hang", i))  # a minute each
        draining = asyncio.create_task(scorer.drain())
        while not run.notes("batch"):  # another process writes it
            await asyncio.sleep(0.01)
        draining.cancel()

    run.works(stop)
    (process,) = {note.process for note in run.notes("batch")}
    with pytest.raises(ProcessLookupError):
        os.kill(process, signal.SIG_DFL)
    assert run.rows == []
