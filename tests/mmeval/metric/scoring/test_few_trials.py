"""A few short trials with cheap metrics are scored without a scoring process."""

import asyncio
import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import pytest

from mmeval.metric.scoring import scorer as scorer_module
from mmeval.metric.scoring.few_trials import FEW_TRIALS, SHORT_BYTES, are_cheap
from mmeval.metric.scoring.scorer import Scorer
from tests.support.cli import mmeval
from tests.support.questions import questions
from tests.support.scoring import answered, plan

pytestmark = pytest.mark.usefixtures("toys")


class Scoring:
    """The scoring of answers by one process at most, and the processes that it had."""

    def __init__(self, most_trials: int | None) -> None:
        self.rows: list[bytes] = []
        self.processes = 0
        self._most_trials = most_trials

    def score(self, answers: Sequence[str], metric: str = "strict_structure") -> None:
        scorer = Scorer([plan(metric)], 1, lambda _, rows: self.rows.append(rows))
        scorer.start(self._most_trials)
        try:
            asyncio.run(self._add(scorer, answers))
            self.processes = len(multiprocessing.active_children())
        finally:
            scorer.close()

    @staticmethod
    async def _add(scorer: Scorer, answers: Sequence[str]) -> None:
        for index, text in enumerate(answers):
            await scorer.add(0, answered(text, index))
        await scorer.drain()


def test_a_few_trials_are_scored_without_a_process() -> None:
    scoring = Scoring(FEW_TRIALS)
    scoring.score(["a", "b"])
    assert b"".join(scoring.rows).count(b"\n") == 2
    assert scoring.processes == 0


@pytest.mark.parametrize("most_trials", [None, FEW_TRIALS + 1])
def test_trials_of_a_large_or_unknown_number_are_scored_by_a_process(
    most_trials: int | None,
) -> None:
    scoring = Scoring(most_trials)
    scoring.score(["a"])
    assert scoring.processes == 1


def test_a_long_answer_among_a_few_is_scored_by_a_process() -> None:
    scoring = Scoring(FEW_TRIALS)
    scoring.score(["a", "b" * SHORT_BYTES])
    assert b"".join(scoring.rows).count(b"\n") == 2
    assert scoring.processes == 1


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("strict_structure", True),
        ("exact_match", True),
        ("toy_yes", False),
        ("hf_evaluate", False),
        ("ssim", False),
    ],
)
def test_cheap_metrics_are_own_ones_that_compare_texts(
    metric: str, expected: bool
) -> None:
    assert are_cheap([plan(metric)]) == expected


def test_a_metric_of_a_plugin_is_scored_by_a_process() -> None:
    scoring = Scoring(FEW_TRIALS)
    scoring.score(["yes"], metric="toy_yes")
    assert scoring.processes == 1


class NoPool:
    """Stands for the pool of scoring processes where a run must not create one."""

    def __init__(self, *_: object, **_more: object) -> None:
        raise AssertionError("a scoring process was created")


@pytest.mark.parametrize("limit", [["--limit", "2"], []], ids=["limit", "all"])
def test_a_run_of_few_samples_needs_no_scoring_process(
    limit: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer_module, "ScorePool", NoPool)
    words = [*questions(tmp_path), "--model", "reference", "--score_workers", "1"]
    done = mmeval(*words, *limit)
    assert done.code == 0, done.err
