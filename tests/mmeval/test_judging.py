from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker import Broker
from mmeval.errors import ReplayMismatchError, StorageError
from mmeval.journal import Journal
from mmeval.judging import Judging
from mmeval.lines import from_line
from mmeval.mediastore import MediaStore
from mmeval.metric import Metric, metric
from mmeval.program import Program, Role, ask_one
from mmeval.records import ErrorInfo, Request, Response, Score, Trial
from mmeval.roles import RoleRuntime
from mmeval.task import TaskMetric
from mmeval.taskrun import TaskRun, scoring_plan, task_run
from tests.support.in_loop import in_loop
from tests.support.toy import Toy, registered, reply, sample, task, toy_verdict


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


class Desk:
    """A task that is judged by some metrics; ``rows`` are the score rows that came so far."""

    def __init__(self, folder: Path, broker: Broker, judge: Toy, metrics: Sequence[Metric], **more: Any) -> None:
        plain = task("t", metrics=("exact_match",), **more)
        judged = tuple(TaskMetric(one.bind(), plain.metrics[0].aggregator) for one in metrics)
        toy = replace(plain, metrics=judged)
        self.run: TaskRun = task_run(folder, toy, scoring_plan(toy, folder / "media"), {"judge": judge})
        self.judging = Judging(broker, 2)
        self._folder = folder

    async def judge(self, *trials: Trial) -> dict[int, dict[str, Any]]:
        """The scores of trials by their place."""
        for index, trial in enumerate(trials):
            await self.judging.add(self.run, index, trial, trial.digest)
        await self.judging.drain()
        file = next(self._folder.rglob("rows.jsonl"), None)
        rows = [from_line(line) for line in file.read_bytes().splitlines()] if file is not None else []
        return {row["i"]: row["scores"] for row in rows}


@asynccontextmanager
async def desk(
    folder: Path, judge: Toy | None = None, metrics: Sequence[Metric] = (toy_verdict,), **more: Any
) -> AsyncIterator[Desk]:
    judge = judge or Toy()
    journal = Journal(folder / "journal", MediaStore(folder / "media"))
    broker = Broker(journal)
    broker.roles = {"judge": RoleRuntime(judge, limit=8, retries=0, live=lambda: 0)}
    made = Desk(folder, broker, judge, metrics, **more)
    try:
        yield made
    finally:
        made.run.close()
        await broker.close()
        journal.close()


def trial(text: str = "an answer", id: str = "s0") -> Trial:
    return Trial(sample(id), output=reply(text).output)


@metric(range=(0, 1), version="1", source="made for tests")
def toy_clumsy(trial: Trial, judge: Role) -> Program[float]:
    """Fails after its first verdict."""
    yield from ask_one(judge.ask("met?"))
    raise KeyError("clumsy")


@in_loop
async def test_every_judged_metric_of_a_trial_makes_one_row(tmp_path: Path) -> None:
    async with desk(tmp_path, metrics=(toy_verdict, toy_clumsy)) as at:
        scores = await at.judge(trial(), trial(id="s1"))

    assert sorted(scores) == [0, 1]
    assert (scores[0]["toy_verdict"]["value"], scores[0]["toy_clumsy"]["value"]) == (1.0, None)


@in_loop
async def test_a_metric_that_fails_costs_its_own_score_alone(tmp_path: Path) -> None:
    async with desk(tmp_path, metrics=(toy_clumsy, toy_verdict)) as at:
        scores = (await at.judge(trial()))[0]

    assert scores["toy_clumsy"] == {"value": None, "status": "unscored", "reason": "KeyError: 'clumsy'"}
    assert scores["toy_verdict"]["value"] == 1.0


@pytest.mark.parametrize("kind", ["server", "auth", "bad_request"])
@in_loop
async def test_a_judge_that_fails_leaves_the_trial_unscored_with_the_reason(tmp_path: Path, kind: Any) -> None:
    async with desk(tmp_path, Toy(answers=lambda r: Response.failed(kind, "out of order"))) as at:
        score = (await at.judge(trial()))[0]["toy_verdict"]

    assert (score["value"], score["status"]) == (None, "unscored")
    assert "out of order" in score["reason"]


@in_loop
async def test_a_judge_that_is_gone_is_not_asked_for_every_trial(tmp_path: Path) -> None:
    judge = Toy(answers=lambda r: Response.failed("connection", "gone"))
    async with desk(tmp_path, judge) as at:
        scores = await at.judge(*(trial(f"answer {i}", f"s{i}") for i in range(80)))

    assert (len(scores), 50 <= len(judge.asked) <= 52) == (80, True)
    assert "50 calls in a row failed" in scores[79]["toy_verdict"]["reason"]


@in_loop
async def test_what_has_no_answer_is_not_judged(tmp_path: Path) -> None:
    judge = Toy()
    async with desk(tmp_path, judge, missing_output=0.0) as at:
        assert await at.judge(Trial(sample(), error=ErrorInfo("server", "no")), trial(" ")) == {}

    assert judge.asked == []


@in_loop
async def test_only_so_many_trials_are_judged_at_a_time(tmp_path: Path) -> None:
    busy: list[int] = []

    class Watching(Toy):
        async def generate(self, request: Request) -> Response:
            busy.append(1)
            seen.append(sum(busy))
            await asyncio.sleep(0.005)
            busy.append(-1)
            return await super().generate(request)

    seen: list[int] = []
    async with desk(tmp_path, Watching()) as at:
        await at.judge(*(trial(f"answer {i}", f"s{i}") for i in range(6)))

    assert max(seen) == 2


@in_loop
async def test_a_row_that_cannot_be_kept_stops_the_run(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        (tmp_path / "scores").write_text("a file where the folder should be")
        with pytest.raises(StorageError, match="cannot be written"):
            await at.judge(trial(), trial(id="s1"), trial(id="s2"), trial(id="s3"))


@in_loop
async def test_a_question_that_changed_under_the_same_name_stops_the_run(tmp_path: Path) -> None:
    def other(trial: Trial, judge: Role, *, question: str = "met?") -> Program[Score]:
        yield from ask_one(judge.ask("something else"))
        return Score(1.0)

    async with desk(tmp_path) as at:
        await at.judge(trial())
    async with desk(tmp_path, metrics=[replace(toy_verdict, function=other)]) as at:
        with pytest.raises(ReplayMismatchError, match="score/toy_verdict-"):
            await at.judge(trial())


@in_loop
async def test_another_answer_is_judged_anew(tmp_path: Path) -> None:
    for text, asked in (("one answer", 1), ("one answer", 0), ("another answer", 1), ("one answer", 0)):
        judge = Toy()
        async with desk(tmp_path, judge) as at:
            await at.judge(trial(text))
        assert len(judge.asked) == asked


@in_loop
async def test_a_metric_that_leaves_the_process_costs_its_own_score_alone(tmp_path: Path) -> None:
    def leaves(trial: Trial, judge: Role, *, question: str = "met?") -> Program[Score]:
        yield from ask_one(judge.ask("met?"))
        raise SystemExit(0)

    async with desk(tmp_path, metrics=[replace(toy_verdict, function=leaves)]) as at:
        rows = await at.judge(trial())
    assert rows[0]["toy_verdict"]["reason"] == "SystemExit: 0"
