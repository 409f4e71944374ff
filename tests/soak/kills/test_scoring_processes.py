"""Scoring processes that die or hang."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from mmeval.errors import MissingExtraError, MmevalError
from mmeval.metric.scoring import worker
from tests.mmeval.metric.scoring.test_trial_rows import works
from tests.support.scoring import answered, plan, scored

pytestmark = pytest.mark.usefixtures("toys")


def test_an_answer_that_kills_the_process_is_unscored_and_its_neighbours_are_scored() -> (
    None
):
    lines = [answered(word, i) for i, word in enumerate(("yes", "die", "yes"))]
    scores = [
        row["scores"]["toy_yes"]
        for row in scored(lines, plan(unavailable={"clip": "no weights"}), workers=1)
    ]
    assert [score["value"] for score in scores] == [1, None, 1]
    assert (scores[1]["status"], scores[1]["cause"]) == ("unscored", "lost")


def test_a_metric_that_does_not_come_back_leaves_its_answer_unscored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "METRIC_SECONDS", 0.3)
    (row,) = scored([answered("hang")], plan(), workers=1)
    score = row["scores"]["toy_yes"]
    assert (score["value"], score["cause"], "0.3 seconds" in score["reason"]) == (
        None,
        "lost",
        True,
    )


def raised(error: Exception) -> None:
    raise error


def killed_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_other_work_whose_process_died_is_done_by_another_and_what_it_raises_is_raised_here(
    tmp_path: Path,
) -> None:
    assert works(partial(killed_once, tmp_path / "mark"), workers=1) == ["done"]
    with pytest.raises(MmevalError, match="--score_workers 0"):
        works(killed, workers=1)
    with pytest.raises(MissingExtraError) as caught:
        works(partial(raised, MissingExtraError("fancy")), workers=1)
    assert caught.value.name == "fancy"
