"""Measures a mesh's surface: normals, areas, angles and shapes of its faces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SMALLEST_CROSS = 100 * 2.220446049250313e-16
"""A face has a normal if the cross product of two sides is longer than this, in a mesh
with the largest extent 1."""
SMALLEST_SQUARES = 1e-12


class Faces(NamedTuple):
    """The corners, normals, areas and summed squared sides of m faces.

    Corners are m x 3 x 3, and normals m x 3. For a face without a normal, zeros are
    stored instead.
    """

    corners: Numbers
    normals: Numbers
    areas: Numbers
    squares: Numbers

    @property
    def directed(self) -> Flags:
        """A flag for each face: True if the face has a normal."""
        has_normal: Flags = (self.normals != 0).any(axis=1)
        return has_normal


def faces_of(points: Numbers, faces: Indices) -> Faces:
    """Measures the faces of a mesh with the largest extent 1."""
    import numpy as np

    corners = points[faces]
    origin = corners[:, 0]
    first_side, second_side = corners[:, 1] - origin, corners[:, 2] - origin
    crosses = cross(first_side, second_side)
    lengths = np.sqrt(squared(crosses))
    normals = crosses / np.where(lengths > SMALLEST_CROSS, lengths, np.inf)[:, None]
    squares = (
        squared(first_side) + squared(second_side) + squared(second_side - first_side)
    )
    return Faces(corners, normals, lengths / 2, squares)


def cross(first: Numbers, second: Numbers) -> Numbers:
    """Returns the cross products of rows of three numbers, faster than numpy."""
    import numpy as np

    product = np.empty_like(first)
    for index in range(3):
        a, b = (index + 1) % 3, (index + 2) % 3
        ahead = first[:, a] * second[:, b]
        product[:, index] = ahead - first[:, b] * second[:, a]
    return product


def squared(rows: Numbers) -> Numbers:
    """Returns the squared length of each row."""
    return dots(rows, rows)


def dots(first: Numbers, second: Numbers) -> Numbers:
    """Returns the dot products of rows of three numbers."""
    products = first * second
    return products[:, 0] + products[:, 1] + products[:, 2]


def angles_between(normals: Numbers, pairs: Indices) -> Numbers:
    """Returns the angles between the normals of pairs of faces, from 0 to pi.

    The angle is pi / 2 if a face has no normal.
    """
    import numpy as np

    first, second = normals[pairs[:, 0]], normals[pairs[:, 1]]
    return np.arccos(np.clip(dots(first, second), -1.0, 1.0))


def shape_quality(faces: Faces, constant: float) -> Numbers:
    """Returns how close each face is to an equilateral triangle, at most 1.

    The result is ``constant`` times the area divided by the sum of the squared sides.
    If ``constant`` is four times the root of three, an equilateral triangle scores 1.
    """
    import numpy as np

    quality = constant * faces.areas / (faces.squares + SMALLEST_SQUARES)
    return np.clip(quality, 0.0, 1.0)


def points_on(
    faces: Faces,
    count: int,
    rng: np.random.Generator,
) -> Numbers:
    """Draws random points (count x 3) that are uniformly distributed on the surface."""
    import numpy as np

    cumulative_areas = np.cumsum(faces.areas)
    indices = np.searchsorted(
        cumulative_areas, rng.random(count) * cumulative_areas[-1]
    )
    indices = np.minimum(indices, len(cumulative_areas) - 1)
    origin, second, third = faces.corners[indices].transpose(1, 0, 2)
    first_share, second_share = rng.random((2, count, 1))
    is_outside = first_share + second_share > 1
    first_share[is_outside] = 1 - first_share[is_outside]
    second_share[is_outside] = 1 - second_share[is_outside]
    points: Numbers = (
        origin + first_share * (second - origin) + second_share * (third - origin)
    )
    return points
