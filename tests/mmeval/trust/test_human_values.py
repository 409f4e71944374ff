import pytest

from mmeval.errors import UsageError
from mmeval.trust.human_values import (
    Given,
    HumanValue,
    first_passes,
    human_value,
    kept_ratings,
    usual_human_value,
)
from mmeval.trust.records import Rating


def test_a_later_line_replaces_an_earlier_one() -> None:
    kept = kept_ratings(
        [Rating("t", "ann", 1.0), Rating("t", "ann", 2.0)],
    )
    assert [rating.value for rating in kept] == [2.0]


def test_another_pass_is_another_rating() -> None:
    again = Rating("t", "ann", 2.0, pass_number=2)
    assert len(kept_ratings([Rating("t", "ann", 1.0), again])) == 2


def test_only_first_passes_with_a_value_count() -> None:
    ratings = [
        Rating("t", "ann", 1.0),
        Rating("t", "ann", 5.0, pass_number=2),
        Rating("t", "ben", None),
        Rating("u", "ann", None),
    ]
    assert first_passes(ratings) == {("", "t"): [ratings[0]]}


@pytest.mark.parametrize(
    ("how", "values", "value"),
    [
        ("mean", [1.0, 2.0, 6.0], 3.0),
        ("median", [1.0, 2.0, 6.0], 2.0),
        ("majority", [1.0, 2.0, 2.0], 2.0),
        ("majority", ["yes", "no", "yes"], "yes"),
        ("majority", ["yes", "no"], None),
    ],
)
def test_raters_become_one_value(
    how: HumanValue, values: list[Given], value: object
) -> None:
    assert human_value(values, how) == value


def test_words_have_no_mean() -> None:
    with pytest.raises(UsageError, match="a mean needs numbers"):
        human_value(["yes"], "mean")


@pytest.mark.parametrize(("value", "how"), [(1.0, "mean"), ("yes", "majority")])
def test_words_are_combined_by_majority(value: float | str, how: str) -> None:
    assert usual_human_value([Rating("t", "a", 2.0), Rating("u", "a", value)]) == how
