"""Neighbourhoods of a cloud's points, which describe the surface at each point.

Everything is measured in one pass, some thousand points at a time, so the memory does
not grow with the cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.plane_normals import plane_normals

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Indices, Numbers

SPACING, DIMENSION, FLATNESS, AGREEMENT = 8, 20, 32, 12
"""The number of neighbours, without the point itself, for the mean distance, the
intrinsic dimension, flatness, and the comparison of normals."""
NORMAL, FINE, COARSE = 24, 16, 64
"""The number of points, with the point itself, that define a normal."""
SMALLEST_DISTANCE = SMALLEST_SCATTER = 1e-12
DIMENSIONS = (1.0, 5.0)
_CHUNK = 8192


class Neighbourhoods(NamedTuple):
    """Measures of the neighbourhoods of n points.

    For each point: ``nearest`` is the distance to the nearest neighbour, ``spacing``
    the mean distance to the nearest eight, ``dimension`` the intrinsic dimension,
    ``across`` the share of the scatter across the plane (0 to 1/3), ``normal`` the
    normal (n x 3), ``bend`` the cosine between normals through few and through many
    neighbours (-1 to 1), ``near`` the points whose normals are compared.
    """

    nearest: Numbers
    spacing: Numbers
    dimension: Numbers
    across: Numbers
    normal: Numbers
    bend: Numbers
    near: Indices


def neighbourhoods_of(points: Numbers, *, padded: bool) -> Neighbourhoods:
    """Returns the neighbourhoods of three points or more.

    With too few neighbours all of them are used. With ``padded``, the missing
    neighbours of the dimension are infinitely far away, as in the released scorer.
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
    """Measure points by their nearest ones in order (itself first) and distances."""
    import numpy as np

    count = min(len(points), indices.shape[1])
    columns = np.ascontiguousarray(points[indices[:, :count]].transpose(2, 1, 0))
    others = columns[:, 1 : FLATNESS + 1]
    # the smallest share of the scatter: 0 in a plane, a third at most
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
    """The covariances (n x 3 x 3) of n neighbourhoods with k points (3 x k x n)."""
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
    """The local dimension at n points, from sorted distances to neighbours (n x k).

    The estimate of Levina and Bickel, from 1 to 5: ``k - 1`` over the sum of the
    logarithms of the ratios between the last distance and each other one. It is 5 if
    all distances are equal, 1 if the last one is infinite.
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
