"""Normals of planes through neighbourhoods: where points scatter least.

The eigenvector of a covariance of three by three for its smallest eigenvalue, in closed
form (Eberly, "A Robust Eigensolver for 3x3 Symmetric Matrices", the version without
iterations). The sign of a normal, and the choice among equal directions, says nothing
about the points; here it is the same as in Open3D, which uses the same algorithm, since
the released scorer's values depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.three_d.surface import cross, dots, squared

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Flags, Numbers


class Values(NamedTuple):
    """Eigenvalues of n matrices in rising order (each n). Also whether the last of them
    stands apart from the others more clearly than the first."""

    first: Numbers
    second: Numbers
    third: Numbers
    third_apart: Flags


def plane_normals(covariances: Numbers) -> Numbers:
    """Unit vectors along the smallest scatter (n x 3) of covariances (n x 3 x 3)."""
    import numpy as np

    if not len(covariances):
        return np.empty((0, 3))
    largest = covariances.max(axis=(1, 2))
    scaled = covariances / np.where(largest == 0, 1.0, largest)[:, None, None]
    # The axis of the smallest scatter; the third among equals, and for equal points.
    x, y, z = np.diagonal(covariances, axis1=1, axis2=2).T
    axis = np.where((y < x) & (y < z), 1, 2)
    axis[(x < y) & (x < z)] = 0
    found = np.eye(3)[axis]
    mixed = (largest != 0) & (_off_squares(scaled) > 0)
    found[mixed] = _smallest(scaled[mixed])
    return found


def _off_diagonal(matrices: Numbers) -> Numbers:
    """The three entries above the diagonal of each matrix (3 x n)."""
    entries: Numbers = matrices[:, (0, 0, 1), (1, 2, 2)]
    return entries.T


def _off_squares(matrices: Numbers) -> Numbers:
    a01, a02, a12 = _off_diagonal(matrices)
    squares: Numbers = a01**2 + a02**2 + a12**2
    return squares


def _smallest(matrices: Numbers) -> Numbers:
    """The vector of the smallest value.
    It is the cross product of the other two, unless it stands apart itself."""
    import numpy as np

    values = _values(matrices)
    found = np.empty((len(matrices), 3))
    apart = values.third_apart
    third = _of_a_single_value(matrices[apart], values.third[apart])
    second = _of_the_middle_value(matrices[apart], third, values.second[apart])
    found[apart] = cross(second, third)
    found[~apart] = _of_a_single_value(matrices[~apart], values.first[~apart])
    return found


def _values(matrices: Numbers) -> Values:
    """Roots of the characteristic polynomial of (matrix - mean) / size, by cosines."""
    import numpy as np

    off = _off_squares(matrices)
    a00, a11, a22 = np.diagonal(matrices, axis1=1, axis2=2).T
    a01, a02, a12 = _off_diagonal(matrices)
    mean = (a00 + a11 + a22) / 3.0
    b00, b11, b22 = a00 - mean, a11 - mean, a22 - mean
    size = np.sqrt((b00 * b00 + b11 * b11 + b22 * b22 + off * 2.0) / 6.0)
    c00 = b11 * b22 - a12 * a12
    c01 = a01 * b22 - a12 * a02
    c02 = a01 * a12 - b11 * a02
    determinant = b00 * c00 - a01 * c01 + a02 * c02
    half = np.clip(determinant / (size * size * size) * 0.5, -1.0, 1.0)
    angle = np.arccos(half) / 3.0
    third = np.cos(angle) * 2.0
    first = np.cos(angle + 2.0 * np.pi / 3.0) * 2.0
    second = -(first + third)
    return Values(
        mean + size * first, mean + size * second, mean + size * third, half >= 0
    )


def _of_a_single_value(matrices: Numbers, values: Numbers) -> Numbers:
    """The vector of a value that stands apart.
    It is the longest one orthogonal to two rows of (matrix - value)."""
    import numpy as np

    rows = matrices - values[:, None, None] * np.eye(3)
    one, two, three = rows.transpose(1, 0, 2)
    pairs = [cross(one, two), cross(one, three), cross(two, three)]
    crosses = np.stack(pairs, axis=1)
    lengths = (crosses * crosses).sum(axis=2)
    longest = (np.arange(len(rows)), lengths.argmax(axis=1))
    found: Numbers = crosses[longest] / np.sqrt(lengths[longest])[:, None]
    return found


def _of_the_middle_value(
    matrices: Numbers,
    given: Numbers,
    values: Numbers,
) -> Numbers:
    """The vector of the middle value, at right angles to a given one of another
    value."""
    import numpy as np

    one, two = _plane(given)
    of_one = np.einsum("nij,nj->ni", matrices, one)
    of_two = np.einsum("nij,nj->ni", matrices, two)
    m00 = dots(one, of_one) - values
    m01 = dots(one, of_two)
    m11 = dots(two, of_two) - values
    by_first = np.abs(m00) >= np.abs(m11)
    main = np.where(by_first, m00, m11)
    # The row of the two with the larger entry; the vector stands at right angles to it.
    # ``m01`` and ``main`` at length 1 together, the larger of them positive:
    main_larger = np.abs(main) >= np.abs(m01)
    over = np.where(main_larger, main, m01)
    over[over == 0] = 1.0
    ratio = np.where(main_larger, m01, main) / over
    large = 1.0 / np.sqrt(1.0 + ratio * ratio)
    small = ratio * large
    # the first goes along the first vector where its row was taken, else the second
    takes_small = main_larger == by_first
    along_one = np.where(takes_small, small, large)
    along_two = np.where(takes_small, large, small)
    same = (main == 0) & (m01 == 0)
    along_one = np.where(same, 1.0, along_one)
    along_two = np.where(same, 0.0, along_two)
    return along_one[:, None] * one - along_two[:, None] * two


def _plane(given: Numbers) -> tuple[Numbers, Numbers]:
    """Two unit vectors at right angles to given ones and to each other."""
    import numpy as np

    x, y, z = given.T
    zero = np.zeros(len(given))
    sideways = np.where(
        (np.abs(x) > np.abs(y))[:, None],
        np.stack([-z, zero, x], axis=1),
        np.stack([zero, z, -y], axis=1),
    )
    one = sideways / np.sqrt(squared(sideways))[:, None]
    return one, cross(given, one)
