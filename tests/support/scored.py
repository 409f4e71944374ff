"""Trials as the lines that scoring gets, their plans, and the rows that come of
them."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from mmeval.media.parts import Interleaved
from mmeval.metric.bound import bind
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan, trial_line
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange, Trial
from mmeval.system.json_lines import to_line, unsealed
from tests.support.toy import reply, sample
from tests.support.toy_weights import batched, notes

PLUGINS = (
    "[mmeval.metrics]\ntoy_yes = tests.support.toy:toy_yes\nbatched = "
    "tests.support.toy_weights:batched\n"
)


def plan(metric: str = "toy_yes", **more: Any) -> ScoringPlan:
    given: dict[str, Any] = {
        "task": "t",
        "metrics": ((metric, {}, "standard"),),
        "unavailable": {},
        "labels": (),
    }
    return ScoringPlan(
        **{
            **given,
            "missing_output": None,
            "cluster_key": "",
            "media_root": Path("media"),
            **more,
        }
    )


def line_of(
    trial: Trial, index: int = 0, responses: Sequence[bytes] | None = None
) -> bytes:
    lines = responses or [
        to_line(exchange.response.to_json()) for exchange in trial.exchanges
    ]
    return trial_line(
        trial,
        to_line(trial.sample.to_json()),
        index=index,
        digest=trial.digest,
        responses=lines,
    )


def made(of: Sample, *responses: Response, output: Interleaved | None = None) -> Trial:
    exchanges = tuple(
        Exchange(str(i), "model", f"d{i}", response)
        for i, response in enumerate(responses)
    )
    return Trial(of, 0, exchanges, output or responses[0].output)


def answered(text: str, index: int = 0, **labels: Any) -> bytes:
    return line_of(made(sample(f"s{index}", **labels), reply(text)), index)


def scored(
    lines: Sequence[bytes], *plans: ScoringPlan, workers: int = 0
) -> list[dict[str, Any]]:
    """The rows of these trials, each scored under every plan."""
    delivered: list[tuple[int, bytes]] = []
    scorer = Scorer(
        plans, workers, lambda position, rows: delivered.append((position, rows))
    )
    scorer.start()

    async def score() -> None:
        for line in lines:
            for position in range(len(plans)):
                await scorer.add(position, line)
        await scorer.drain()

    try:
        asyncio.run(score())
    finally:
        scorer.close()
    rows = [
        (position, unsealed(row))
        for position, rows in delivered
        for row in rows.splitlines(keepends=True)
    ]
    return [row for _, row in sorted(rows, key=lambda item: (item[1]["i"], item[0]))]


class Lane:
    """Plans of a task with a model and of one without, and the rows as they come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[tuple[int, dict[str, Any]]] = []

    def plan(self, *more: str, **switches: Any) -> ScoringPlan:
        bound = bind(batched, {"model": str(self.folder / "model"), **switches})
        metrics = (
            ("batched", bound.params, "standard"),
            *((name, {}, "standard") for name in more),
        )
        return plan(metrics=metrics, batch=bound.at_once)

    def deliver(self, position: int, rows: bytes) -> None:
        self.rows += [
            (position, unsealed(row)) for row in rows.splitlines(keepends=True)
        ]

    def works(
        self,
        act: Callable[[Scorer], Coroutine[Any, Any, None]],
        *plans: ScoringPlan,
        workers: int = 1,
        device: str = "cpu",
    ) -> None:
        scorer = Scorer(plans or [self.plan()], workers, self.deliver, device)
        try:
            scorer.start()
            asyncio.run(act(scorer))
        finally:
            scorer.close()

    def scores(
        self, *texts: str, given: ScoringPlan | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """The scores of these answers in their order, here by default."""

        async def score(scorer: Scorer) -> None:
            for i, text in enumerate(texts):
                await scorer.add(0, answered(text, i))
            await scorer.drain()
            assert scorer.left_to_models == 0

        self.rows.clear()
        self.works(score, given or self.plan(), **{"workers": 0, **options})
        return [
            row["scores"] for _, row in sorted(self.rows, key=lambda item: item[1]["i"])
        ]

    def notes(self, what: str) -> list[Any]:
        return notes(self.folder / "notes", what)


def values(
    scores: Sequence[dict[str, Any]], name: str = "batched"
) -> list[float | None]:
    return [score[name]["value"] for score in scores]
