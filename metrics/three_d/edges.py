"""Finds the edges of a mesh, and the faces that share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.metrics.three_d.surface import Indices


class Edges(NamedTuple):
    """The distinct edges of a mesh, with their ``ends`` (e x 2).

    ``counts`` contains, for each edge, how many sides of faces meet there.
    ``neighbours`` (a x 2) are the pairs of faces at edges with exactly two sides.
    """

    ends: Indices
    counts: Indices
    neighbours: Indices

    @property
    def watertight(self) -> bool:
        """True if there are edges, and two sides of faces meet at each edge."""
        return len(self.counts) > 0 and bool((self.counts == 2).all())

    @property
    def nonmanifold_share(self) -> float:
        """The share of edges at which more than two sides of faces meet."""
        if not len(self.counts):
            return 0.0
        return float((self.counts > 2).mean())


def edges_of(faces: Indices, vertices: int) -> Edges:
    """Finds the edges of faces (m x 3) in a mesh with ``vertices`` vertices."""
    import numpy as np

    begin, end = faces, faces[:, (1, 2, 0)]
    keys = np.minimum(begin, end) * vertices + np.maximum(begin, end)
    sorted_keys, order = _in_order(keys.ravel())
    is_first = np.ones(len(sorted_keys), bool)
    is_first[1:] = sorted_keys[1:] != sorted_keys[:-1]
    first = np.flatnonzero(is_first)
    counts = np.diff(np.append(first, len(sorted_keys)))
    begin_and_end = np.divmod(sorted_keys[first], max(vertices, 1))
    ends = np.stack(begin_and_end, axis=1)
    twice = first[counts == 2]
    pairs = np.empty((0, 2), np.int64)
    if len(twice):
        sides = np.stack([order[twice], order[twice + 1]], axis=1)
        pairs = sides // 3
    return Edges(ends, counts, pairs[pairs[:, 0] != pairs[:, 1]])


def _in_order(keys: Indices) -> tuple[Indices, Indices]:
    """Returns the sorted keys, and the order that sorts them.

    If a key and its position fit into one number, these numbers are sorted, which is
    several times faster.
    """
    import numpy as np

    places = len(keys).bit_length()
    if len(keys) and int(keys.max()).bit_length() + places < 63:
        packed = np.sort(keys << places | np.arange(len(keys)))
        return packed >> places, packed & ((1 << places) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def component_count(faces: int, neighbours: Indices) -> int:
    """Counts the connected parts among ``faces`` faces, whether closed or not."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(neighbours), np.int8)
    joined = coo_array((ones, tuple(neighbours.T)), shape=(faces, faces))
    return int(connected_components(joined, directed=False, return_labels=False))


def valences(ends: Indices, vertices: int) -> Indices:
    """Counts the edges at each vertex. An edge from a vertex to itself counts once."""
    import numpy as np

    begin, end = ends.T
    every_end = np.concatenate([begin, end[begin != end]])
    return np.bincount(every_end, minlength=vertices)
