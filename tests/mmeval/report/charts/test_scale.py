import pytest

from mmeval.report.charts.scale import scale_for


@pytest.mark.parametrize(
    ("values", "spread", "ends"),
    [
        ([0.2], (0, 1), (0, 1)),
        ([3.0, 17.0], None, (0, 20)),
        ([-4.0, 8.0], None, (-6, 9)),
        ([], None, (0, 1)),
    ],
    ids=["range", "open", "below zero", "nothing"],
)
def test_a_scale_holds_its_values(
    values: list[float], spread: tuple[float, float] | None, ends: object
) -> None:
    scale = scale_for(values, spread)
    assert scale.low <= min([*values, 0]) and scale.high >= max([*values, 0])
    assert all(scale.low <= tick <= scale.high + 1e-9 for tick in scale.ticks)
    assert len(scale.ticks) > 1
