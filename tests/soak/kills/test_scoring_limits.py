"""A metric that does not come back, in Python or in native code, costs one answer its
score."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.metric.scoring import worker
from tests.support.scoring import (
    MODEL,
    PLUGINS,
    ScoringRun,
    answered,
    plan,
    scored,
    values,
)
from tests.support.task_folder import installed, write_files

# it ends native code after twice its time on every core
pytestmark = pytest.mark.timeout(1800)
SECONDS = 2.0
"""A limit that a busy machine keeps by far for an answer without work."""


@pytest.fixture(autouse=True)
def _limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker, "METRIC_SECONDS", SECONDS)
    write_files(tmp_path / "model", MODEL)
    monkeypatch.setenv("TOY_NOTES", str(tmp_path / "notes"))
    with installed(tmp_path / "site", monkeypatch, {"models": {}}, more=PLUGINS):
        yield


def test_native_code_that_does_not_come_back_costs_one_answer_its_score() -> None:
    rows = scored(
        [answered(text, i) for i, text in enumerate(["yes", "grind", "yes"])],
        plan(),
        workers=1,
    )
    scores = [row["scores"]["toy_yes"] for row in rows]
    assert [(score["value"], score.get("cause")) for score in scores] == [
        (1.0, None),
        (None, "lost"),
        (1.0, None),
    ]


def test_loading_is_no_answers_time_and_an_answer_that_hangs_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_LOADING", str(2 * SECONDS))
    run = ScoringRun(tmp_path)
    scores = run.scores("yes", "hang", "yes", workers=1)
    assert values(scores) == [1.0, None, 1.0]
    assert f"{SECONDS:g} seconds" in scores[1]["batched"]["reason"]
    assert len(run.notes("load")) == 1
