"""The lane of a model that scores slowly."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.metric.scoring.scorer import Scorer
from tests.support.scoring import MODEL, PLUGINS, answered, plan
from tests.support.scoring import Lane as Scored
from tests.support.task_folder import installed, write_files


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_files(tmp_path / "model", MODEL)
    monkeypatch.setenv("TOY_NOTES", str(tmp_path / "notes"))
    with installed(tmp_path / "site", monkeypatch, {"models": {}}, more=PLUGINS):
        yield


@pytest.fixture
def lane(tmp_path: Path) -> Scored:
    return Scored(tmp_path)


def test_other_tasks_do_not_wait_behind_a_model(
    lane: Scored, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = lane.folder / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("TOY_GATE", str(gate))

    async def score(scorer: Scorer) -> None:
        await scorer.add(0, answered("yes held", 0))
        while not lane.notes("batch"):  # another process writes it
            await asyncio.sleep(0.01)
        for i in range(40):
            await scorer.add(1, answered("yes", i))
        while len(lane.rows) < 40:
            await asyncio.sleep(0.01)
        assert {position for position, _ in lane.rows} == {1}
        gate.write_text("go on")
        await scorer.drain()

    lane.works(score, lane.plan(), plan("toy_yes"))
    assert len(lane.rows) == 41


def test_a_run_that_is_stopped_does_not_wait_for_what_a_model_has_left(
    lane: Scored,
) -> None:
    async def stop(scorer: Scorer) -> None:
        for i in range(12):
            await scorer.add(0, answered("hang", i))  # a minute each
        draining = asyncio.create_task(scorer.drain())
        while not lane.notes("batch"):  # another process writes it
            await asyncio.sleep(0.01)
        draining.cancel()

    lane.works(stop)
    (process,) = {note.process for note in lane.notes("batch")}
    with pytest.raises(ProcessLookupError):
        os.kill(process, signal.SIG_DFL)
    assert lane.rows == []
