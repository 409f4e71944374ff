"""Neighbourhoods of the points of a cloud: what each point's nearest neighbours say about the surface there.

Everything is measured in one walk over the cloud, some thousand points at a time, so that the memory it takes does not
grow with the number of points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.plane_normals import plane_normals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indices = NDArray[np.int64]

SPACING, DIMENSION, FLATNESS, AGREEMENT = 8, 20, 32, 12
"""Neighbours for the mean distance, for the intrinsic dimension, for the flatness of the place, and those whose normals
are compared. The point itself is none of them."""
NORMAL, FINE, COARSE = 24, 16, 64
"""Points that a normal is laid through, the point itself among them."""
SMALLEST_DISTANCE = SMALLEST_SCATTER = 1e-12
DIMENSIONS = (1.0, 5.0)
_CHUNK = 8192


class Neighbourhoods(NamedTuple):
    """For each of n points: the distance to the nearest other, the mean of those to the nearest eight, the intrinsic
    dimension there, the share of the scatter across the plane (0 to 1/3), the normal (n x 3), the cosine between
    normals through few and through many neighbours (-1 to 1), and the nearest points whose normals are compared."""

    nearest: Numbers
    spacing: Numbers
    dimension: Numbers
    across: Numbers
    normal: Numbers
    bend: Numbers
    near: Indices


def neighbourhoods_of(points: Numbers, *, padded: bool) -> Neighbourhoods:
    """The neighbourhoods of at least three points. Where there are fewer others than asked for, all of them are taken;
    or, ``padded``, those that the dimension lacks are infinitely far away, as the released scorer has it."""
    import numpy as np
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    wanted = min(COARSE, len(points))
    nearest = max(wanted, DIMENSION + 1) if padded else wanted
    found = [
        _measured(points, *tree.query(points[start : start + _CHUNK], k=nearest))
        for start in range(0, len(points), _CHUNK)
    ]
    return Neighbourhoods(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _measured(points: Numbers, distances: Numbers, indices: Any) -> Neighbourhoods:
    """Of some points, each with its nearest ones in order (itself first) and how far away they are."""
    import numpy as np

    known = min(len(points), indices.shape[1])
    columns = np.ascontiguousarray(points[indices[:, :known]].transpose(2, 1, 0))
    others = columns[:, 1 : FLATNESS + 1]
    fine, coarse = (plane_normals(scatter(columns[:, :count])) for count in (FINE, COARSE))
    return Neighbourhoods(
        nearest=distances[:, 1],
        spacing=distances[:, 1 : min(SPACING + 1, known)].mean(axis=1),
        dimension=intrinsic_dimension(distances[:, 1 : DIMENSION + 1]),
        across=_share_across(scatter(others - others[:, :1])),
        normal=plane_normals(scatter(columns[:, :NORMAL])),
        bend=np.clip((fine * coarse).sum(axis=1), -1.0, 1.0),
        near=indices[:, 1 : min(AGREEMENT + 1, known)].astype(np.int32),
    )


def scatter(columns: Numbers) -> Numbers:
    """The covariances (n x 3 x 3) of n neighbourhoods of k points (3 x k x n): mean product less product of means."""
    import numpy as np

    means = columns.mean(axis=1)
    found = np.empty((columns.shape[2], 3, 3))
    for row in range(3):
        for column in range(row, 3):
            mixed = (columns[row] * columns[column]).mean(axis=0) - means[row] * means[column]
            found[:, row, column] = found[:, column, row] = mixed
    return found


def _share_across(covariances: Numbers) -> Numbers:
    """The smallest part of the scatter as a share of the whole: 0 in a plane, a third where there is no direction."""
    import numpy as np

    values = np.maximum(np.linalg.eigvalsh(covariances), 0.0)
    share: Numbers = values[:, 0] / (values.sum(axis=1) + SMALLEST_SCATTER)
    return share


def intrinsic_dimension(distances: Numbers) -> Numbers:
    """How many dimensions the points fill near each of n, from the distances to its neighbours in order (n x k).

    One less than k over the sum of the logarithms of how much farther the last is than each before (the estimate of
    Levina and Bickel), from 1 to 5; 5 where all are equally far, 1 where the last is infinitely far.
    """
    import numpy as np

    shifted = distances + SMALLEST_DISTANCE
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (distances.shape[1] - 1) / np.log(shifted[:, -1:] / shifted[:, :-1]).sum(axis=1)
    lowest, highest = DIMENSIONS
    dimension: Numbers = np.clip(np.where(np.isfinite(distances[:, -1]), found, lowest), lowest, highest)
    return dimension
