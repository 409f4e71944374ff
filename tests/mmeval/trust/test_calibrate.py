from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.trust.calibrate import Calibration, CalibrationOptions, calibrate
from mmeval.trust.records import Draw, Rating, ScoreRow

RANDOM = Draw("random")
START = datetime(2026, 11, 30, tzinfo=UTC)


def scores(count: int = 200, *, run: str = "", shift: float = 0.0) -> list[ScoreRow]:
    random = np.random.default_rng(0)
    rows = []
    for place, value in enumerate(random.random(count).round(2)):
        labels = {"level": "easy" if place % 5 else "hard"}
        rows.append(
            ScoreRow(
                f"t{place}",
                "judge",
                value + shift,
                run=run,
                labels=labels,
            )
        )
    return rows


def ratings(
    count: int = 60,
    *,
    run: str = "",
    draw: Draw = RANDOM,
    shift: float = 0.0,
) -> list[Rating]:
    random = np.random.default_rng(1)
    rated = []
    for row in scores()[:count]:
        assert row.value is not None
        value = 0.8 * row.value + 0.1 * random.random() + shift
        rating = Rating(
            trial=row.trial,
            rater="ann",
            value=value,
            run=run,
            draw=draw,
        )
        rated.append(rating)
    return rated


def of(
    rows: Sequence[ScoreRow],
    rated: Sequence[Rating],
    **options: Any,
) -> Calibration:
    return calibrate(rows, rated, replace(CalibrationOptions("judge"), **options))


def test_the_three_values_stand_beside_each_other() -> None:
    result = of(scores(), ratings()).results[0]
    assert result.people is not None
    assert result.corrected is not None
    assert (result.trials, result.ratings) == (200, 60)
    assert result.corrected.value < result.judge.value
    assert result.corrected.stderr < result.people.stderr


def test_trials_that_check_raters_are_not_part_of_the_draw() -> None:
    checks = []
    for rating in ratings(70)[60:]:
        checks.append(
            replace(rating, gold=1.0, draw=Draw("chosen")),
        )
    result = of(scores(), [*ratings(), *checks]).results[0]
    assert (result.refused, result.ratings) == ("", 60)
    assert result.left_out == {"gold": 10}


def test_a_task_without_a_rating_is_named() -> None:
    rows = []
    for place, row in enumerate(scores()):
        rows.append(replace(row, task="seen" if place < 60 else "unseen"))
    (remark,) = of(rows, ratings()).results[0].remarks
    assert "no trial of unseen is rated" in remark


def test_nineteen_ratings_are_too_few() -> None:
    calibration = of(scores(), ratings(19))
    assert calibration.results[0].why == "fewer than 20 ratings"
    assert calibration.results[0].corrected is None
    assert calibration.exit_code == 0


@pytest.mark.parametrize("draw", [Draw(), Draw("chosen"), Draw("active")])
def test_ratings_that_were_not_drawn_at_random_are_refused(draw: Draw) -> None:
    calibration = of(scores(), ratings(draw=draw))
    assert calibration.results[0].refused == "not drawn at random"
    assert calibration.exit_code == 3


def test_a_draw_can_be_assumed_to_be_random() -> None:
    drawn = of(scores(), ratings())
    assumed = of(
        scores(),
        ratings(draw=Draw()),
        assume_random=True,
    )
    assert assumed.results[0].corrected == drawn.results[0].corrected


def test_a_trial_with_one_chosen_rating_was_not_drawn_at_random() -> None:
    chosen = Rating("t0", "ben", 1.0, draw=Draw("chosen"))
    calibration = of(scores(), [*ratings(), chosen])
    assert calibration.results[0].refused == "not drawn at random"


def test_a_slice_that_is_too_small_stays_uncorrected() -> None:
    whole, easy, hard = of(scores(), ratings(), by="level").results
    assert (whole.slice, easy.slice, hard.slice) == ("", "easy", "hard")
    assert easy.corrected is not None
    assert hard.why == "fewer than 20 ratings"
    assert hard.judge.stderr is not None


def test_each_stratum_needs_two_ratings() -> None:
    easy = {row.trial for row in scores() if row.labels["level"] == "easy"}
    only_easy = [rating for rating in ratings(100) if rating.trial in easy]
    calibration = of(scores(), only_easy, strata="level")
    assert calibration.results[0].refused == "strata with fewer than two ratings"
    assert calibration.exit_code == 3


def test_two_runs_have_a_difference() -> None:
    rows = [*scores(run="A"), *scores(run="B", shift=0.1)]
    rated = [*ratings(run="A"), *ratings(run="B", shift=0.05)]
    calibration = of(rows, rated, run="A", against="B")
    assert calibration.difference is not None
    assert calibration.difference.value == pytest.approx(0.05)
    assert [result.run for result in calibration.results] == ["A", "B"]


def test_ratings_of_one_run_say_nothing_of_another() -> None:
    rows = [*scores(run="A"), *scores(run="B")]
    calibration = of(
        rows,
        ratings(run="A"),
        run="A",
        against="B",
    )
    assert calibration.refused == "no ratings of both runs"
    assert calibration.difference is None
    assert calibration.exit_code == 3


def test_unequal_probabilities_with_few_effective_ratings_are_remarked() -> None:
    rated = ratings()
    rated[0] = replace(rated[0], draw=Draw("random", 0.01))
    (remark,) = of(scores(), rated).results[0].remarks
    assert "effective ratings" in remark


def test_equal_ratings_say_little_about_further_ones() -> None:
    rated = [replace(rating, value=1.0) for rating in ratings()]
    result = of(scores(), rated).results[0]
    assert result.people is not None
    assert result.people.ci95 is None
    assert result.remarks == ("no two ratings differ, so there is no interval",)


def test_probabilities_may_differ_between_strata() -> None:
    levels = {row.trial: row.labels["level"] for row in scores()}
    rated = []
    for rating in ratings():
        probability = 0.3 if levels[rating.trial] == "easy" else 0.003
        rated.append(
            replace(rating, draw=Draw("random", probability)),
        )
    assert of(scores(), rated, strata="level").results[0].remarks == ()


def test_rated_trials_without_a_score_are_counted() -> None:
    unknown = Rating("elsewhere", "ann", 1.0, draw=RANDOM)
    result = of(scores(), [*ratings(), unknown]).results[0]
    assert result.left_out == {"no_score": 1}
    assert result.ratings == 60


def test_raters_who_are_tied_are_counted() -> None:
    tied = [Rating("t0", "ben", 7.0, draw=RANDOM)]
    result = of(scores(), [*ratings(), *tied], human="majority").results[0]
    assert result.left_out == {"no_majority": 1}


def test_a_trial_without_one_of_the_proxies_is_left_out() -> None:
    second = [replace(row, metric="second") for row in scores()[:150]]
    result = of([*scores(), *second], ratings(), proxies=("second",)).results[0]
    assert result.trials == 150


def test_the_sequence_takes_ratings_in_the_order_of_their_time() -> None:
    rated = []
    for place, rating in enumerate(ratings()):
        at = START + timedelta(hours=place)
        rated.append(replace(rating, at=at))
    options = {"sequence": True, "limits": (0.0, 1.0)}
    forward = of(scores(), rated, **options).results[0]
    backward = of(scores(), rated[::-1], **options).results[0]
    assert forward.sequence is not None
    assert forward.sequence == backward.sequence


def test_an_interval_is_within_the_range() -> None:
    result = of(scores(), ratings(), limits=(0.0, 0.46)).results[0]
    assert result.corrected is not None
    assert result.corrected.ci95 is not None
    assert result.corrected.ci95[1] == 0.46


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"metric": "jugde"}, 'did you mean "judge"'),
        ({"by": "lvel"}, 'did you mean "level"'),
        ({"strata": "lvel"}, 'did you mean "level"'),
        ({"run": "C"}, "no scores of a run 'C'"),
        ({"against": "A"}, "--against needs --run"),
        ({"sequence": True}, "--sequence needs a finite range"),
        ({"precision": 0.0}, "--precision must be above 0"),
        ({"question": "taste"}, "no rating answers"),
        ({"proxies": ("judge",)}, "occurs twice"),
    ],
)
def test_an_option_that_does_not_fit_is_an_error(
    options: dict[str, object], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        of(scores(), ratings(), **options)


def test_scores_of_several_runs_need_a_choice() -> None:
    with pytest.raises(UsageError, match="choose one with --run"):
        of(
            [*scores(run="A"), *scores(run="B")],
            ratings(run="A"),
        )


def test_ratings_of_several_questions_need_a_choice() -> None:
    other = replace(ratings()[0], question="taste")
    with pytest.raises(UsageError, match="choose one with --question"):
        of(scores(), [*ratings(), other])


def test_ratings_of_several_runs_need_scores_that_name_them() -> None:
    with pytest.raises(UsageError, match="the scores name no run"):
        of(scores(), [*ratings(run="A"), *ratings(run="B")])


def test_ratings_of_other_runs_are_an_error() -> None:
    rows = [*scores(run="A"), *scores(run="B")]
    with pytest.raises(UsageError, match="the ratings are about C"):
        of(rows, ratings(run="C"), run="A", against="B")


def test_words_have_no_mean() -> None:
    yes = Rating("t0", "ann", "yes", draw=RANDOM)
    with pytest.raises(UsageError, match="needs numbers"):
        of(scores(), [yes], human="majority")
