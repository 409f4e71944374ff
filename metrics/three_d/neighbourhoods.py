"""Measures the neighbourhoods of a cloud's points, which describe its surface.

All measures are computed in one pass, some thousand points at a time, so the memory
does not grow with the cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.plane_normals import plane_normals

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Indices, Numbers

SPACING, DIMENSION, FLATNESS, AGREEMENT = 8, 20, 32, 12
"""Number of neighbours, without the point itself, for the mean distance, the intrinsic
dimension, the flatness, and the comparison of normals."""
NORMAL, FINE, COARSE = 24, 16, 64
"""Number of points, including the point itself, that define a normal."""
SMALLEST_DISTANCE = SMALLEST_SCATTER = 1e-12
DIMENSIONS = (1.0, 5.0)
_CHUNK = 8192


class Neighbourhoods(NamedTuple):
    """Measures of the neighbourhoods of n points.

    For each point, ``nearest`` is the distance to the nearest neighbour, ``spacing``
    the mean distance to the nearest eight, ``dimension`` the intrinsic dimension,
    ``across`` the share of the scatter across the plane (0 to 1/3), ``normal`` the
    normal (n x 3), ``bend`` the cosine between the normals through few and through many
    neighbours (-1 to 1), and ``near`` the neighbours with which normals are compared.
    """

    nearest: Numbers
    spacing: Numbers
    dimension: Numbers
    across: Numbers
    normal: Numbers
    bend: Numbers
    near: Indices


def neighbourhoods_of(points: Numbers, *, padded: bool) -> Neighbourhoods:
    """Measures the neighbourhoods of at least three points.

    If a cloud has too few points, all neighbours are used. With ``padded``, the missing
    neighbours for the dimension are infinitely far away, as in the released scorer.
    """
    import numpy as np
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    count = min(COARSE, len(points))
    if padded:
        count = max(count, DIMENSION + 1)
    chunks: list[Neighbourhoods] = []
    for start in range(0, len(points), _CHUNK):
        distances, indices = tree.query(points[start : start + _CHUNK], k=count)
        chunks.append(_measured(points, distances, indices))
    return Neighbourhoods(*map(np.concatenate, zip(*chunks, strict=True)))


def _measured(
    points: Numbers,
    distances: Numbers,
    indices: Any,
) -> Neighbourhoods:
    """Measures points, given their nearest points in order and the distances.

    The first of these nearest points is the point itself.
    """
    import numpy as np

    count = min(len(points), indices.shape[1])
    columns = np.ascontiguousarray(points[indices[:, :count]].transpose(2, 1, 0))
    others = columns[:, 1 : FLATNESS + 1]
    # The smallest share of the scatter is 0 in a plane, and at most a third.
    scatters = np.linalg.eigvalsh(scatter(others - others[:, :1]))
    scatters = np.maximum(scatters, 0.0)
    fine = plane_normals(scatter(columns[:, :FINE]))
    coarse = plane_normals(scatter(columns[:, :COARSE]))
    return Neighbourhoods(
        nearest=distances[:, 1],
        spacing=distances[:, 1 : min(SPACING + 1, count)].mean(axis=1),
        dimension=intrinsic_dimension(distances[:, 1 : DIMENSION + 1]),
        across=scatters[:, 0] / (scatters.sum(axis=1) + SMALLEST_SCATTER),
        normal=plane_normals(scatter(columns[:, :NORMAL])),
        bend=np.clip((fine * coarse).sum(axis=1), -1.0, 1.0),
        near=indices[:, 1 : min(AGREEMENT + 1, count)].astype(np.int32),
    )


def scatter(columns: Numbers) -> Numbers:
    """Returns covariances (n x 3 x 3) of n neighbourhoods with k points (3 x k x n)."""
    import numpy as np

    means = columns.mean(axis=1)
    covariances = np.empty((columns.shape[2], 3, 3))
    for row in range(3):
        for column in range(row, 3):
            mixed = (columns[row] * columns[column]).mean(axis=0)
            mixed -= means[row] * means[column]
            covariances[:, row, column] = covariances[:, column, row] = mixed
    return covariances


def intrinsic_dimension(distances: Numbers) -> Numbers:
    """Estimates the local dimension at n points from distances to neighbours (n x k).

    The distances are sorted. The estimate is Levina and Bickel's, limited to 1 to 5:
    ``k - 1`` divided by the sum of the logarithms of the ratios between the last
    distance and each other distance. The estimate is 5 if all distances are equal, and
    1 if the last distance is infinite.
    """
    import numpy as np

    shifted = distances + SMALLEST_DISTANCE
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms = np.log(shifted[:, -1:] / shifted[:, :-1])
        estimates = (distances.shape[1] - 1) / logarithms.sum(axis=1)
    lowest, highest = DIMENSIONS
    estimates_or_lowest = np.where(np.isfinite(distances[:, -1]), estimates, lowest)
    dimension: Numbers = np.clip(estimates_or_lowest, lowest, highest)
    return dimension
