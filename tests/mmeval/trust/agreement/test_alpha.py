from collections.abc import Sequence

import numpy as np
import pytest

from mmeval.trust.agreement.alpha import Level, alpha, alpha_units
from mmeval.trust.agreement.jackknife import AgreementStatistic

# Krippendorff's example of four observers (2011), unit by unit; a unit with one value
# is left out
PRINTED = (
    (1, 1, 1),
    (2, 2, 3, 2),
    (3, 3, 3, 3),
    (3, 3, 3, 3),
    (2, 2, 2, 2),
    (1, 2, 3, 4),
    (4, 4, 4, 4),
    (1, 1, 2, 1),
    (2, 2, 2, 2),
    (5, 5, 5),
    (1, 1),
)


def alpha_of(units: Sequence[Sequence[float]], level: Level) -> AgreementStatistic:
    return alpha(alpha_units(units, np.arange(len(units))), level)


@pytest.mark.parametrize(
    ("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_that_of_the_printed_example(level: Level, printed: float) -> None:
    assert alpha_of(PRINTED, level).value == pytest.approx(printed, abs=0.0005)


def test_alpha_of_opposite_raters_is_negative() -> None:
    value = alpha_of([(0, 1), (1, 0)], "nominal").value
    # observed 1, by chance 2/3
    assert value == pytest.approx(-0.5)


def test_alpha_of_one_value_is_unknown() -> None:
    assert alpha_of([(2, 2), (2, 2)], "interval").value is None


def test_alpha_without_units_is_unknown() -> None:
    assert alpha_of([], "nominal").value is None


def test_units_of_a_cluster_are_left_out_together() -> None:
    units = [(1, 2), (2, 2), (3, 3), (1, 1)]
    together = alpha(
        alpha_units(units, np.array([0, 0, 1, 1])),
        "interval",
    )
    # two clusters have no jackknife error
    assert together.stderr is None
