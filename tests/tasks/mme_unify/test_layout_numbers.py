from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.aggregate.aggregators import mean
from mmeval.results.stored_run import StoredRun
from mmeval.tasks.mme_unify.layout_numbers import settings, strict_scores
from mmeval.tasks.mme_unify.steps import steps
from tests.support.stored_runs import Row, numbers_of, stored, trials

PIECES: dict[str, tuple[str, ...]] = {
    "sipu": ("mme_unify_choice",),
    "tvg": ("mme_unify_fvd", "mme_unify_fid"),
    "tie": ("clip_image_similarity", "clip_text_similarity"),
    "csq": ("mme_unify_choice", "mme_unify_image"),
    "vcot": ("mme_unify_action", "mme_unify_location"),
}
Value = float | str
"""A score, or a status of it."""


def score(value: Value, weight: int) -> Row:
    if isinstance(value, str):
        return {"value": None, "status": value, "weight": weight}
    return {"value": value, "status": "scored", "weight": weight}


def rows(
    task: str, *answers: Sequence[Value] | str, weights: Sequence[int] = ()
) -> list[Row]:
    """An answer is a score of each piece of the task, or what became of it."""
    given: list[Mapping[str, Row] | str] = []
    for answer, weight in zip(answers, weights or [1] * len(answers), strict=True):
        if isinstance(answer, str):
            given.append(answer)
            continue
        pieces = zip(PIECES[task], answer, strict=True)
        given.append({name: score(value, weight) for name, value in pieces})
    return trials(given)


def run_of(
    folder: Path,
    tasks: Mapping[str, Sequence[Row]],
    *,
    profile: str = "standard",
    switches: Mapping[str, str] | None = None,
) -> StoredRun:
    results: list[Row] = []
    metrics: dict[str, Row] = {}
    for name, own in tasks.items():
        task = f"mme_unify_{name}"
        is_maze = name == "vcot"
        results += numbers_of(
            task,
            own,
            PIECES[name],
            "mme_unify_score",
            steps if is_maze else mean,
            {"profile": profile} if is_maze else {},
            skip=name == "tvg",
        )
        entry = {"profile": profile, "switches": switches or {}, "range": [0, 1]}
        metrics[task] = {}
        for piece in PIECES[name]:
            metrics[task][piece] = {**entry, "outputs": [piece]}
        whole = {"outputs": ["mme_unify_score"], "of_averages": True}
        metrics[task]["mme_unify_score"] = {**entry, **whole, "pieces": PIECES[name]}
    named = {f"mme_unify_{name}": own for name, own in tasks.items()}
    ours: dict[str, Any] = {"results": results, "metrics": metrics}
    return stored(folder, named, layout="mme_unify", numbers=[], **ours)


def strict(run: StoredRun) -> dict[str, float | str | None]:
    """The strict score of each task, or its state."""
    found: dict[str, float | str | None] = {}
    for number in strict_scores(run):
        assert (number.key.metric, number.key.slice) == ("mme_unify_score", "strict")
        name = number.key.task.removeprefix("mme_unify_")
        found[name] = number.state or number.value
    return found


def test_a_missing_output_counts_0(tmp_path: Path) -> None:
    tasks = {
        "tie": rows("tie", [0.8, 0.4], ["inapplicable", "inapplicable"]),
        "csq": rows("csq", [1.0, 1.0], "failed", [0.0, "unscored"]),
    }
    assert strict(run_of(tmp_path, tasks)) == {
        "tie": pytest.approx(0.3),
        "csq": pytest.approx(1 / 3),
    }


def test_a_bad_sample_is_left_out(tmp_path: Path) -> None:
    given = rows("sipu", "bad_sample", [1.0])
    given[0]["status"] = "failed"
    assert strict(run_of(tmp_path, {"sipu": given})) == {"sipu": 1.0}


def test_a_part_that_does_not_apply_is_left_out(tmp_path: Path) -> None:
    lost = ["inapplicable", "inapplicable"]
    tasks = {"tvg": rows("tvg", [0.8, "inapplicable"], lost)}
    assert strict(run_of(tmp_path, tasks)) == {"tvg": pytest.approx(0.4)}


@pytest.mark.parametrize(
    "answer, state", [("unsupported", "cannot"), ("failed", "lost")]
)
def test_a_task_without_a_score_has_its_state(
    tmp_path: Path, answer: str, state: str
) -> None:
    assert strict(run_of(tmp_path, {"sipu": rows("sipu", answer)})) == {"sipu": state}


@pytest.mark.parametrize("profile, share", [("standard", 4 / 6), ("official", 4 / 8)])
def test_the_steps_of_mazes_are_shares_of_all_steps(
    tmp_path: Path, profile: str, share: float
) -> None:
    tasks = {"vcot": rows("vcot", [0.5, 0.5], [0.75, 0.75], weights=[2, 4])}
    run = run_of(tmp_path, tasks, profile=profile)
    assert strict(run) == {"vcot": pytest.approx(share)}


@pytest.mark.parametrize(
    "vcot, expected",
    [("paper", "step_images before, vcot paper"), ("official", "vcot official")],
)
def test_a_switch_without_a_value_or_an_effect_is_no_setting(
    tmp_path: Path, vcot: str, expected: str
) -> None:
    switches = {"vectors": "", "step_images": "before", "vcot": vcot}
    tasks = {"vcot": rows("vcot", [0.5, 0.5])}
    run = run_of(tmp_path, tasks, switches=switches)
    assert settings(run) == {"Settings": expected}
