"""Reads the geometry of a 3D file, a mesh or a point cloud, and scales it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from mmeval.errors import CorruptMediaError
from mmeval.media.decode import DEFAULT_LIMITS, point_arrays, raw_mesh_arrays, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mmeval.media import Media
    from mmeval.metrics.three_d.surface import Indices, Numbers

Ply = Literal["cloud", "stored"]
Dangling = Literal["kept", "dropped"]
PLY = "model/ply"
MAX_FACES = 1_000_000
MAX_VERTICES = 2_000_000
MAX_POINTS = 500_000
MAX_AT_ONE_PLACE = 10_000
"""Maximum number of points at one position, unless merged. A search for neighbours
cannot separate such points, so its time grows with the square of their number."""
LIMITS = replace(
    DEFAULT_LIMITS, max_mesh_faces=MAX_FACES, max_mesh_vertices=MAX_VERTICES
)


class Geometry(NamedTuple):
    """Points (n x 3) and the faces between them (m x 3), if any.

    A geometry without faces is a point cloud.
    """

    points: Numbers
    faces: Indices


def geometry_of(media: Media, ply: Ply) -> Geometry:
    """Reads the points and faces of a file as stored.

    If ``ply`` is ``cloud``, only the points of a PLY file are read. Raises
    CorruptMediaError for a file without vertices. Raises MediaLimitError for more than
    a million faces, two million vertices, or half a million points in a cloud.
    """
    if ply == "cloud" and media.mime == PLY:
        arrays = point_arrays(media, limits=LIMITS)
    else:
        arrays = raw_mesh_arrays(media, limits=LIMITS)
    if not len(arrays.vertices):
        raise CorruptMediaError(f"{media.label}: the file has no vertices")
    within(media, "max_mesh_faces", MAX_FACES, len(arrays.faces), "faces")
    if not len(arrays.faces):
        within(media, "max_points", MAX_POINTS, len(arrays.vertices), "points")
    return Geometry(arrays.vertices, arrays.faces)


def of_size_one(geometry: Geometry) -> Geometry:
    """Centres the bounding box at the origin, and scales its largest side to 1."""
    import numpy as np

    used_points = geometry.points
    if len(geometry.faces):
        used_points = used_points[_is_used(geometry)]
    low, high = used_points.min(axis=0), used_points.max(axis=0)
    # Halved first, since the sum or difference of the largest numbers may overflow.
    extent = float((high / 2 - low / 2).max())
    moved = geometry.points / 2 - (high / 4 + low / 4)
    with np.errstate(over="ignore"):  # unused points may be anywhere
        scaled = moved / extent if extent > 0 else moved * 0.0
        return Geometry(scaled, geometry.faces)


def most_at_one_place(points: Numbers) -> int:
    """Returns the largest number of points at the same position."""
    import numpy as np

    places = merged(Geometry(points, np.arange(len(points)))).faces
    return int(np.bincount(places).max())


def merged(geometry: Geometry) -> Geometry:
    """Merges points at exactly the same position."""
    import numpy as np

    # Adding zero turns minus zero into zero: both are the same position.
    rows = np.ascontiguousarray(geometry.points + 0.0)
    order = np.lexsort(rows.T)
    ordered = rows[order]
    first = np.ones(len(rows), bool)
    differs = ordered[1:] != ordered[:-1]
    first[1:] = differs.any(axis=1)
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(first) - 1
    return Geometry(ordered[first], place[geometry.faces])


def without_collapsed(geometry: Geometry) -> Geometry:
    """Drops faces that use a vertex twice, since they are lines or points."""
    a, b, c = geometry.faces.T
    differ = (a != b) & (b != c) & (c != a)
    return Geometry(geometry.points, geometry.faces[differ])


def without_dangling(geometry: Geometry) -> Geometry:
    """Drops points that no face uses. A cloud is not changed."""
    import numpy as np

    if not len(geometry.faces):
        return geometry
    is_used = _is_used(geometry)
    if is_used.all():
        return geometry
    places = np.cumsum(is_used) - 1
    return Geometry(geometry.points[is_used], places[geometry.faces])


def _is_used(geometry: Geometry) -> NDArray[np.bool_]:
    """Returns a flag for each point: True if a face uses the point."""
    import numpy as np

    is_used = np.zeros(len(geometry.points), bool)
    is_used[geometry.faces.ravel()] = True
    return is_used
