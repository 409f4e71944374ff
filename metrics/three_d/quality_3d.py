"""Quality of 3D items without a reference: topology T, geometry G and sampling S.

Each term is a weighted sum of measures from 0 to 1. ``variation`` is 1 less e to the
minus interquartile range over median.

Mesh. T: watertight .35, edges of at most two faces .25, faces without intersections .2,
one part .2 (0 from four). G: little variation of the angles between neighbours .4, few
above 60 degrees .3, triangles near equilateral .3. S: little variation of areas .4, of
vertex valences .25, of the spacing of 5000 random points .2, few outliers among these
.15.

Cloud. T (0 under 8 points): like a surface, by the dimension of 20 neighbours .45, no
isolated points .35 (about .95 by construction), normals that agree .2. G (0 under 32):
flat neighbourhoods .45, normals alike through 16 and 64 points .35, normals that agree
.2. S (0 under 16): little variation of the spacing .5, few outliers .25, like a surface
.25.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from mmeval.media.decode import within
from mmeval.metric import metric
from mmeval.metrics.quality.items import (
    ItemScore,
    Rounding,
    Unreadable,
    in_released_digits,
    quality_of_media,
)
from mmeval.metrics.three_d.cloud_terms import FOR_TOPOLOGY, Angles, cloud_terms
from mmeval.metrics.three_d.geometry import (
    MAX_AT_ONE_PLACE,
    PLY,
    Dangling,
    Geometry,
    Ply,
    geometry_of,
    merged,
    most_at_one_place,
    of_size_one,
    without_collapsed,
    without_dangling,
)
from mmeval.metrics.three_d.mesh_terms import (
    Defects,
    Degenerate,
    MeshRules,
    Triangles,
    mesh_terms,
)
from mmeval.metrics.three_d.neighbourhoods import AGREEMENT, FLATNESS
from mmeval.records import Score, Trial

if TYPE_CHECKING:
    from mmeval.media import Media

Combination = Literal["released", "paper"]
Neighbours = Literal["released", "present"]
WEIGHTS: Mapping[Combination, tuple[float, float, float]] = {
    "released": (0.3, 0.4, 0.3),
    "paper": (1 / 3, 1 / 3, 1 / 3),
}
"""The weights of topology, geometry and sampling."""


class _Quality3DSwitches(NamedTuple):
    """The switches of the metric, by name."""

    combination: Combination
    ply: Ply
    merge_vertices: bool
    dangling: Dangling
    degenerate: Degenerate
    defects: Defects
    triangles: Triangles
    angles: Angles
    neighbours: Neighbours
    rounding: Rounding


@metric(
    range=(0, 1),
    version="2",
    source="UniM, generation quality of 3D items; official: released quality scorer "
    "(NR3D-Q v3)",
    profiles={
        "official": {
            "ply": "cloud",
            "merge_vertices": False,
            "dangling": "kept",
            "degenerate": "kept",
            "defects": "dead",
            "triangles": "released",
            "angles": "signed",
            "neighbours": "released",
            "rounding": "released",
            "unreadable": "unscored",
        }
    },
    reference_free=True,
    looks_at="3d",
)
def quality_3d(
    trial: Trial,
    *,
    combination: Combination = "released",
    ply: Ply = "stored",
    merge_vertices: bool = True,
    dangling: Dangling = "dropped",
    degenerate: Degenerate = "dropped",
    defects: Defects = "counted",
    triangles: Triangles = "equilateral",
    angles: Angles = "absolute",
    neighbours: Neighbours = "present",
    rounding: Rounding = "none",
    unreadable: Unreadable = "zero",
) -> Score:
    """Quality of 3D items: mean of topology (T), geometry (G) and sampling (S).

    Range 0 to 1, higher is better. Formats: obj, off, ply, stl, glTF; a file without
    faces is a cloud. Items are scaled so that the largest side of their box is 1.

    - Mesh: T measures that it is closed, in one piece and without self-intersections, G
      that its angles and triangles are even, S that areas, valences and spacing are
      even.
    - Cloud: they measure that it lies in a surface, is locally flat and smooth, and is
      evenly spaced without outliers.

    A missing or damaged file is 0. A file of more than a million faces,
    two million vertices or half a million points (ten thousand at one place, unless
    merged) leaves the answer unscored. Inapplicable without a 3D item. Random numbers
    are seeded by the file, so a file always has the same score; S of one shape in two
    files may differ by .01.

    It ignores colours, textures, content and size. A hole costs the term of a closed
    mesh, whatever its size. A line of points counts as a surface. Noise hardly lowers
    the score of a mesh with varying angles. A few outliers change the scale of all
    other points.

    Switches:

    - ``combination``: weights .3, .4, .3 as ``released``, or equal ones as in the
      ``paper``.
    - ``ply``: a PLY file is used as ``stored``, or always as a ``cloud``; then other
      files without faces have no score.
    - ``merge_vertices``: points at exactly one place are one. Seams of textures and STL
      files repeat points.
    - ``dangling``: vertices of no face are ``dropped`` or ``kept`` (they lower S).
    - ``degenerate``: faces with a corner twice, and angles at faces without a
      direction, are ``dropped`` or ``kept``.
    - ``defects``: edges of more than two faces, and faces that cut others (of at most
      1000, drawn at random), are ``counted``, or ``dead`` as in the released scorer.
    - ``triangles``: an ``equilateral`` one has 1, or one half as ``released``.
    - ``angles``: between normals of clouds, ``absolute`` or ``signed``.
    - ``neighbours``: those ``present``, or as ``released``: with 20 points or fewer one
      is infinitely far away, and 8 to 12 or 32 points have no score.
    - ``rounding``: ``none``, or hundredths of a percent as ``released``.
    - ``unreadable``: a file that is missing, damaged or without vertices is 0
      (``zero``) or has no quality (``unscored``).

    Evidence: T, G, S and every measure of each item.
    """
    switches = _Quality3DSwitches(
        combination=combination,
        ply=ply,
        merge_vertices=merge_vertices,
        dangling=dangling,
        degenerate=degenerate,
        defects=defects,
        triangles=triangles,
        angles=angles,
        neighbours=neighbours,
        rounding=rounding,
    )
    return quality_of_media(
        trial, "3d", lambda media: _item(media, switches), unreadable=unreadable
    )


def _item(media: Media, switches: _Quality3DSwitches) -> ItemScore:
    import numpy as np

    stored = geometry_of(media, switches.ply)
    fault = _released_fault(media, stored, switches)
    if fault:
        return ItemScore.none(fault)
    geometry = of_size_one(stored)
    if switches.merge_vertices:
        geometry = merged(geometry)
    elif not len(geometry.faces):
        most_points = most_at_one_place(geometry.points)
        limit = "max_points_at_one_place"
        within(media, limit, MAX_AT_ONE_PLACE, most_points, "points")
    if switches.degenerate == "dropped" and len(geometry.faces):
        geometry = without_collapsed(geometry)
    if switches.dangling == "dropped":
        geometry = without_dangling(geometry)
    if len(stored.faces) and not len(geometry.faces):
        reason = "none of its faces has three different corners"
        return ItemScore(0.0, {"type": "mesh", "n_faces": 0}, reason)
    if len(geometry.faces):
        kind = "mesh"
        mesh_rules = MeshRules(
            switches.defects, switches.triangles, switches.degenerate
        )
        # seeded by the file, so that it always has the same score
        rng = np.random.default_rng(int(media.sha256[:16], 16))
        terms = mesh_terms(geometry.points, geometry.faces, mesh_rules, rng)
    else:
        kind = "pcd"
        padded = switches.neighbours == "released"
        terms = cloud_terms(geometry.points, angles=switches.angles, padded=padded)
    three_terms = (terms.topology, terms.geometry, terms.sampling)
    weights = WEIGHTS[switches.combination]
    quality = sum(
        weight * term for weight, term in zip(weights, three_terms, strict=True)
    )
    if switches.rounding == "released":
        quality = in_released_digits(quality)
    evidence = {"type": kind, **dict(zip("TGS", three_terms, strict=True))}
    return ItemScore(min(1.0, quality), {**evidence, **terms.evidence})


def _released_fault(
    media: Media,
    stored: Geometry,
    switches: _Quality3DSwitches,
) -> str:
    """Returns why the released scorer has no score for a file; empty otherwise."""
    if len(stored.faces):
        return ""
    if switches.ply == "cloud" and media.mime != PLY:
        return (
            f"{media.label}: it has no faces, and only a PLY file may be a point cloud"
        )
    # It requests 12 and 32 neighbours of each point, even if there are fewer points.
    points = len(stored.points)
    lacks_a_neighbour = FOR_TOPOLOGY <= points <= AGREEMENT or points == FLATNESS
    if switches.neighbours == "released" and lacks_a_neighbour:
        return (
            f"{media.label}: the released search for neighbours fails in a cloud of "
            f"{points} points"
        )
    return ""
