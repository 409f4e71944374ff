from __future__ import annotations

from mmeval.metrics.sides import Sides, sides_of
from mmeval.records.score import Score
from tests.support.trials import trial


def test_both_sides_of_an_answered_trial() -> None:
    sides = sides_of(trial("a", ["b", "c"]))
    assert isinstance(sides, Sides)
    assert (sides.answer.text, [reference.text for reference in sides.references]) == ("a", ["b", "c"])


def test_a_missing_side_is_named() -> None:
    missing = [sides_of(trial(None, "b")), sides_of(trial("a"))]
    assert [side.reason for side in missing if isinstance(side, Score)] == [
        "there is no answer to score",
        "the sample has no reference to compare with",
    ]
