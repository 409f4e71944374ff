from collections.abc import Mapping

import pytest

from mmeval.trust.agreement.compared_trials import ComparedTrial
from mmeval.trust.agreement.raters import GoldShare, gold_shares, rater_agreement
from mmeval.trust.human_values import Given
from mmeval.trust.records import Rating


def trial(
    name: str, ratings: Mapping[str, Given], score: Given | None = None
) -> ComparedTrial:
    return ComparedTrial(("", name), name, score=score, ratings=ratings)


TRIALS = [
    trial("t1", {"ann": 1, "bob": 1, "cem": 2}, 1),
    trial("t2", {"ann": 2, "bob": 2, "cem": 2}, 2),
    trial("t3", {"ann": 3, "bob": 4, "cem": 3}, 3),
    trial("t4", {"ann": 5, "bob": 5, "cem": 4}, 5),
]


def test_agreement_is_the_mean_share_of_equal_pairs_of_raters() -> None:
    agreement = rater_agreement(TRIALS, [], "mean").agreement
    assert agreement.value == pytest.approx((1 / 3 + 1 + 1 / 3 + 1 / 3) / 4)


def test_full_agreement_has_a_one_sided_interval() -> None:
    trials = [trial(name, {"ann": 1, "bob": 1}) for name in "abc"]
    agreement = rater_agreement(trials, [], "mean").agreement
    assert agreement.ci95 == pytest.approx((0.05 ** (1 / 3), 1.0))


def test_trials_with_one_rater_are_not_counted() -> None:
    raters = rater_agreement(
        [*TRIALS, trial("t5", {"dan": 1})],
        [],
        "mean",
    )
    assert (raters.raters, raters.trials) == (3, 4)


def test_the_ceiling_compares_each_rater_with_the_others() -> None:
    # in four trials, each of three raters equals the mean of the others in t2 alone
    ceiling = rater_agreement(TRIALS, [], "mean").ceiling["accuracy"]
    assert ceiling == pytest.approx(3 / 12)


def test_the_metric_is_compared_on_the_same_footing() -> None:
    raters = rater_agreement(TRIALS, [], "mean")
    # equal in t1 without cem, always in t2, in t3 without bob, in t4 without cem
    assert raters.same_footing["accuracy"] == pytest.approx(6 / 12)


def test_raters_with_fewer_than_three_trials_are_left_out_of_the_ceiling() -> None:
    ceiling = rater_agreement(TRIALS[:2], [], "mean").ceiling["accuracy"]
    assert ceiling is None


def test_words_have_no_ordinal_alpha() -> None:
    trials = [
        trial("t1", {"ann": "yes", "bob": "no"}),
        trial("t2", {"a": "no", "b": 1}),
    ]
    alphas = rater_agreement(trials, [], "majority").alphas
    assert alphas["ordinal"].value is None
    assert alphas["nominal"].value is not None


def test_a_second_pass_is_compared_with_the_first_one() -> None:
    ratings = [
        Rating("t1", "ann", 1.0),
        Rating("t1", "ann", 3.0, pass_number=2),
        Rating("t2", "ann", 2.0),
        Rating("t2", "ann", 2.0, pass_number=2),
        Rating("t3", "ann", 2.0, pass_number=2),
    ]
    agreement = rater_agreement([], ratings, "mean").self
    assert agreement is not None
    assert (agreement.pairs, agreement.mean_absolute_error) == (2, 1.0)


def test_gold_answers_count_by_rater() -> None:
    ratings = [
        Rating("t1", "ann", 1.0),
        Rating("t2", "ann", None),
        Rating("t1", "bob", 1.0),
        Rating("t3", "bob", 1.0),
    ]
    shares = gold_shares(ratings, {"t1": 1.0, "t2": 2.0})
    assert shares == {"ann": GoldShare(2, 1), "bob": GoldShare(1, 1)}


def test_a_rating_may_state_its_own_right_answer() -> None:
    shares = gold_shares(
        [Rating("t1", "ann", 1.0, gold=2.0)],
        {},
    )
    assert shares == {"ann": GoldShare(1, 0)}
