"""Computes MME-Unify's scores for clips: frames, distances and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Table: TypeAlias = (
        Sequence[Sequence[float]]
        | Sequence[np.ndarray[Any, np.dtype[Any]]]
        | np.ndarray[Any, np.dtype[Any]]
    )

BEST, WORST = 1.0, 1000.0
"""The distances that score 1 and 0. Both are constants, so that a score does not depend
on other models or items."""
_OF_TEXT = ("tvg", "t2v")
"""The names of the text-to-video task in the paper and in the scripts."""


def video_score(raw: Sequence[float], *, equal_means_100: bool = False) -> list[float]:
    """Returns the score of each distance: 1 at 1, 0 at 1000, linear and not clamped.

    With ``equal_means_100``, each score is 1 if all distances are equal. In the
    released scripts a run of one item therefore always has the best score.

    >>> video_score([1.0, 500.5, 1999.0])
    [1.0, 0.5, -1.0]
    """
    if equal_means_100 and len(set(raw)) == 1:
        return [1.0 for _ in raw]
    return [1 - (distance - BEST) / (WORST - BEST) for distance in raw]


def feature_distance(first_table: Table, second_table: Table) -> float:
    """Returns the Frechet distance of two tables of features.

    A table has a row for each picture. If a table has only one row, it has no
    covariance, and the result is the squared distance between the means. MME-Unify
    calls this FVD and FID.

    >>> feature_distance([[1.0, 2.0]], [[0.0, 0.0], [2.0, 0.0]])
    4.0
    """
    import numpy as np

    first = np.asarray(first_table, np.float64)
    second = np.asarray(second_table, np.float64)
    first_mean = first.mean(0)
    second_mean = second.mean(0)
    distance = float(((first_mean - second_mean) ** 2).sum())
    if min(len(first), len(second)) == 1:
        return distance
    # Let X and Y be the deviations from the means by row. The trace of the root of the
    # covariances' product is the sum of the singular values of X Y^T. This is exact for
    # few rows, while the root of a singular matrix is not.
    x = (first - first_mean) / (len(first) - 1) ** 0.5
    y = (second - second_mean) / (len(second) - 1) ** 0.5
    shared = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    traces = (x**2).sum() + (y**2).sum()
    return distance + float(traces - 2 * shared)


def even_indices(frames: int, count: int) -> list[int]:
    """Returns evenly spaced indices from the first frame to the last, rounded down.

    An index may occur more than once if there are few frames.

    >>> even_indices(10, 4)
    [0, 3, 6, 9]
    """
    import numpy as np

    if frames < 1:
        return []
    return [int(index) for index in np.linspace(0, frames - 1, count)]


def usable(row: Mapping[str, Any], task: str) -> bool:
    """Returns True if the released scripts score a row of CIVG, VP or TVG.

    The row of a result file needs an output, the key ``Text_Prompt``, and an ``image``
    in ``data``. For CIVG and VP it also needs a ``video`` in ``data``.
    """
    data = row.get("data")
    if not row.get("output") or "Text_Prompt" not in row:
        return False
    if not isinstance(data, Mapping) or "image" not in data:
        return False
    return task.casefold().rpartition("_")[2] in _OF_TEXT or "video" in data
