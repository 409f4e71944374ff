"""Computes normals of planes through neighbourhoods: the directions of least scatter.

A normal is the eigenvector of a 3 x 3 covariance for the smallest eigenvalue. The
eigenvector is computed in closed form (Eberly, "A Robust Eigensolver for 3x3 Symmetric
Matrices", the version without iterations). The sign of a normal, and the choice among
equal directions, are arbitrary. This module chooses both as Open3D does, which uses the
same algorithm, since the released scorer's values depend on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.three_d.surface import cross, dots, squared

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Flags, Numbers


class Eigenvalues(NamedTuple):
    """The eigenvalues of n matrices in rising order, each an array of n numbers.

    ``third_apart`` is true if the third value is farther from the second than the
    first value is.
    """

    first: Numbers
    second: Numbers
    third: Numbers
    third_apart: Flags


def plane_normals(covariances: Numbers) -> Numbers:
    """Returns unit vectors (n x 3) along the smallest scatter.

    ``covariances`` are n x 3 x 3.
    """
    import numpy as np

    if not len(covariances):
        return np.empty((0, 3))
    largest = covariances.max(axis=(1, 2))
    scaled = covariances / np.where(largest == 0, 1.0, largest)[:, None, None]
    # For a diagonal covariance it is the axis of the smallest scatter. If scatters are
    # equal, it is the third axis.
    x, y, z = np.diagonal(covariances, axis1=1, axis2=2).T
    axis = np.where((y < x) & (y < z), 1, 2)
    axis[(x < y) & (x < z)] = 0
    normals = np.eye(3)[axis]
    is_general = (largest != 0) & (_off_squares(scaled) > 0)
    normals[is_general] = _smallest(scaled[is_general])
    return normals


def _off_diagonal(matrices: Numbers) -> Numbers:
    """Returns the three entries above the diagonal of each matrix (3 x n)."""
    entries: Numbers = matrices[:, (0, 0, 1), (1, 2, 2)]
    return entries.T


def _off_squares(matrices: Numbers) -> Numbers:
    a01, a02, a12 = _off_diagonal(matrices)
    squares: Numbers = a01**2 + a02**2 + a12**2
    return squares


def _smallest(matrices: Numbers) -> Numbers:
    """Returns the eigenvector of the smallest eigenvalue.

    If the third eigenvalue is apart from the others, this eigenvector is computed as
    the cross product of the other two eigenvectors.
    """
    import numpy as np

    values = _eigenvalues(matrices)
    vectors = np.empty((len(matrices), 3))
    third_apart = values.third_apart
    third = _vector_of_single_value(matrices[third_apart], values.third[third_apart])
    second = _vector_of_middle_value(
        matrices[third_apart], third, values.second[third_apart]
    )
    vectors[third_apart] = cross(second, third)
    vectors[~third_apart] = _vector_of_single_value(
        matrices[~third_apart], values.first[~third_apart]
    )
    return vectors


def _eigenvalues(matrices: Numbers) -> Eigenvalues:
    """Returns the eigenvalues, by the trigonometric formula for a cubic's roots.

    The cubic is the characteristic polynomial of (matrix - mean) / size.
    """
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
    return Eigenvalues(
        mean + size * first, mean + size * second, mean + size * third, half >= 0
    )


def _vector_of_single_value(matrices: Numbers, values: Numbers) -> Numbers:
    """Returns the eigenvector of an eigenvalue that is apart from the others.

    The eigenvector is the longest cross product of two rows of (matrix - value).
    """
    import numpy as np

    rows = matrices - values[:, None, None] * np.eye(3)
    first, second, third = rows.transpose(1, 0, 2)
    pairs = [cross(first, second), cross(first, third), cross(second, third)]
    crosses = np.stack(pairs, axis=1)
    lengths = (crosses * crosses).sum(axis=2)
    longest = (np.arange(len(rows)), lengths.argmax(axis=1))
    vectors: Numbers = crosses[longest] / np.sqrt(lengths[longest])[:, None]
    return vectors


def _vector_of_middle_value(
    matrices: Numbers,
    vectors: Numbers,
    values: Numbers,
) -> Numbers:
    """Returns the middle eigenvalue's eigenvector.

    The result is orthogonal to ``vectors``, the eigenvectors of another eigenvalue.
    """
    import numpy as np

    first, second = _plane(vectors)
    times_first = np.einsum("nij,nj->ni", matrices, first)
    times_second = np.einsum("nij,nj->ni", matrices, second)
    m00 = dots(first, times_first) - values
    m01 = dots(first, times_second)
    m11 = dots(second, times_second) - values
    by_first = np.abs(m00) >= np.abs(m11)
    diagonal = np.where(by_first, m00, m11)
    # The vector is orthogonal to the row with the larger diagonal entry. ``m01`` and
    # ``diagonal`` are scaled to length 1 together, with the larger one positive.
    diagonal_is_larger = np.abs(diagonal) >= np.abs(m01)
    divisor = np.where(diagonal_is_larger, diagonal, m01)
    divisor[divisor == 0] = 1.0
    ratio = np.where(diagonal_is_larger, m01, diagonal) / divisor
    large = 1.0 / np.sqrt(1.0 + ratio * ratio)
    small = ratio * large
    # The chosen row decides which of the two goes along the first vector.
    takes_small = diagonal_is_larger == by_first
    along_first = np.where(takes_small, small, large)
    along_second = np.where(takes_small, large, small)
    is_degenerate = (diagonal == 0) & (m01 == 0)
    along_first = np.where(is_degenerate, 1.0, along_first)
    along_second = np.where(is_degenerate, 0.0, along_second)
    return along_first[:, None] * first - along_second[:, None] * second


def _plane(vectors: Numbers) -> tuple[Numbers, Numbers]:
    """Returns two unit vectors orthogonal to each vector and to each other."""
    import numpy as np

    x, y, z = vectors.T
    zero = np.zeros(len(vectors))
    orthogonal = np.where(
        (np.abs(x) > np.abs(y))[:, None],
        np.stack([-z, zero, x], axis=1),
        np.stack([zero, z, -y], axis=1),
    )
    first = orthogonal / np.sqrt(squared(orthogonal))[:, None]
    return first, cross(vectors, first)
