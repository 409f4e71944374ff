import pytest

from mmeval.trust.agreement.columns import paired_columns
from mmeval.trust.agreement.measure import measure


def test_trials_in_two_halves_of_clusters_give_the_error_of_clusters() -> None:
    clusters = ["a", "a", "b", "b", "c", "c"]
    columns = paired_columns(
        [1, 1, 0, 0, 1, 1],
        [1, 1, 1, 1, 1, 1],
        clusters,
    )
    # three clusters, of which one is wrong: as three trials
    alone = paired_columns(
        [1, 0, 1],
        [1, 1, 1],
        ["a", "b", "c"],
    )
    assert measure(columns)["accuracy"] == measure(alone)["accuracy"]


def test_all_right_has_a_one_sided_interval() -> None:
    columns = paired_columns(
        [1, 2, 3],
        [1, 2, 3],
        ["a", "b", "c"],
    )
    assert measure(columns)["accuracy"].ci95 == pytest.approx((0.05 ** (1 / 3), 1))


def test_equal_errors_have_no_interval() -> None:
    columns = paired_columns(
        [2, 3, 4],
        [1, 2, 3],
        ["a", "b", "c"],
    )
    assert measure(columns)["mean_error"].ci95 is None


def test_no_trial_has_statistics_without_values() -> None:
    statistics = measure(paired_columns([], [], []))
    assert {each.value for each in statistics.values()} == {None}


def test_numbers_beside_words_are_words() -> None:
    columns = paired_columns([1, "a"], [1, 1], ["t1", "t2"])
    assert set(measure(columns)) == {"accuracy", "kappa"}
