import numpy as np
import pytest

from mmeval.metrics.three_d.cloud_terms import (
    Angles,
    cloud_terms,
    isolated_share,
    sharp_share,
    surface_likeness,
)
from mmeval.metrics.three_d.spread import Terms
from tests.support.shapes import Numbers, plane_cloud, sphere_cloud


def terms(
    points: Numbers, angles: Angles = "absolute", *, padded: bool = False
) -> Terms:
    moved = points - (points.max(axis=0) + points.min(axis=0)) / 2
    return cloud_terms(
        moved / np.ptp(moved, axis=0).max(), angles=angles, padded=padded
    )


def test_a_term_needs_its_least_number_of_points() -> None:
    for count, zero in {
        7: "TGS",
        8: "GS",
        15: "GS",
        16: "G",
        31: "G",
        32: "",
        33: "",
    }.items():
        found = terms(sphere_cloud(count))
        values = {"T": found.topology, "G": found.geometry, "S": found.sampling}
        assert "".join(name for name, value in values.items() if value == 0) == zero
        assert ("outlier_ratio" in found.evidence) == ("S" not in zero)
        assert ("sharp_ratio" in found.evidence) == ("G" not in zero)


def test_shares_likeness_and_known_clouds() -> None:
    # Likeness to a surface falls from two dimensions to three.
    assert [surface_likeness(np.full(5, each)) for each in (1, 2, 2.25, 3, 4)] == [
        1,
        1,
        0.75,
        0,
        0,
    ]
    # One in twenty is lonely unless many are as far.
    assert isolated_share(np.arange(100.0)) == 0.05
    assert isolated_share(np.ones(100)) == 0
    # A flip of a normal is an angle only where its sign counts.
    cosines = np.array([1.0, -1.0, np.cos(np.radians(29)), -np.cos(np.radians(31))])
    assert sharp_share(cosines, "signed") == 0.5
    assert sharp_share(cosines, "absolute") == 0.25
    assert terms(plane_cloud()).geometry == pytest.approx(1)
    # Points at one place are flat, smooth and even: a released oddity, 64 of them have
    # 79 of 100.
    same = cloud_terms(np.full((64, 3), 0.3), angles="signed", padded=True)
    assert (same.topology, same.geometry, same.sampling) == pytest.approx(
        (0.55, 1, 0.75)
    )
