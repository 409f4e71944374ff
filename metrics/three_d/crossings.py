"""Finds faces of a mesh that cut other faces, testing a limited number of faces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.surface import cross, dots, squared

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.three_d.surface import Flags, Indices, Numbers

MOST_FACES = 1000
"""Maximum number of faces that are tested. If a mesh has more faces, they are drawn at
random."""
MOST_PAIRS = 1_000_000
"""Maximum number of pairs of near faces. With more pairs, fewer faces are tested."""
CLEAR = 1e-9
"""A face cuts another if it extends through it by more than this, in a mesh with the
largest extent 1."""
_EDGES = ((0, 1), (1, 2), (2, 0))
"""The corners at the ends of each edge of a triangle."""
_FIRST_BATCH, _CHUNK = 128, 2**16
_SIZES, _LEAF = 6, 32
"""Number of size classes for the search, and the size of a tree's leaf. The faces of a
class are a quarter as large as those of the class before. The last class also contains
all smaller faces."""


class Crossings(NamedTuple):
    """The share of faces that cut another face, and the number of tested faces."""

    share: float
    tested: int


class _Pairs(NamedTuple):
    """Pairs of a tested face and a face near it."""

    first: Indices
    second: Indices


def crossing_share(
    corners: Numbers, faces: Indices, rng: np.random.Generator
) -> Crossings:
    """Returns the share of faces that cut another face without a common vertex.

    ``corners`` are the positions of corners (m x 3 x 3), and ``faces`` their vertices
    (m x 3). Faces do not cut if they only touch, are in one plane, or meet only at
    edges. Faces with a common vertex are not tested.
    """
    import numpy as np

    tested_faces = rng.permutation(len(faces))[:MOST_FACES]
    boxes = _Boxes(corners)
    cutting = np.zeros(len(faces), bool)
    tested = 0
    for batch, near in boxes.near(tested_faces, MOST_PAIRS):
        tested += batch
        for start in range(0, len(near.first), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            overlapping = boxes.overlapping(
                _Pairs(near.first[chunk], near.second[chunk])
            )
            pairs = _without_common_vertices(faces, overlapping)
            cutting[pairs.first[_cut(corners, pairs)]] = True
    if not tested:
        return Crossings(0.0, 0)
    return Crossings(float(cutting.sum() / tested), tested)


class _Boxes:
    """The axis-aligned bounding boxes of faces, which can be searched by position."""

    def __init__(self, corners: Numbers) -> None:
        import numpy as np
        from scipy.spatial import cKDTree

        first, second, third = corners.transpose(1, 0, 2)
        self._low = np.minimum(np.minimum(first, second), third)
        self._high = np.maximum(np.maximum(first, second), third)
        self._middle = (self._low + self._high) / 2
        self._reach = np.sqrt(squared(self._high - self._low)) / 2
        # Grouped by size, since a single large face would be near all small faces.
        largest = self._reach.max()
        size = np.zeros(len(self._reach))
        if largest:
            with np.errstate(divide="ignore"):
                size = np.floor(-np.log2(self._reach / largest) / 2)
        size = np.minimum(size, _SIZES - 1)
        self._trees: list[tuple[Any, Indices, float]] = []
        for size_class in np.unique(size):
            members = np.flatnonzero(size == size_class)
            tree = cKDTree(
                self._middle[members],
                leafsize=_LEAF,
                balanced_tree=False,
                compact_nodes=False,
            )
            largest_reach = float(self._reach[members].max())
            self._trees.append((tree, members, largest_reach))

    def near(self, faces: Indices, most_pairs: int) -> Iterator[tuple[int, _Pairs]]:
        """Yields batches of faces, each with all faces whose boxes may overlap.

        The iteration ends after all faces, or after ``most_pairs`` pairs.
        """
        import numpy as np

        done, size, remaining = 0, _FIRST_BATCH, most_pairs
        while done < len(faces) and remaining > 0:
            batch = faces[done : done + size]
            counts = np.zeros(len(batch), np.int64)
            for index in range(len(self._trees)):
                counts += self._near_faces(batch, index, counted=True)
            affordable = np.searchsorted(np.cumsum(counts), remaining, side="right")
            batch = batch[: max(1, int(affordable))]
            firsts: list[Indices] = []
            seconds: list[Indices] = []
            for index, (_, members, _) in enumerate(self._trees):
                lists = self._near_faces(batch, index, counted=False)
                counts = np.fromiter(map(len, lists), np.int64, len(lists))
                flat = np.fromiter(
                    chain.from_iterable(lists), np.int64, int(counts.sum())
                )
                firsts.append(np.repeat(batch, counts))
                seconds.append(members[flat])
            pairs = _Pairs(np.concatenate(firsts), np.concatenate(seconds))
            yield len(batch), pairs
            done += len(batch)
            remaining -= len(pairs.first)
            size *= 2

    def _near_faces(
        self,
        batch: Indices,
        index: int,
        *,
        counted: bool,
    ) -> Any:
        tree, _, reach = self._trees[index]
        radii = (self._reach[batch] + reach) * (1 + CLEAR)
        return tree.query_ball_point(
            self._middle[batch], radii, return_length=counted, return_sorted=False
        )

    def overlapping(self, pairs: _Pairs) -> _Pairs:
        """Selects the pairs with overlapping boxes."""
        first, second = pairs.first, pairs.second
        below = self._low[first] <= self._high[second]
        above = self._low[second] <= self._high[first]
        overlaps = (below & above).all(axis=1)
        return _Pairs(first[overlaps], second[overlaps])


def _without_common_vertices(faces: Indices, pairs: _Pairs) -> _Pairs:
    import numpy as np

    first, second = faces[pairs.first], faces[pairs.second]
    common = np.zeros(len(first), bool)
    for turn in range(3):
        turned = np.roll(second, turn, axis=1)
        common |= (first == turned).any(axis=1)
    return _Pairs(pairs.first[~common], pairs.second[~common])


def _cut(corners: Numbers, pairs: _Pairs) -> Flags:
    """Returns which pairs of triangles cut each other.

    Two triangles cut each other if an edge of one crosses the inside of the other.
    """
    import numpy as np

    cuts = np.zeros(len(pairs.first), bool)
    first, second = corners[pairs.first], corners[pairs.second]
    for through, triangle in ((first, second), (second, first)):
        heights = _heights(through, triangle)
        above, below = heights > CLEAR, heights < -CLEAR
        side = above.astype(np.int8) - below
        is_crossed = above.any(axis=1) & below.any(axis=1)
        for begin, end in _EDGES:
            crosses = side[:, begin] * side[:, end] < 0
            indices = np.flatnonzero(is_crossed & ~cuts & crosses)
            from_height, to_height = heights[indices, begin], heights[indices, end]
            share = from_height / (from_height - to_height)
            from_place, to_place = through[indices, begin], through[indices, end]
            place = from_place + share[:, None] * (to_place - from_place)
            cuts[indices[_inside(place, triangle[indices])]] = True
    return cuts


def _heights(corners: Numbers, triangle: Numbers) -> Numbers:
    """Returns the heights of three corners above the plane of a triangle.

    The heights are 0 if the triangle has no normal.
    """
    import numpy as np

    origin = triangle[:, 0]
    normal = cross(triangle[:, 1] - origin, triangle[:, 2] - origin)
    length = np.sqrt(squared(normal))
    normal = normal / np.where(length > 0, length, np.inf)[:, None]
    heights = [dots(corners[:, corner] - origin, normal) for corner in range(3)]
    return np.stack(heights, axis=1)


def _inside(places: Numbers, triangle: Numbers) -> Flags:
    """Returns which points in the planes of triangles are inside the triangles.

    Points too close to a side do not count.
    """
    import numpy as np

    origin = triangle[:, 0]
    normal = cross(triangle[:, 1] - origin, triangle[:, 2] - origin)
    normal = normal / np.sqrt(squared(normal))[:, None]
    inside = np.ones(len(places), bool)
    for begin, end in _EDGES:
        side = triangle[:, end] - triangle[:, begin]
        inward = cross(normal, side) / np.sqrt(squared(side))[:, None]
        inside &= dots(places - triangle[:, begin], inward) > CLEAR
    return inside
