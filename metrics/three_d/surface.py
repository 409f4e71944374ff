"""The surface of a mesh: faces with normals, areas, angles and shapes; its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SMALLEST_CROSS = 100 * 2.220446049250313e-16
"""A face has a direction when the product of its sides is longer, in a mesh whose
largest extent is 1."""
SMALLEST_SQUARES = 1e-12


class Faces(NamedTuple):
    """The corners (m x 3 x 3), normals, areas and summed squared sides of m faces.
    Normals are m x 3, zeros where a face has none."""

    corners: Numbers
    normals: Numbers
    areas: Numbers
    squares: Numbers

    @property
    def directed(self) -> Flags:
        """Which faces have a normal."""
        found: Flags = (self.normals != 0).any(axis=1)
        return found


def faces_of(points: Numbers, faces: Indices) -> Faces:
    """The faces of a mesh whose largest extent is 1."""
    import numpy as np

    corners = points[faces]
    origin = corners[:, 0]
    one, two = corners[:, 1] - origin, corners[:, 2] - origin
    crosses = cross(one, two)
    lengths = np.sqrt(squared(crosses))
    normals = crosses / np.where(lengths > SMALLEST_CROSS, lengths, np.inf)[:, None]
    squares = squared(one) + squared(two) + squared(two - one)
    return Faces(corners, normals, lengths / 2, squares)


def cross(one: Numbers, two: Numbers) -> Numbers:
    """The cross products of rows of three (faster than numpy's for any width)."""
    import numpy as np

    found = np.empty_like(one)
    for at in range(3):
        a, b = (at + 1) % 3, (at + 2) % 3
        ahead = one[:, a] * two[:, b]
        found[:, at] = ahead - one[:, b] * two[:, a]
    return found


def squared(rows: Numbers) -> Numbers:
    """The squares of the lengths of rows."""
    return dots(rows, rows)


def dots(one: Numbers, two: Numbers) -> Numbers:
    """The products of rows of three with those of another."""
    products = one * two
    return products[:, 0] + products[:, 1] + products[:, 2]


def angles_between(normals: Numbers, pairs: Indices) -> Numbers:
    """The angles, 0 to pi, between normals of pairs of faces; pi / 2 without a
    normal."""
    import numpy as np

    one, other = normals[pairs[:, 0]], normals[pairs[:, 1]]
    return np.arccos(np.clip(dots(one, other), -1.0, 1.0))


def shape_quality(faces: Faces, constant: float) -> Numbers:
    """How near each face is to an equilateral triangle, at most 1. ``constant`` times
    its area over its squared sides: four times the root of three gives an equilateral
    one 1."""
    import numpy as np

    quality = constant * faces.areas / (faces.squares + SMALLEST_SQUARES)
    return np.clip(quality, 0.0, 1.0)


def points_on(
    faces: Faces,
    count: int,
    rng: np.random.Generator,
) -> Numbers:
    """Random points on the surface, everywhere equally dense (count x 3)."""
    import numpy as np

    reached = np.cumsum(faces.areas)
    chosen = np.searchsorted(reached, rng.random(count) * reached[-1])
    chosen = np.minimum(chosen, len(reached) - 1)
    origin, second, third = faces.corners[chosen].transpose(1, 0, 2)
    one, two = rng.random((2, count, 1))
    beyond = one + two > 1
    one[beyond], two[beyond] = 1 - one[beyond], 1 - two[beyond]
    points: Numbers = origin + one * (second - origin) + two * (third - origin)
    return points
