import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.media.parts import Interleaved
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan, trial_from
from mmeval.records.response import ErrorInfo
from mmeval.records.trial import Trial
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.system.json_lines import from_line
from tests.support.scoring import answered, line_of, made, plan, scored
from tests.support.toy import picture, reply, sample

pytestmark = pytest.mark.usefixtures("toys")


def only(line: bytes, plan: ScoringPlan) -> Any:
    """The one row of one trial, scored here."""
    (row,) = scored([line], plan)
    return row


@pytest.mark.parametrize(
    "trial",
    [
        made(sample(level="hard"), reply("see <image1>", picture(2))),
        made(
            sample(),
            reply("one"),
            reply("two"),
            output=Interleaved.from_text("one and two"),
        ),
        Trial(sample(), 3, error=ErrorInfo("timeout", "too \ud800 late")),
        made(sample(text="\udfff"), reply("\ud800")),
        replace(made(sample(), reply("words")), left_out=("image", "3d")),
    ],
    ids=["media", "several exchanges", "failed", "surrogates", "kinds left out"],
)
def test_a_trial_survives_its_line(tmp_path: Path, trial: Trial) -> None:
    journal = Journal(tmp_path / "journal", MediaStore(tmp_path / "media"))
    lines = [
        journal.append(e.path, e.request_digest, e.response).line
        for e in trial.exchanges
    ]
    journal.close()
    row = from_line(line_of(trial, 5, lines))
    assert trial_from(row, tmp_path / "media") == trial
    assert (row["i"], row["n"], row["d"]) == (5, trial.repeat, trial.digest)


def test_labels_and_the_cluster_travel_with_a_row_and_an_empty_answer_has_the_score_of_the_benchmark() -> (
    None
):
    row = only(
        answered("yes", level="hard", book=7),
        plan(labels=("level", "kind"), cluster_key="book"),
    )
    assert (row["labels"], row["cluster"]) == ({"level": "hard", "kind": None}, "7")
    assert only(answered("yes", book=None), plan(cluster_key="book"))["cluster"] == "s0"
    assert not {"labels", "cluster"} & only(answered("yes", book=7), plan()).keys()
    row = only(answered(" \n"), plan(missing_output=0.25, judged_outputs=("verdict",)))
    assert {name: score["value"] for name, score in row["scores"].items()} == {
        "toy_yes": 0.25,
        "verdict": 0.25,
    }
    assert only(answered(" "), plan())["scores"]["toy_yes"]["value"] == 0
    assert (
        only(answered("yes"), plan(missing_output=0.25))["scores"]["toy_yes"]["value"]
        == 1
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("exit", "SystemExit: enough"),
        ("odd", "evidence"),
    ],
)
def test_a_metric_that_fails_leaves_the_answer_unscored_with_the_reason(
    answer: str, reason: str
) -> None:
    score = only(answered(answer), plan())["scores"]["toy_yes"]
    assert (score["value"], score["status"], reason in score["reason"]) == (
        None,
        "unscored",
        True,
    )


def nothing(position: int, rows: bytes) -> None:
    pass


def works(*pieces: Callable[[], Any], workers: int) -> list[Any]:
    scorer = Scorer([plan()], workers, nothing)
    scorer.start()
    try:
        return scorer.compute(pieces)
    finally:
        scorer.close()


NICENESS = partial(os.getpriority, os.PRIO_PROCESS, 0)
MOST_NICE = 19
"""The lowest priority of a process, which the tests may have themselves."""


def test_other_work_is_done_by_a_scoring_process_in_order_and_gives_way_to_asking() -> (
    None
):
    pieces = [partial(divmod, i, 7) for i in range(20)]
    *found, process, niceness = works(*pieces, os.getpid, NICENESS, workers=1)
    assert found == [divmod(i, 7) for i in range(20)]
    assert process != os.getpid()
    assert niceness >= min(NICENESS() + 1, MOST_NICE)
    assert works(pieces[9], os.getpid, workers=0) == [(1, 2), os.getpid()]
