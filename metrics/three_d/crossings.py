"""Faces of a mesh that cut others, tested in pairs for a bounded number of faces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.three_d.surface import cross, dots, squared

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.three_d.surface import Flags, Indices, Numbers

MOST_FACES = 1000
"""The most faces that are tested; of more, this many are drawn at random."""
MOST_PAIRS = 1_000_000
"""The most pairs of near faces. In a mesh with more, fewer faces are tested."""
CLEAR = 1e-9
"""How far a face has to reach through another, in a mesh whose largest extent is 1."""
_SIDES = ((0, 1), (1, 2), (2, 0))
"""The corners of a triangle between which its sides run."""
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
        for start in range(0, len(near.one), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            some = boxes.overlapping(_Pairs(near.one[chunk], near.other[chunk]))
            pairs = _without_common_vertices(faces, some)
            cutting[pairs.one[_cut(corners, pairs)]] = True
    if not looked_at:
        return Crossings(0.0, 0)
    return Crossings(float(cutting.sum() / looked_at), looked_at)


class _Boxes:
    """The axis-aligned boxes around faces, searched by place."""

    def __init__(self, corners: Numbers) -> None:
        import numpy as np
        from scipy.spatial import cKDTree

        one, two, three = corners.transpose(1, 0, 2)
        self._low = np.minimum(np.minimum(one, two), three)
        self._high = np.maximum(np.maximum(one, two), three)
        self._middle = (self._low + self._high) / 2
        self._reach = np.sqrt(squared(self._high - self._low)) / 2
        # Grouped by size, since one large face would be near every small one.
        largest = self._reach.max()
        size = np.zeros(len(self._reach))
        if largest:
            with np.errstate(divide="ignore"):
                size = np.floor(-np.log2(self._reach / largest) / 2)
        size = np.minimum(size, _SIZES - 1)
        self._trees: list[tuple[Any, Indices, float]] = []
        for each in np.unique(size):
            members = np.flatnonzero(size == each)
            tree = cKDTree(
                self._middle[members],
                leafsize=_LEAF,
                balanced_tree=False,
                compact_nodes=False,
            )
            largest_reach = float(self._reach[members].max())
            self._trees.append((tree, members, largest_reach))

    def near(self, chosen: Indices, most_pairs: int) -> Iterator[tuple[int, _Pairs]]:
        """Batches of the chosen faces, with all faces whose boxes may overlap theirs.
        They end when all are done or ``most_pairs`` is reached."""
        import numpy as np

        done, size, left = 0, _FIRST_BATCH, most_pairs
        while done < len(chosen) and left > 0:
            batch = chosen[done : done + size]
            counts = np.zeros(len(batch), np.int64)
            for at in range(len(self._trees)):
                counts += self._asked(batch, at, counted=True)
            affordable = np.searchsorted(np.cumsum(counts), left, side="right")
            batch = batch[: max(1, int(affordable))]
            ones: list[Indices] = []
            others: list[Indices] = []
            for at, (_, members, _) in enumerate(self._trees):
                lists = self._asked(batch, at, counted=False)
                counts = np.fromiter(map(len, lists), np.int64, len(lists))
                flat = np.fromiter(
                    chain.from_iterable(lists), np.int64, int(counts.sum())
                )
                ones.append(np.repeat(batch, counts))
                others.append(members[flat])
            pairs = _Pairs(np.concatenate(ones), np.concatenate(others))
            yield len(batch), pairs
            done += len(batch)
            left -= len(pairs.one)
            size *= 2

    def _asked(
        self,
        batch: Indices,
        at: int,
        *,
        counted: bool,
    ) -> Any:
        tree, _, reach = self._trees[at]
        radii = (self._reach[batch] + reach) * (1 + CLEAR)
        return tree.query_ball_point(
            self._middle[batch], radii, return_length=counted, return_sorted=False
        )

    def overlapping(self, pairs: _Pairs) -> _Pairs:
        """The pairs whose boxes have some space in common."""
        one, other = pairs.one, pairs.other
        below = self._low[one] <= self._high[other]
        above = self._low[other] <= self._high[one]
        kept = (below & above).all(axis=1)
        return _Pairs(one[kept], other[kept])


def _without_common_vertices(faces: Indices, pairs: _Pairs) -> _Pairs:
    import numpy as np

    one, other = faces[pairs.one], faces[pairs.other]
    common = np.zeros(len(one), bool)
    for turn in range(3):
        turned = np.roll(other, turn, axis=1)
        common |= (one == turned).any(axis=1)
    return _Pairs(pairs.one[~common], pairs.other[~common])


def _cut(corners: Numbers, pairs: _Pairs) -> Flags:
    """Which pairs of triangles cut: an edge of one goes through the inside of
    another."""
    import numpy as np

    found = np.zeros(len(pairs.one), bool)
    one, other = corners[pairs.one], corners[pairs.other]
    for through, triangle in ((one, other), (other, one)):
        heights = _heights(through, triangle)
        above, below = heights > CLEAR, heights < -CLEAR
        side = above.astype(np.int8) - below
        apart = above.any(axis=1) & below.any(axis=1)
        for begin, end in _SIDES:
            crosses = side[:, begin] * side[:, end] < 0
            at = np.flatnonzero(apart & ~found & crosses)
            from_height, to_height = heights[at, begin], heights[at, end]
            share = from_height / (from_height - to_height)
            from_place, to_place = through[at, begin], through[at, end]
            place = from_place + share[:, None] * (to_place - from_place)
            found[at[_inside(place, triangle[at])]] = True
    return found


def _heights(corners: Numbers, triangle: Numbers) -> Numbers:
    """How far each of three corners lies above the plane of a triangle.
    0 where that has no direction."""
    import numpy as np

    origin = triangle[:, 0]
    normal = cross(triangle[:, 1] - origin, triangle[:, 2] - origin)
    length = np.sqrt(squared(normal))
    normal = normal / np.where(length > 0, length, np.inf)[:, None]
    heights = [dots(corners[:, at] - origin, normal) for at in range(3)]
    return np.stack(heights, axis=1)


def _inside(places: Numbers, triangle: Numbers) -> Flags:
    """Which places in the planes of triangles lie inside, clear of their sides."""
    import numpy as np

    origin = triangle[:, 0]
    normal = cross(triangle[:, 1] - origin, triangle[:, 2] - origin)
    normal = normal / np.sqrt(squared(normal))[:, None]
    inside = np.ones(len(places), bool)
    for begin, end in _SIDES:
        side = triangle[:, end] - triangle[:, begin]
        inward = cross(normal, side) / np.sqrt(squared(side))[:, None]
        inside &= dots(places - triangle[:, begin], inward) > CLEAR
    return inside
