import numpy as np
import pytest

from mmeval.metrics.three_d.plane_normals import plane_normals


def test_the_normal_is_the_eigenvector_of_the_smallest_value_and_the_third_among_equals() -> (
    None
):
    spread = np.random.default_rng(0).normal(size=(200, 3, 3))
    matrices = spread @ spread.transpose(0, 2, 1)
    normals = plane_normals(matrices)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1)
    assert np.abs(
        (normals * np.linalg.eigh(matrices)[1][:, :, 0]).sum(axis=1)
    ) == pytest.approx(1)
    assert plane_normals(np.empty((0, 3, 3))).shape == (0, 3)
    for diagonal, axis in {
        (1, 2, 3): 0,
        (2, 1, 3): 1,
        (3, 0, 0): 2,
        (1, 1, 1): 2,
    }.items():
        assert plane_normals(np.diag(diagonal).astype(float)[None]).tolist() == [
            np.eye(3)[axis].tolist()
        ]


@pytest.mark.parametrize(
    ("matrix", "normal"),
    [
        ([[2, 1, 0], [1, 3, 1], [0, 1, 4]], (0.78867513, -0.57735027, 0.21132487)),
        ([[5, 1, 2], [1, 4, 0], [2, 0, 1]], (-0.39595989, 0.10237299, 0.91254344)),
        ([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 3]], (0.70710678, -0.70710678, 0)),
    ],
)
def test_of_its_two_directions_it_has_the_one_of_open3d(
    matrix: list[list[float]], normal: tuple[float, ...]
) -> None:
    assert plane_normals(np.array([matrix], float))[0] == pytest.approx(
        np.array(normal), abs=1e-7
    )
