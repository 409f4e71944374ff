import pytest

from mmeval.errors import UsageError
from mmeval.trust.agreement.agree import AgreementOptions, agree
from mmeval.trust.records import Rating, ScoreRow


def ratings(*values: float | str | None, rater: str = "ann") -> list[Rating]:
    rows = []
    for place, value in enumerate(values):
        rows.append(Rating(f"t{place}", rater, value))
    return rows


def scores(*values: float | None) -> list[ScoreRow]:
    rows = []
    for place, value in enumerate(values):
        labels = {"level": "odd" if place % 2 else "even"}
        rows.append(ScoreRow(f"t{place}", "judge", value, labels=labels))
    return rows


def test_left_out_trials_are_counted_by_reason() -> None:
    rated = [
        *ratings(1, 2, 3, None, 5),
        *ratings(1, 1, rater="bob"),
        Rating("other", "ann", 1.0),
    ]
    options = AgreementOptions(human="majority")
    agreement = agree(
        rated,
        scores(1, 2, None, 4, 5),
        options,
    )
    assert agreement.left_out == {"no_score": 2, "no_majority": 1, "no_rating": 1}


def test_a_replaced_rating_is_given_but_not_kept() -> None:
    agreement = agree(
        [*ratings(1, 2), *ratings(3)],
        [],
        AgreementOptions(),
    )
    assert (agreement.given, agreement.ratings) == (3, 2)


def test_words_have_accuracy_and_kappa_alone() -> None:
    rows = [
        ScoreRow("t0", "judge", None, word="yes"),
        ScoreRow("t1", "judge", None, word="no"),
    ]
    agreement = agree(ratings("yes", "yes"), rows, AgreementOptions())
    assert agreement.whole is not None
    assert set(agreement.whole.statistics) == {"accuracy", "kappa"}
    assert agreement.whole.statistics["accuracy"].value == 0.5


def test_a_slice_has_the_trials_of_its_label() -> None:
    options = AgreementOptions(by="level")
    agreement = agree(
        ratings(1, 2, 3),
        scores(1, 2, 3),
        options,
    )
    counts = {name: each.trials for name, each in agreement.slices.items()}
    assert counts == {"even": 2, "odd": 1}


def test_a_label_of_ratings_counts_for_slices_too() -> None:
    rated = [Rating("t0", "ann", 1.0, labels={"language": "en"})]
    agreement = agree(
        rated,
        scores(1),
        AgreementOptions(by="language"),
    )
    assert list(agreement.slices) == ["en"]


def test_the_macro_mean_is_over_the_slices_that_have_a_value() -> None:
    options = AgreementOptions(by="level")
    agreement = agree(
        ratings(1, 2, 3, 2, 2),
        scores(1, 2, 3, 4, 5),
        options,
    )
    assert agreement.macro["pearson"].without == ("odd",)
    assert agreement.macro["accuracy"].value == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_a_run_without_a_name_takes_ratings_of_any_one_run() -> None:
    rated = [Rating("t0", "ann", 1.0, run="omni")]
    agreement = agree(rated, scores(1), AgreementOptions())
    assert agreement.whole is not None
    assert agreement.whole.trials == 1


def test_trials_of_two_runs_share_the_cluster_of_their_sample() -> None:
    rated = []
    rows = []
    for run in ("a", "b"):
        for place in range(4):
            name = f"t{place}"
            rated.append(
                Rating(name, "ann", float(place), run=run),
            )
            rows.append(
                ScoreRow(name, "judge", float(place), run=run),
            )
    whole = agree(rated, rows, AgreementOptions()).whole
    assert whole is not None
    assert (whole.trials, whole.clusters) == (8, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AgreementOptions(metric="jugde"), "did you mean"),
        (AgreementOptions(by="levle"), "did you mean"),
        (AgreementOptions(question="style"), "no rating answers"),
    ],
)
def test_an_unknown_name_is_an_error(options: AgreementOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        agree(ratings(1, 2, 3), scores(1, 2, 3), options)


def test_several_metrics_need_a_choice() -> None:
    rows = [*scores(1), ScoreRow("t0", "other", 1.0)]
    with pytest.raises(UsageError, match="--metric"):
        agree(ratings(1), rows, AgreementOptions())


def test_a_rater_below_the_floor_of_gold_answers_is_named() -> None:
    options = AgreementOptions(gold={"t0": 1.0, "t1": 1.0})
    agreement = agree(
        [*ratings(1, 1), *ratings(1, 2, rater="bob")],
        [],
        options,
    )
    assert agreement.below_gold_floor == ["bob"]
