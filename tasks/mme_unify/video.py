"""The arithmetic of MME-Unify's scores of clips: what is compared, which frames, and
what the distance is worth."""

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
"""The distances that are worth 1 and 0. They are constants, so that no score depends on
other models or items."""
_OF_TEXT = ("tvg", "t2v")
"""The task whose clips are made from a text alone, as the paper and the scripts call
it."""


def video_score(raw: Sequence[float], *, equal_means_100: bool = False) -> list[float]:
    """What each distance is worth: 1 at 1, 0 at 1000, and a straight line that is not
    cut at either end.

    ``equal_means_100``: distances that are all equal are worth 1 each, as in the
    released scripts, where a run of one item always has the best score.

    >>> video_score([1.0, 500.5, 1999.0])
    [1.0, 0.5, -1.0]
    """
    if equal_means_100 and len(set(raw)) == 1:
        return [1.0 for _ in raw]
    return [1 - (distance - BEST) / (WORST - BEST) for distance in raw]


def feature_distance(one: Table, other: Table) -> float:
    """The Frechet distance of two tables of features, a row for each picture.

    As soon as one side has a single row, which has no covariance, it is the squared
    distance of the means: the distance that MME-Unify calls FVD and FID.

    >>> feature_distance([[1.0, 2.0]], [[0.0, 0.0], [2.0, 0.0]])
    4.0
    """
    import numpy as np

    first = np.asarray(one, np.float64)
    second = np.asarray(other, np.float64)
    first_mean = first.mean(0)
    second_mean = second.mean(0)
    distance = float(((first_mean - second_mean) ** 2).sum())
    if min(len(first), len(second)) == 1:
        return distance
    # With X and Y the deviations by rows, the trace of the root of both covariances'
    # product is the sum of the singular values of X Y^T: exact however few rows there
    # are, where a root of a singular matrix is not.
    x = (first - first_mean) / (len(first) - 1) ** 0.5
    y = (second - second_mean) / (len(second) - 1) ** 0.5
    shared = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    traces = (x**2).sum() + (y**2).sum()
    return distance + float(traces - 2 * shared)


def even_indices(frames: int, wanted: int) -> list[int]:
    """Evenly spaced places from the first frame to the last, rounded down; of few
    frames some twice.

    >>> even_indices(10, 4)
    [0, 3, 6, 9]
    """
    import numpy as np

    if frames < 1:
        return []
    return [int(place) for place in np.linspace(0, frames - 1, wanted)]


def usable(row: Mapping[str, Any], task: str) -> bool:
    """Whether the released scripts score a row of a result file of CIVG, VP or TVG.

    It has an output, the key ``Text_Prompt``, and in ``data`` an ``image``, for CIVG
    and VP a ``video`` too.
    """
    data = row.get("data")
    if not row.get("output") or "Text_Prompt" not in row:
        return False
    if not isinstance(data, Mapping) or "image" not in data:
        return False
    return task.casefold().rpartition("_")[2] in _OF_TEXT or "video" in data
