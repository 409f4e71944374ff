import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.broker import Broker
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import StorageError
from mmeval.findings.finding import Subject
from mmeval.metric.bound import bind
from mmeval.metric.contract import Metric, metric
from mmeval.metric.scoring.verdict_log import version_findings
from mmeval.program.calls import Program, Role, ask_one
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import ErrorInfo, Response, Usage
from mmeval.records.score import Score
from mmeval.records.trial import Exchange, Trial
from mmeval.run.judging import Judging
from mmeval.run.outcome import judge_versions
from mmeval.run.task_run import TaskRun, scoring_plan, task_run
from mmeval.system.json_lines import to_line, unsealed
from mmeval.task.task import TaskMetric
from tests.support.engine import brokered
from tests.support.toy import Toy, ToyLocal, reply, sample, task, toy_verdict


class Desk:
    """A task that is judged by some metrics."""

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        judge: Toy,
        metrics: Sequence[Metric],
        **more: Any,
    ) -> None:
        judged = tuple(TaskMetric(bind(one)) for one in metrics)
        toy = replace(task("t", metrics=("exact_match",), **more), metrics=judged)
        self.run: TaskRun = task_run(
            folder, toy, scoring_plan(toy, folder / "media"), {"judge": judge}
        )
        self.judging = Judging(broker, [self.run])
        self.broker, self._folder = broker, folder

    async def judge(self, *trials: Trial) -> dict[int, dict[str, Any]]:
        """The scores of trials by their place."""
        for index, trial in enumerate(trials):
            await self.judging.add(self.run, index, trial, trial.digest)
        await self.judging.drain()
        file = next(self._folder.rglob("rows.jsonl"), None)
        rows = (
            [unsealed(line) for line in file.read_bytes().splitlines(keepends=True)]
            if file is not None
            else []
        )
        return {row["i"]: row["scores"] for row in rows}


@asynccontextmanager
async def desk(
    folder: Path,
    judge: Toy | None = None,
    metrics: Sequence[Metric] = (toy_verdict,),
    limit: int = 8,
    **more: Any,
) -> AsyncIterator[Desk]:
    judge = judge or Toy()
    async with brokered(folder, limit=limit, judge=judge) as broker:
        made = Desk(folder, broker, judge, metrics, **more)
        try:
            yield made
        finally:
            made.run.close()


def trial(text: str = "an answer", id: str = "s0") -> Trial:
    return Trial(sample(id), output=reply(text).output)


def trials(count: int) -> list[Trial]:
    return [trial(f"answer {i}", f"s{i}") for i in range(count)]


def fails_with(error: BaseException, name: str) -> Metric:
    """A metric that fails after its first verdict."""

    def failing(trial: Trial, judge: Role) -> Program[float]:
        yield from ask_one(judge.ask("met?"))
        raise error

    return metric(range=(0, 1), version="1", source="made for tests", name=name)(
        failing
    )


async def test_a_judged_metric_that_fails_costs_its_own_score_alone(
    tmp_path: Path,
) -> None:
    clumsy = fails_with(KeyError("clumsy"), "toy_clumsy")
    leaving = fails_with(SystemExit(0), "toy_leaving")
    async with desk(tmp_path, metrics=(clumsy, toy_verdict, leaving)) as at:
        rows = await at.judge(trial(), trial(id="s1"))
    for scores in (rows[0], rows[1]):
        assert (scores["toy_verdict"]["value"], scores["toy_clumsy"]["status"]) == (
            1.0,
            "unscored",
        )
        assert scores["toy_clumsy"]["reason"].startswith("KeyError: 'clumsy' (")
        assert scores["toy_leaving"]["reason"].startswith("SystemExit: 0 (test_")
    async with desk(
        tmp_path / "failed",
        Toy(answers=lambda r: Response.failed("server", "out of order")),
    ) as at:
        score = (await at.judge(trial()))[0]["toy_verdict"]
    assert (score["value"], score["status"], "out of order" in score["reason"]) == (
        None,
        "unscored",
        True,
    )


async def test_judging_ends_although_its_last_task_has_just_ended(
    tmp_path: Path,
) -> None:
    def silent(trial: Trial, judge: Role) -> Program[float]:
        return 1.0
        yield from ask_one(judge.ask("never"))

    async with desk(
        tmp_path,
        metrics=(metric(range=(0, 1), version="1", source="made for tests")(silent),),
    ) as at:
        await at.judging.add(at.run, 0, trial(), trial().digest)
        await asyncio.sleep(0)  # its task is done, and still counted
        assert at.judging.in_flight == 1
        await at.judging.settle()
        assert at.judging.in_flight == 0


async def test_a_judge_that_is_gone_is_not_asked_for_every_trial(
    tmp_path: Path,
) -> None:
    judge = Toy(answers=lambda r: Response.failed("connection", "gone"))
    async with desk(tmp_path, judge, limit=1) as at:
        scores = await at.judge(*trials(80))
        suspension = at.judging.suspension
    assert (len(judge.asked), sorted(scores), suspension.outputs) == (
        50,
        list(range(49)),
        {"t": {"toy_verdict"}},
    )
    (lost,) = suspension.losses
    assert lost.reason.startswith("50 ")


async def test_a_metric_that_asks_another_role_goes_on(tmp_path: Path) -> None:
    def captioned(trial: Trial, captioner: Role) -> Program[Score]:
        yield from ask_one(captioner.ask("what is this?"))
        return Score(1.0)

    other = metric(
        range=(0, 1), version="1", source="made for tests", name="toy_caption"
    )(captioned)
    gone = Toy(answers=lambda r: Response.failed("auth", "no"))
    async with desk(tmp_path, gone, metrics=(toy_verdict, other)) as at:
        at.broker.roles["captioner"] = BackendRuntime(
            Toy(), limit=8, retries=0, live=lambda: 0
        )
        scores = await at.judge(trial(), trial(id="s1"))
    assert [sorted(scores[i]) for i in (0, 1)] == [["toy_caption"], ["toy_caption"]]
    assert at.judging.suspension.outputs == {"t": {"toy_verdict"}}


@pytest.mark.parametrize(("stopped", "judged"), [(False, 9), (True, 2)])
async def test_what_was_put_off_is_judged_unless_it_is_stopped(
    tmp_path: Path, stopped: bool, judged: int
) -> None:
    async with desk(tmp_path, Toy(delay=1), limit=1) as at:
        for i in range(9):
            asked = sample(f"s{i}")
            kept = at.broker.journal.append(
                f"key{i}", "digest", reply(f"answer {i}")
            ).response
            made = Trial(
                asked,
                exchanges=(Exchange("0", "model", "digest", kept),),
                output=kept.output,
            )
            at.run.records.keep_sample(i, asked, to_line(asked.to_json()))
            at.run.records.keep_trial(
                i, 0, made.digest, {"x": [["0", "model", f"key{i}"]]}
            )
            await at.judging.offer(at.run, i, made, made.digest)
        assert (at.judging.in_flight, at.judging.waiting) == (2, 7)
        if stopped:
            at.judging.stop()
            await at.judging.add(at.run, 9, trial("later", "s9"), "digest")
        assert sorted(await at.judge()) == list(range(judged))


async def test_what_has_no_answer_is_not_judged(tmp_path: Path) -> None:
    judge = Toy()
    async with desk(tmp_path, judge, missing_output=0.0) as at:
        assert (
            await at.judge(Trial(sample(), error=ErrorInfo("server", "no")), trial(" "))
            == {}
        )
    assert judge.asked == []


async def test_only_as_many_trials_are_under_way_as_keep_the_judge_busy(
    tmp_path: Path,
) -> None:
    seen: list[int] = []

    class Watching(Toy):
        async def generate(self, request: Request) -> Response:
            await asyncio.sleep(1)
            seen.append(at.judging.in_flight)
            return await super().generate(request)

    async with desk(tmp_path / "served", Watching(), limit=3) as at:
        await at.judge(*trials(20))
    assert max(seen) == 2 * 3
    # this judge's verdicts are given in whole batches from the first on
    judge = ToyLocal(max_batch_size=8)
    async with desk(tmp_path) as at:
        at.broker.roles["judge"] = BackendRuntime(
            judge, limit=8, retries=0, live=lambda: at.broker.live_trials
        )
        await at.judge(*trials(6))
    assert ([len(batch) for batch in judge.batches], at.broker.live_trials) == ([6], 0)


async def test_a_row_that_cannot_be_kept_stops_the_run(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        (tmp_path / "scores").write_text("a file where the folder should be")
        with pytest.raises(StorageError):
            await at.judge(*trials(4))
        with pytest.raises(StorageError):
            await at.judging.add(at.run, 4, trial("later"), trial("later").digest)


async def test_the_source_and_the_time_of_a_verdict_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    judge = Toy(
        answers=lambda _: replace(
            reply("yes"), served="toy-2026", fingerprint="fp", usage=Usage(9, 1)
        )
    )
    async with desk(
        tmp_path, judge, roles={"judge": GenerationParams(max_tokens=5)}
    ) as at:
        await at.judge(trial(), trial(id="s1"))
        folder = at.run.scores.folder if at.run.scores else tmp_path
    first, second = (
        unsealed(line)
        for line in (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    )
    assert (first.pop("latency") >= 0, first.pop("key")[:6]) == (True, "judge@")
    assert first == {
        "i": 0,
        "n": 0,
        "metric": "toy_verdict",
        "path": "0",
        "role": "judge",
        "params": {"max_tokens": 5},
        "asked": "toy-1",
        "served": "toy-2026",
        "fingerprint": "fp",
        "usage": [9, 1],
        "at": 1.8e9,
    }
    assert second["i"] == 1, "a verdict that is shared stands behind both scores"


async def test_a_judge_that_is_served_under_two_versions_is_warned_of_with_both(
    tmp_path: Path,
) -> None:
    versions = iter(("toy-may", "toy-may", "toy-june"))
    async with desk(
        tmp_path, Toy(answers=lambda _: replace(reply("yes"), served=next(versions)))
    ) as at:
        await at.judge(*trials(3))
        judges = judge_versions([at.run])
    assert [(one.asked, one.served) for one in judges["t"]] == [
        ("toy-1", "toy-may"),
        ("toy-1", "toy-june"),
    ]
    (finding,) = version_findings(judges)
    assert (finding.kind, finding.subject, finding.count) == (
        "not_comparable",
        Subject("t", role="judge"),
        2,
    )


async def test_a_judge_that_cannot_be_read_does_not_stop_another_judge(
    tmp_path: Path,
) -> None:
    bound = bind(toy_verdict)
    async with desk(tmp_path) as at:
        patience = at.judging._patience_with(bound)
        other = at.judging._patience_with(replace(bound, asks={"judge": "second"}))

    assert other is not patience
    assert at.judging._patience_with(bound) is patience
