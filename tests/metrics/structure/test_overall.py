import math

import pytest

from mmeval.metrics.structure.overall import overall, overall_range
from mmeval.records import Score

LOST = Score.lost("the judge is gone")
UNSURE = Score(status="unscored", reason="not sure", cause="unsure")


def score(combine: str = "product", **pieces: Score | float) -> Score:
    scores = {
        name: piece if isinstance(piece, Score) else Score(piece)
        for name, piece in pieces.items()
    }
    found: Score = overall.function(scores, of=list(scores), combine=combine)
    return found


def known(low: float, high: float) -> Score:
    return Score.unscored("lost", bounds=(low, high))


def test_all_pieces_make_one_value_within_a_range_and_an_unscored_one_leaves_bounds() -> (
    None
):
    values = {"product": 0.125, "mean": 0.375, "minimum": 0.25}
    bounds = {"product": (0.1, 0.4), "mean": (0.35, 0.65), "minimum": (0.2, 0.5)}
    for combine, value in values.items():
        assert score(combine, a=0.25, b=0.5) == Score(
            value, evidence={"of": {"a": 0.25, "b": 0.5}}
        )
        found = score(combine, a=0.5, b=known(0.2, 0.8))
        assert found.status == "unscored"
        assert found.bounds == pytest.approx(bounds[combine])
    ranges = {"product": (-1.0, 1.0), "mean": (-0.5, 1.0), "minimum": (-1.0, 1.0)}
    for combine, range in ranges.items():
        assert (
            overall_range({"ssim": (-1, 1), "judge": (0, 1)}, {"combine": combine})
            == range
        )
    assert overall_range(dict.fromkeys("abc", (0, 1)), {"combine": "product"}) == (
        0.0,
        1.0,
    )
    assert overall_range({"a": (0, math.inf), "b": (0, 1)}, {"combine": "product"}) == (
        0.0,
        math.inf,
    )


def test_an_unscored_factor_leaves_bounds_unless_another_is_0() -> None:
    assert score("minimum", a=0.0, b=known(0, 1)).value == 0.0
    assert score("minimum", a=0.1, b=known(0, 1)).status == "unscored"
    assert score(a=0.5, b=LOST).bounds is None
    assert score("mean", a=0.5, b=LOST).bounds is None
    assert score(a=0.0, b=LOST) == Score(
        0.0, evidence={"of": {"a": 0.0, "b": None}, "whatever": ["b"]}
    )
    assert score(a=-0.5, b=known(0, 1)).bounds == (-0.5, 0.0)
    assert score(a=known(-1, 1), b=known(0.5, 1)).bounds == (-1.0, 1.0)
    for other, cause in ((LOST, "lost"), (known(0, 1), "unsure")):
        found = score(a=1.0, b=UNSURE, c=other)
        assert found.cause == cause
        assert found.reason == f"b: {UNSURE.reason}; c: {other.reason}"
    assert score(a=1.0, b=known(0, 1)).cause == "final"
    # zero has no sign
    assert math.copysign(1, score(a=-0.1, b=0.0).value or 0.0) == 1.0
