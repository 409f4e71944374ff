import pytest

from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    mean,
    product,
    unknown_value,
    weighted_sum,
)
from mmeval.records import Score

OPEN = unknown_value("the judge slept", "lost")


def test_an_unknown_value_leaves_bounds_and_its_cause_unless_its_weight_is_0() -> None:
    assert mean([known_value(1), known_value(0), known_value(1)]).scored(
        {}
    ).value == pytest.approx(2 / 3)
    assert product([known_value(0), OPEN]).scored({}).value == 0
    score = product([known_value(0.5), mean([known_value(1), OPEN])]).scored(
        {"why": "so"}
    )
    unscored = Score(
        status="unscored",
        reason=OPEN.reason,
        cause="lost",
        bounds=(0.25, 0.5),
        evidence={"why": "so"},
    )
    assert score == unscored
    assert (
        product([unknown_value("a", "final"), OPEN, unknown_value("b", "unsure")]).cause
        == "lost"
    )
    assert (
        mean([unknown_value("a", "final"), unknown_value("b", "unsure")]).cause
        == "unsure"
    )
    assert product([]) == mean([]) == BoundedValue(1.0, 1.0)
    assert weighted_sum([known_value(0.5), OPEN], [1, 0]) == known_value(0.5)
    assert weighted_sum([known_value(0.5), OPEN], [0.5, 0.5]) == BoundedValue(
        0.25, 0.75, OPEN.reason, "lost"
    )
    assert weighted_sum([known_value(1), known_value(1)], [0.7, 0.4]) == known_value(1)
