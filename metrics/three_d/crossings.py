"""Faces of a mesh that cut others, tested in pairs for a bounded number of faces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.surface import cross, dots, squared

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MOST_FACES = 1000
"""The most faces that are tested; of more, this many are drawn at random."""
MOST_PAIRS = 1_000_000
"""The most pairs of near faces. In a mesh with more, fewer faces are tested."""
CLEAR = 1e-9
"""How far a face has to reach through another, in a mesh whose largest extent is 1."""
_FIRST_BATCH, _CHUNK = 128, 2**16
_SIZES, _LEAF = 6, 32
"""Classes of size by which faces are searched, each a quarter as large as the one
before; the last takes the rest."""


class Crossings(NamedTuple):
    """The share of faces that cut another one, and the number of tested faces."""

    share: float
    looked_at: int


class _Pairs(NamedTuple):
    """Tested faces, each with a near one."""

    one: Indices
    other: Indices


def crossing_share(
    corners: Numbers, faces: Indices, rng: np.random.Generator
) -> Crossings:
    """The share of faces that cut through another with which they share no vertex.

    ``corners`` are the places (m x 3 x 3), ``faces`` the vertices (m x 3). Faces that
    touch, or lie in one plane, do not cut; nor do those whose edges alone meet. Faces
    that share a vertex touch there; whether they also cut elsewhere is not tested.
    """
    import numpy as np

    chosen = rng.permutation(len(faces))[:MOST_FACES]
    boxes = _Boxes(corners)
    cutting = np.zeros(len(faces), bool)
    looked_at = 0
    for batch, near in boxes.near(chosen, MOST_PAIRS):
        looked_at += batch
        for some in _in_chunks(near):
            pairs = _without_common_vertices(faces, boxes.overlapping(some))
            cutting[pairs.one[_cut(corners, pairs)]] = True
    return Crossings(float(cutting.sum() / looked_at) if looked_at else 0.0, looked_at)


def _in_chunks(pairs: _Pairs) -> Iterator[_Pairs]:
    for start in range(0, len(pairs.one), _CHUNK):
        yield _Pairs(
            pairs.one[start : start + _CHUNK], pairs.other[start : start + _CHUNK]
        )


class _Boxes:
    """The axis-aligned boxes around faces, searched by place."""

    def __init__(self, corners: Numbers) -> None:
        import numpy as np
        from scipy.spatial import cKDTree

        one, two, three = (corners[:, at] for at in range(3))
        self._low = np.minimum(np.minimum(one, two), three)
        self._high = np.maximum(np.maximum(one, two), three)
        self._middle = (self._low + self._high) / 2
        self._reach = np.sqrt(squared(self._high - self._low)) / 2
        self._trees: list[tuple[Any, Indices, float]] = []
        for members in self._by_size():
            tree = cKDTree(
                self._middle[members],
                leafsize=_LEAF,
                balanced_tree=False,
                compact_nodes=False,
            )
            self._trees.append((tree, members, float(self._reach[members].max())))

    def _by_size(self) -> Iterator[Indices]:
        """Faces grouped by size, since one large face would be near every small one."""
        import numpy as np

        largest = self._reach.max()
        with np.errstate(divide="ignore"):
            size = (
                np.floor(-np.log2(self._reach / largest) / 2)
                if largest
                else np.zeros(len(self._reach))
            )
        size = np.minimum(size, _SIZES - 1)
        for each in np.unique(size):
            yield np.flatnonzero(size == each)

    def near(self, chosen: Indices, most_pairs: int) -> Iterator[tuple[int, _Pairs]]:
        """Batches of the chosen faces, with all faces whose boxes may overlap theirs.
        They end when all are done or ``most_pairs`` is reached."""
        import numpy as np

        done, size, left = 0, _FIRST_BATCH, most_pairs
        while done < len(chosen) and left > 0:
            batch = chosen[done : done + size]
            counts = np.cumsum(
                sum(
                    self._asked(batch, at, counted=True)
                    for at in range(len(self._trees))
                )
            )
            batch = batch[: max(1, int(np.searchsorted(counts, left, side="right")))]
            found = [self._named(batch, at) for at in range(len(self._trees))]
            pairs = _Pairs(*(np.concatenate(side) for side in zip(*found, strict=True)))
            yield len(batch), pairs
            done, left, size = done + len(batch), left - len(pairs.one), 2 * size

    def _asked(self, batch: Indices, at: int, *, counted: bool) -> Any:
        tree, _, reach = self._trees[at]
        radii = (self._reach[batch] + reach) * (1 + CLEAR)
        return tree.query_ball_point(
            self._middle[batch], radii, return_length=counted, return_sorted=False
        )

    def _named(self, batch: Indices, at: int) -> _Pairs:
        import numpy as np

        lists = self._asked(batch, at, counted=False)
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        flat = np.fromiter(
            (face for one in lists for face in one), np.int64, int(counts.sum())
        )
        return _Pairs(np.repeat(batch, counts), self._trees[at][1][flat])

    def overlapping(self, pairs: _Pairs) -> _Pairs:
        """The pairs whose boxes have some space in common."""
        kept = (
            (self._low[pairs.one] <= self._high[pairs.other])
            & (self._low[pairs.other] <= self._high[pairs.one])
        ).all(axis=1)
        return _Pairs(pairs.one[kept], pairs.other[kept])


def _without_common_vertices(faces: Indices, pairs: _Pairs) -> _Pairs:
    import numpy as np

    one, other = faces[pairs.one], faces[pairs.other]
    common = np.zeros(len(one), bool)
    for turn in range(3):
        common |= (one == np.roll(other, turn, axis=1)).any(axis=1)
    return _Pairs(pairs.one[~common], pairs.other[~common])


def _cut(corners: Numbers, pairs: _Pairs) -> Flags:
    """Which pairs of triangles cut: an edge of one goes through the inside of
    another."""
    import numpy as np

    found = np.zeros(len(pairs.one), bool)
    one, other = corners[pairs.one], corners[pairs.other]
    for through, triangle in ((one, other), (other, one)):
        heights = _heights(through, triangle)
        apart = (heights > CLEAR).any(axis=1) & (heights < -CLEAR).any(axis=1)
        for begin, end in ((0, 1), (1, 2), (2, 0)):
            at = np.flatnonzero(
                apart & ~found & (_side(heights[:, begin]) * _side(heights[:, end]) < 0)
            )
            share = heights[at, begin] / (heights[at, begin] - heights[at, end])
            place = through[at, begin] + share[:, None] * (
                through[at, end] - through[at, begin]
            )
            found[at[_inside(place, triangle[at])]] = True
    return found


def _side(heights: Numbers) -> Any:
    """1 clearly above, -1 clearly below, 0 in the plane."""
    import numpy as np

    return np.where(heights > CLEAR, 1, np.where(heights < -CLEAR, -1, 0))


def _heights(corners: Numbers, triangle: Numbers) -> Numbers:
    """How far each of three corners lies above the plane of a triangle.
    0 where that has no direction."""
    import numpy as np

    normal = cross(triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0])
    length = np.sqrt(squared(normal))
    normal = normal / np.where(length > 0, length, np.inf)[:, None]
    return np.stack(
        [dots(corners[:, at] - triangle[:, 0], normal) for at in range(3)], axis=1
    )


def _inside(places: Numbers, triangle: Numbers) -> Flags:
    """Which places in the planes of triangles lie inside, clear of their sides."""
    import numpy as np

    normal = cross(triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0])
    normal = normal / np.sqrt(squared(normal))[:, None]
    inside = np.ones(len(places), bool)
    for begin, end in ((0, 1), (1, 2), (2, 0)):
        side = triangle[:, end] - triangle[:, begin]
        inward = cross(normal, side) / np.sqrt(squared(side))[:, None]
        inside &= dots(places - triangle[:, begin], inward) > CLEAR
    return inside
