from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.report.worst import MOST, MOST_LOST, WorstTrials, judge_reason, worst_trials
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import WrittenTrial, text, write_run

RANGE = {"told": {"right": {"outputs": ["right"], "range": [0, 1]}}}
ENDLESS = {"told": {"right": {"outputs": ["right"], "range": None}}}


def answer(value: float | None, **more: Any) -> WrittenTrial:
    """An answer with a score, or with an unscored one."""
    status = "unscored" if value is None else "scored"
    score = {"value": value, "status": status, **more}
    return WrittenTrial([text("draw")], [text("done")], {"right": score})


def failed(kind: str) -> WrittenTrial:
    error = {"kind": kind, "message": "the server is gone"}
    return WrittenTrial([text("draw")], None, {}, error=error)


def worst(folder: Path, *trials: WrittenTrial, **results: Any) -> WorstTrials:
    run = StoredRun(write_run(folder, trials, results={"metrics": RANGE, **results}))
    return worst_trials(run, ["told"])


def samples(folder: Path, *trials: WrittenTrial, **results: Any) -> list[str]:
    return [trial.sample for trial in worst(folder, *trials, **results).worst]


def direction(*, higher_is_better: bool) -> Mapping[str, Any]:
    number = {"task": "told", "metric": "right", "value": 0.5, "n": 3, "scored": 3}
    return {"results": [{**number, "higher_is_better": higher_is_better}]}


def test_the_lowest_score_comes_first(tmp_path: Path) -> None:
    trials = (answer(0.5), answer(0.0), answer(1.0))
    assert samples(tmp_path, *trials) == ["sample 1", "sample 0", "sample 2"]


@pytest.mark.parametrize("metrics", [RANGE, ENDLESS])
def test_the_highest_score_comes_first_if_lower_is_better(
    metrics: Mapping[str, Any], tmp_path: Path
) -> None:
    trials = (answer(0.5), answer(0.0), answer(1.0))
    found = samples(
        tmp_path, *trials, metrics=metrics, **direction(higher_is_better=False)
    )
    assert found == ["sample 2", "sample 0", "sample 1"]


def test_equal_scores_are_in_the_order_of_the_data(tmp_path: Path) -> None:
    assert samples(tmp_path, answer(1.0), answer(1.0)) == ["sample 0", "sample 1"]


def test_ten_of_many_answers_are_kept(tmp_path: Path) -> None:
    trials = [answer(1 - place / 100) for place in range(50)]
    expected = [f"sample {49 - place}" for place in range(MOST)]
    assert samples(tmp_path, *trials) == expected


def test_an_answer_without_a_score_is_not_among_the_worst(tmp_path: Path) -> None:
    trials = (answer(0.5), answer(None), failed("timeout"))
    assert samples(tmp_path, *trials) == ["sample 0"]


def test_an_answer_without_a_score_has_its_reason(tmp_path: Path) -> None:
    found = worst(tmp_path, answer(0.5), answer(None, reason="lost"), failed("timeout"))
    reasons = [trial.reason for trial in found.without_score]
    assert reasons == ["lost", "timeout: the server is gone"]


def test_all_answers_without_a_score_are_counted(tmp_path: Path) -> None:
    trials = [failed("timeout") for _ in range(MOST_LOST + 3)]
    found = worst(tmp_path, *trials)
    assert (len(found.without_score), found.lost) == (MOST_LOST, MOST_LOST + 3)


@pytest.mark.parametrize("kind", ["unsupported", "bad_sample"])
def test_a_sample_that_was_not_sent_is_left_out(kind: str, tmp_path: Path) -> None:
    assert worst(tmp_path, answer(0.5), failed(kind)).lost == 0


def test_an_answer_with_nothing_to_score_is_left_out(tmp_path: Path) -> None:
    inapplicable = WrittenTrial(
        [text("draw")], [text("done")], {"right": {"status": "inapplicable"}}
    )
    assert worst(tmp_path, answer(0.5), inapplicable).lost == 0


def test_a_task_that_is_not_named_is_left_out(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path, [answer(0.5)], results={"metrics": RANGE}))
    assert worst_trials(run, ["other"]).scored == 0


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ({"reason": "no hare"}, "no hare"),
        ({"verdicts": {"0": {"Judge": "No", "Reason": "no hare"}}}, "no hare"),
        ({"criteria": [{"met": False}, {"met": False, "reason": "b"}]}, "b"),
        (
            {
                "criteria": [
                    {"met": True, "reason": "a hare"},
                    {"met": False, "reason": "no tail"},
                ]
            },
            "no tail",
        ),
        ({"reason": 3}, ""),
        ({}, ""),
    ],
    ids=["own", "verdict", "no reason", "not met", "not a text", "empty"],
)
def test_the_reason_of_a_score_is_in_its_evidence(
    evidence: Mapping[str, Any], reason: str
) -> None:
    assert judge_reason({"right": {"evidence": evidence}}, ["right"]) == reason


def test_the_reason_of_a_total_is_that_of_a_piece() -> None:
    scores = {"total": {}, "piece": {"evidence": {"reason": "no hare"}}}
    assert judge_reason(scores, ["total", "piece"]) == "no hare"
