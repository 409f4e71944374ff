from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.aggregate.summary import combine
from mmeval.errors import PluginError
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.records.score import UNUSED_REPLY, Result, Score
from mmeval.results.task_results import (
    TaskNumbers,
    group_results,
    task_results,
    unscored_reasons,
)
from mmeval.system.json_lines import sealed, to_line
from mmeval.task.task import Group, GroupMetric, Task
from tests.support.toy import task


def row(index: int, value: float | None = None, **more: Any) -> dict[str, Any]:
    """A score row; without a value its score is missing."""
    scores = (
        {} if value is None else {"exact_match": {"value": value, "status": "scored"}}
    )
    return {
        "i": index,
        "n": 0,
        "s": f"s{index}",
        "d": "d",
        "status": "ok",
        "scores": scores,
        **more,
    }


def results(run: Path, of: Task, *rows: Mapping[str, Any], **more: Any) -> list[Result]:
    scores = ScoreSet(run, of.name, {"metrics": [], "outputs": ["exact_match"]})
    for one in rows:
        scores.add(sealed(to_line(one)))
    scores.finish()
    return task_results(
        TaskNumbers.of(of), scores.folder, lambda index, repeat: index < 100, **more
    )


def named(task_name: str, value: float | None, n: int = 10) -> Result:
    return Result(task_name, "m", value, n=n, scored=n)


def test_a_suspended_number_has_counts_and_bounds_whole_and_in_each_slice(
    tmp_path: Path,
) -> None:
    rows = (row(0, 1, labels={"level": "hard"}), row(1, labels={"level": "hard"}))
    for result in results(
        tmp_path / "own", task(breakdown=("level",)), *rows, suspended=["exact_match"]
    ):
        assert result.suspended
        assert (result.value, result.stderr, result.ci95) == (None, None, None)
        assert (result.scored, result.unscored, result.bounds) == (1, 1, (0.5, 1))
    (other,) = results(tmp_path / "other", task(), row(0, 1), suspended=["another"])
    assert other.value == 1


def test_answers_that_name_no_option_are_counted_by_the_evidence(
    tmp_path: Path,
) -> None:
    wrong = {"value": 0.0, "status": "scored", "evidence": {"no_option": True}}
    rows = (row(0, scores={"exact_match": wrong}), row(1, 1))
    (whole,) = results(tmp_path, task(), *rows)
    assert (whole.value, whole.no_option) == (0.5, 1)


def test_refused_answers_are_counted_by_their_rows(tmp_path: Path) -> None:
    rows = ({**row(0, 0), "refused": True}, row(1, 1))
    (whole,) = results(tmp_path, task(), *rows)
    assert (whole.value, whole.refused) == (0.5, 1)


def test_a_refused_verdict_is_counted_by_its_cause(tmp_path: Path) -> None:
    lost = {"value": None, "status": "unscored", "reason": "", "cause": "refused"}
    rows = (row(0, scores={"exact_match": lost}), row(1, 1))
    (whole,) = results(tmp_path, task(), *rows)
    assert (whole.unscored, whole.refused_verdicts) == (1, 1)


def with_options(**options: Any) -> Task:
    (metric,) = task().metrics
    return replace(task(), metrics=(replace(metric, options=options),))


def test_a_number_is_made_by_the_aggregator_and_options_that_the_task_names(
    tmp_path: Path,
) -> None:
    rows = [row(i, i % 2) for i in range(20)]
    drawn = with_options(interval="bootstrap")
    (asked,) = results(tmp_path / "asked", drawn, *rows, bootstrap_iters=300)
    (usual,) = results(tmp_path / "usual", drawn, *rows)
    assert asked.value == 0.5
    assert (asked.bootstrap_iters, usual.bootstrap_iters) == (300, 1000)


@pytest.mark.parametrize(
    "given", [{"range": (0, 1)}, {"interval": None, "no_such": 1}], ids=str
)
def test_an_aggregator_that_fails_is_named(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    with pytest.raises(PluginError, match=r"toy: .*'mean'.* \(TypeError: "):
        results(tmp_path, with_options(**given), row(0, 1))


INNER = Group("inner", "Inner", ("b", "c"), (GroupMetric("m"),))
BARE = Group("inner", "Inner", ("b", "c"))
WHOLE = [named("a", 1.0), named("b", 0.0), named("c", 0.5)]


@pytest.mark.parametrize(
    ("groups", "members", "expected"),
    [
        (
            [Group("outer", "Outer", ("a", "inner"), (GroupMetric("m"),)), INNER],
            [*WHOLE, replace(named("a", 0.0), slice="level=hard")],
            {"outer": (0.625, 30), "inner": (0.25, 20)},
        ),
        ([Group("g", "G", ("a",), (GroupMetric("other"),))], WHOLE, {}),
        (
            [Group("outer", "Outer", ("inner", "b"), (GroupMetric("m"),)), BARE],
            [named("b", 1.0), named("c", 0.0)],
            {"outer": (0.5, 20)},
        ),
    ],
    ids=["tasks and groups", "no member", "a task twice"],
)
def test_tasks_count_once(
    groups: list[Group], members: list[Result], expected: dict[str, tuple[float, int]]
) -> None:
    assert {
        one.task: (one.value, one.scored) for one in group_results(groups, members)
    } == expected


def test_a_group_inside_a_group_weighs_its_own_as_it_says() -> None:
    """Of 30 and 10 trials: a mean of samples in the category, and a plain mean of
    categories around it."""

    def of(weigh: bool, inner: tuple[GroupMetric, ...], b: Result) -> dict[str, Result]:
        groups = [
            Group("outer", "Outer", ("a", "inner"), (GroupMetric("m", weigh),)),
            Group("inner", "Inner", ("b", "c"), inner),
        ]
        return {one.task: one for one in group_results(groups, [a, b, c])}

    a = replace(named("a", 0.5, 20), stderr=0.1, bounds=(0.5, 0.5))
    b = replace(named("b", 1.0, 30), stderr=0.2, bounds=(1.0, 1.0))
    c = replace(named("c", 0.0, 10), stderr=0.4, bounds=(0.0, 0.0))
    by_size = (GroupMetric("m", weight_by_size=True),)
    found = of(False, by_size, b)
    assert found["inner"].value == 0.75
    assert found["inner"].weights == {"b": 0.75, "c": 0.25}
    nested = combine("outer", "m", [a, found["inner"]], weight_by_size=False)
    assert found["outer"] == nested
    assert found["inner"].stderr == pytest.approx((0.15**2 + 0.1**2) ** 0.5)
    assert of(True, (GroupMetric("m"),), b)["outer"].value == pytest.approx(
        (20 * 0.5 + 40 * 0.5) / 60
    )
    assert of(True, (), b)["outer"].value == pytest.approx((20 * 0.5 + 40 * 0.75) / 60)
    lost = replace(named("b", None, 30), scored=0, unscored=30, bounds=(0.0, 1.0))
    gone = of(False, by_size, lost)
    assert gone["inner"].bounds == (0.0, 0.75)
    assert (gone["outer"].value, gone["outer"].bounds) == (None, (0.25, 0.625))


def test_where_absent_counts_a_member_that_was_not_asked_leaves_every_group_around_it_unknown() -> (
    None
):
    cannot = replace(named("b", None), scored=0, unsupported=10)
    all_of_them = (GroupMetric("m", counts_absent=True),)
    groups = [
        Group("outer", "Outer", ("a", "inner"), all_of_them),
        Group("inner", "Inner", ("b", "c")),
    ]
    found = []
    for members in ([cannot, named("c", 0.5)], [cannot], []):
        (outer,) = group_results(groups, [named("a", 1.0), *members])
        found.append(outer.value)
    assert found == [0.625, None, None]


def test_the_reasons_of_what_is_unscored_are_counted_over_the_wanted_trials(
    tmp_path: Path,
) -> None:
    scores = ScoreSet(tmp_path, "toy", {"metrics": [], "outputs": ["exact_match"]})
    final = Score.unscored("bang").to_json()
    lost = Score.lost("boom", rows=[{UNUSED_REPLY: "hmm"}]).to_json()
    for at, score in enumerate([lost, lost, final, Score(1).to_json(), lost]):
        scores.add(sealed(to_line({**row(at), "scores": {"exact_match": score}})))
    scores.finish()
    found = unscored_reasons(scores, lambda index, _: index < 4, "exact_match")
    assert found.counts == {("boom", "lost"): 2, ("bang", "final"): 1}
    assert found.replies == {("boom", "lost"): "hmm"}
