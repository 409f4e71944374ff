from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.comparison.compare import compare
from mmeval.comparison.ranking import ALPHA, Order, Rank, Ranking, groups, ranks
from mmeval.comparison.text import comparison_text, tables_of_comparison
from mmeval.report.table_formats.layouts import RENDERED
from tests.support.stored_runs import WrittenTrial, text, write_run


class Compared(NamedTuple):
    """The values of some runs, and which of them are surely apart."""

    values: list[float]
    surely: set[Order]

    @property
    def order(self) -> list[int]:
        return sorted(range(len(self.values)), key=lambda run: -self.values[run])

    def are_apart(self, one: int, other: int) -> bool:
        return (one, other) in self.surely or (other, one) in self.surely


@st.composite
def runs_with_tests(draw: st.DrawFn) -> Compared:
    """Runs with a corrected p for each two of them, any at all."""
    values = draw(st.lists(st.integers(0, 6).map(float), min_size=2, max_size=8))
    surely = set()
    for one, other in combinations(range(len(values)), 2):
        p = draw(st.sampled_from((0.0, 0.049, 0.051, 1.0)))
        difference = values[other] - values[one]
        if p < ALPHA and difference:
            surely.add((other, one) if difference > 0 else (one, other))
    return Compared(values, surely)


@given(runs_with_tests())
def test_an_interval_of_ranks_leaves_out_a_place_for_each_run_that_is_surely_apart(
    tests: Compared,
) -> None:
    for run, place in enumerate(ranks(tests.values, tests.surely)):
        first, last = place.ci95
        apart = sum(tests.are_apart(run, other) for other in tests.order)
        assert last - first == len(tests.values) - 1 - apart


@given(runs_with_tests())
def test_runs_of_one_group_are_never_surely_apart(tests: Compared) -> None:
    for group in groups(tests.order, tests.surely):
        assert not any(tests.are_apart(*both) for both in combinations(group, 2))


@given(runs_with_tests())
def test_neighbours_share_a_group_unless_they_are_surely_apart(tests: Compared) -> None:
    found = groups(tests.order, tests.surely)
    for one, other in zip(tests.order, tests.order[1:], strict=False):
        together = any(one in group and other in group for group in found)
        assert together != tests.are_apart(one, other)


@given(runs_with_tests())
def test_no_group_is_a_part_of_another_one(tests: Compared) -> None:
    found = [set(group) for group in groups(tests.order, tests.surely)]
    assert not any(one < other for one in found for other in found)


def test_an_interval_holds_the_rank_also_where_a_test_over_more_trials_disagrees() -> (
    None
):
    assert ranks([2.0, 1.0], {(1, 0)}) == [Rank(1, (1, 2)), Rank(2, (1, 2))]


def told(
    value: float | None, sample: int, weight: float = 1.0, cluster: str = ""
) -> WrittenTrial:
    status = "unscored" if value is None else "scored"
    score = {"value": value, "status": status, "weight": weight}
    return WrittenTrial(
        [text("?")], [text("!")], {"right": score}, place=sample, cluster=cluster
    )


def written(
    folder: Path,
    runs: Mapping[str, Sequence[float | None]],
    aggregation: str = "mean",
    weights: Sequence[float] = (),
    cluster: str = "",
) -> list[Path]:
    metric = {"outputs": ["right"], "range": [0, 1], "aggregation": aggregation}
    results = {"metrics": {"told": {"right": metric}}}
    folders = []
    for name, values in runs.items():
        trials = [
            told(value, at, weights[at] if weights else 1.0, cluster)
            for at, value in enumerate(values)
        ]
        folders.append(write_run(folder / name, trials, results=results, model=name))
    return folders


def ranking_of(folders: Sequence[Path], **options: Any) -> Ranking:
    (ranking,) = compare(*folders, **options).rankings
    return ranking


def intervals(ranking: Ranking) -> dict[str, tuple[int, int] | None]:
    return {run.run: run.ci95 for run in ranking.runs}


def three(count: int) -> dict[str, list[float | None]]:
    """Three runs that are as far apart as can be, in all of their samples."""
    return {"low": [0.0] * count, "high": [1.0] * count, "middle": [0.5] * count}


@pytest.mark.parametrize("samples", [1, 5])
def test_too_few_samples_give_places_by_value_without_intervals(
    samples: int, tmp_path: Path
) -> None:
    ranking = ranking_of(written(tmp_path, three(samples)))
    assert [run.rank for run in ranking.runs] == [1, 2, 3]
    assert set(intervals(ranking).values()) == {None}
    assert f"too few samples to rank (clusters: {samples})" in ranking.runs[0].why


def test_enough_samples_for_all_tests_together_give_intervals(tmp_path: Path) -> None:
    # neighbours differ by half of the range: (2 / 3) ** 11 is the chance that as many
    # clusters as would move that to 0 were missed
    found = compare(*written(tmp_path, three(11)))
    (ranking,) = found.rankings
    assert intervals(ranking) == {"high": (1, 1), "middle": (2, 2), "low": (3, 3)}
    assert ranking.groups == (("high",), ("middle",), ("low",))
    cell = ranking.differences[0][1]
    assert cell is not None
    assert cell["p_adjusted"] == found.numbers[0].p_adjusted
    assert cell["difference"] == found.numbers[0].difference


def test_many_samples_of_one_cluster_are_too_few(tmp_path: Path) -> None:
    ranking = ranking_of(written(tmp_path, three(40), cluster="all"))
    assert "clusters: 1" in ranking.runs[0].why


def test_runs_that_are_alike_in_many_samples_are_not_too_few(tmp_path: Path) -> None:
    alike: dict[str, list[float | None]] = {name: [1.0, 0.0] * 20 for name in "abc"}
    ranking = ranking_of(written(tmp_path, alike))
    assert intervals(ranking) == dict.fromkeys("abc", (1, 3))
    assert ranking.groups == (("a", "b", "c"),)


def test_a_run_with_few_scores_has_no_interval_beside_others_that_have(
    tmp_path: Path,
) -> None:
    runs = three(40)
    runs["middle"][3:] = [None] * 37
    ranking = ranking_of(written(tmp_path, runs))
    assert ranking.pairs == 3
    assert intervals(ranking) == {"high": (1, 2), "middle": None, "low": (2, 3)}


def test_medians_are_ranked(tmp_path: Path) -> None:
    runs: dict[str, list[float | None]] = {
        name: [level + (at * 7 % 41) / 200 for at in range(41)]
        for name, level in (("low", 0.0), ("high", 0.8), ("middle", 0.4))
    }
    ranking = ranking_of(written(tmp_path, runs, aggregation="median"))
    assert [(run.run, run.value) for run in ranking.runs] == [
        ("high", pytest.approx(0.9)),
        ("middle", pytest.approx(0.5)),
        ("low", pytest.approx(0.1)),
    ]
    assert intervals(ranking) == {"high": (1, 1), "middle": (2, 2), "low": (3, 3)}


def turns() -> Iterator[tuple[str, list[float | None]]]:
    """Each two runs share ten trials, and all three share none."""
    for lost, name in enumerate("abc"):
        kept: list[float | None] = [1.0] * 30
        kept[10 * lost : 10 * lost + 10] = [None] * 10
        yield name, kept


def test_runs_without_a_common_trial_are_not_ranked(tmp_path: Path) -> None:
    ranking = ranking_of(written(tmp_path, dict(turns())))
    assert [(run.run, run.rank, run.ci95) for run in ranking.runs] == [
        (name, None, None) for name in "abc"
    ]
    assert ranking.runs[0].why == "no trial has a score in all runs"


def test_runs_without_a_value_over_the_common_trials_are_not_ranked(
    tmp_path: Path,
) -> None:
    lost_in_turn = dict(turns())
    for values in lost_in_turn.values():
        values.append(1.0)
    weights = [1.0] * 30 + [0.0]
    ranking = ranking_of(
        written(tmp_path, lost_in_turn, aggregation="weighted_mean", weights=weights)
    )
    assert not ranking.is_ranked
    assert "no value" in ranking.runs[0].why


def test_a_run_that_is_unlike_leaves_all_unranked_with_the_reason(
    tmp_path: Path,
) -> None:
    folders = written(tmp_path, {name: [1.0] * 8 for name in "ab"})
    trials = [told(1.0, at) for at in range(8)]
    results = {"protocols": {"told": "episode"}}
    other = write_run(tmp_path / "c", trials, results=results, model="c")
    ranking = ranking_of([*folders, other])
    assert not ranking.is_ranked
    assert "runs a and c are not comparable" in ranking.runs[0].why
    assert ranking.differences[0][1] is not None
    assert ranking.differences[0][2] is None


@pytest.mark.parametrize("options", [{"correction": "none"}, {"alpha": 0.2}], ids=str)
def test_ranks_hold_together_whatever_the_verdicts_are_corrected_by(
    options: Mapping[str, Any], tmp_path: Path
) -> None:
    # five samples of twelve have p = .025 alone, .076 by Holm
    runs = three(12)
    runs["high"][5:] = [0.0] * 7
    runs["middle"] = runs["high"][::-1]
    folders = written(tmp_path, runs)
    found = compare(*folders, **options)
    assert {number.verdict for number in found.numbers} == {"better"}
    assert intervals(found.rankings[0]) == dict.fromkeys(runs, (1, 3))
    note = "The intervals of all ranks hold jointly"
    assert note in comparison_text(found, 80)
    assert note in RENDERED["markdown"](tables_of_comparison(found))


@pytest.mark.parametrize(
    "runs", [three(5), dict(turns())], ids=["few samples", "no common trial"]
)
def test_what_is_not_known_of_ranks_is_a_note_of_text_and_table(
    runs: Mapping[str, Sequence[float | None]], tmp_path: Path
) -> None:
    found = compare(*written(tmp_path, runs))
    why = found.rankings[0].runs[0].why
    assert why[1:] in comparison_text(found, 80)
    for name in ("markdown", "latex"):
        assert why[1:] in RENDERED[name](tables_of_comparison(found))
