from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.trust.bridge import Bridge, bridge
from mmeval.trust.records import Draw, ScoreRow

Change = Callable[[ScoreRow], ScoreRow | None]
QUALITY = {"base": 4.0, "chat": 5.0, "tuned": 7.0}


def verdicts(
    asked: int = 60, *, shift: Mapping[str, float] | None = None
) -> list[ScoreRow]:
    """Verdicts of 200 samples by the old judge, and of some by a new one that gives a
    point more. ``shift`` is what it gives some runs beyond that."""
    random = np.random.default_rng(0)
    rows = []
    for run, quality in QUALITY.items():
        for place in range(200):
            old = quality + random.standard_normal()
            new = old + 1 + (shift or {}).get(run, 0.0)
            new += 0.5 * random.standard_normal()
            trial = f"{run}/s{place}"
            row = ScoreRow(
                trial,
                "old",
                old,
                sample=f"s{place}",
                run=run,
                digest="d",
            )
            rows.append(row)
            if place < asked:
                drawn = replace(
                    row,
                    metric="new",
                    value=new,
                    draw=Draw("random"),
                )
                rows.append(drawn)
    return rows


def of(rows: list[ScoreRow], change: Change = lambda row: row) -> Bridge:
    changed = []
    for row in rows:
        new_row = change(row)
        if new_row is not None:
            changed.append(new_row)
    return bridge(changed, "old", "new")


def test_each_run_has_a_number_in_the_new_scale() -> None:
    for run in of(verdicts()).runs:
        assert run.new is not None
        assert run.new.ci95 is not None
        low, high = run.new.ci95
        assert low < QUALITY[run.run] + 1 < high


def test_the_order_of_clearly_different_runs_is_carried_over() -> None:
    result = of(verdicts())
    assert [pair.verdict for pair in result.pairs] == ["carried"] * 3
    assert result.exit_code == 0


def test_a_judge_that_favours_a_run_turns_the_order() -> None:
    result = of(verdicts(shift={"base": 2.5}))
    turned = {(pair.a, pair.b): pair.verdict for pair in result.pairs}
    assert turned["base", "chat"] == "turned"
    assert turned["chat", "tuned"] == "carried"
    assert result.homogeneity is not None
    assert result.homogeneity.p < 0.001


def test_a_judge_that_is_merely_lenient_favours_no_run() -> None:
    test = of(verdicts()).homogeneity
    assert test is not None
    assert test.p > 0.05
    assert test.samples == 60


def test_the_scales_of_the_judges_may_differ() -> None:
    def in_percent(row: ScoreRow) -> ScoreRow:
        assert row.value is not None
        return replace(row, value=10 * row.value) if row.metric == "old" else row

    plain, scaled = of(verdicts()), of(verdicts(), in_percent)
    for run, other in zip(plain.runs, scaled.runs, strict=True):
        assert run.new is not None
        assert other.new is not None
        assert run.new.value == pytest.approx(other.new.value)
        assert run.new.stderr == pytest.approx(other.new.stderr)


def test_a_sample_that_was_chosen_is_refused() -> None:
    def chosen(row: ScoreRow) -> ScoreRow:
        return replace(row, draw=Draw("chosen"))

    result = of(verdicts(), chosen)
    assert (result.refused, result.exit_code) == ("not drawn at random", 3)
    assert bridge(map(chosen, verdicts()), "old", "new", assume_random=True).runs


@pytest.mark.parametrize(
    ("field", "refused"),
    [("digest", "different answers"), ("question", "different questions")],
)
def test_verdicts_on_something_else_are_refused(field: str, refused: str) -> None:
    def other(row: ScoreRow) -> ScoreRow:
        is_changed = row.metric == "new" and row.sample == "s7"
        value = "other" if is_changed else "d"
        if field == "digest":
            return replace(row, digest=value)
        return replace(row, question=value)

    result = of(verdicts(), other)
    assert (result.refused, result.samples) == (refused, ("s7",))
    assert result.exit_code == 3


def test_a_run_with_few_verdicts_has_no_number() -> None:
    def fewer(row: ScoreRow) -> ScoreRow | None:
        is_lost = row.run == "chat" and row.metric == "new" and int(row.sample[1:]) > 11
        return None if is_lost else row

    result = of(verdicts(), fewer)
    assert result.runs[1].new is None
    assert result.runs[1].why == "fewer than 20 verdicts"
    assert [(pair.a, pair.b) for pair in result.pairs] == [("base", "tuned")]
    assert result.exit_code == 3


@pytest.mark.parametrize("is_row_kept", [True, False])
def test_a_run_without_an_old_verdict_has_no_number(is_row_kept: bool) -> None:
    def lost(row: ScoreRow) -> ScoreRow | None:
        if row.run == "chat" and row.metric == "old" and row.sample == "s150":
            return replace(row, value=None) if is_row_kept else None
        return row

    result = of(verdicts(), lost)
    whys = [run.why for run in result.runs]
    assert whys == ["", "old verdicts are missing", ""]


def test_the_shift_rests_on_answers_that_both_have_judged() -> None:
    shift = of(verdicts()).runs[0].shift
    assert shift is not None
    assert shift.value == pytest.approx(1.0, abs=0.2)


def test_if_all_are_judged_anew_nothing_of_these_answers_is_unknown() -> None:
    new = of(verdicts(200)).runs[0].new
    assert new is not None
    assert new.stderr_run == 0


def test_one_run_has_no_pairs() -> None:
    result = of(verdicts(), lambda row: row if row.run == "base" else None)
    assert result.pairs == ()
    assert result.homogeneity is None


def test_a_judge_without_verdicts_is_an_error() -> None:
    with pytest.raises(UsageError, match='did you mean "new"'):
        bridge(verdicts(), "old", "newe")
