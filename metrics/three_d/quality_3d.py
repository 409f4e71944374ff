"""Quality of 3D items without a reference: topology T, geometry G and sampling S.

Each term is a weighted sum of measures from 0 to 1; ``variation`` is one less e to the
minus interquartile range over median.

Mesh. T: watertight .35, edges of at most two faces .25, faces that cut no other .2, one
part .2 (0 from four). G: little variation of the angles between neighbours .4, few
above 60 degrees .3, triangles near equilateral .3. S: little variation of areas .4, of
vertex valences .25, of the spacing of 5000 random points .2, few of these far out .15.

Cloud. T (0 under 8 points): like a surface, by the dimension of 20 neighbours .45, no
lonely points .35 (about .95 by construction), normals that agree .2. G (0 under 32):
flat neighbourhoods .45, normals alike through 16 and 64 points .35, normals that agree
.2. S (0 under 16): little variation of the spacing .5, few points far out .25, like a
surface .25.
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
"""Of topology, geometry and sampling."""


class _Rules(NamedTuple):
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
    """How sound 3D items are: the mean of topology (T), geometry (G), sampling (S).

    Range 0 to 1, higher is better. Meshes and point clouds (obj, off, ply, stl, glTF;
    without faces: a cloud), moved and scaled to a box whose largest side is 1. For a
    mesh, T measures that it is closed, in one piece and without self-intersections, G
    that its angles and triangles are even, S that areas, valences and spacing are; for
    a cloud they measure that it lies in a surface, is locally flat and smooth, and
    evenly spaced without outliers. The weights: ``mmeval.metrics.three_d.quality_3d``.

    Switches: ``combination``: .3, .4, .3 as ``released``, or equal thirds as in the
    ``paper``. ``ply``: a PLY file is used as ``stored``, or always as a ``cloud``
    without its faces; other files without faces then have no score. ``merge_vertices``:
    points at exactly one place are one (seams of textures and STL files repeat them).
    ``dangling``: vertices that no face uses are ``dropped`` or ``kept`` (they lower S).
    ``degenerate``: faces that have a corner twice are ``dropped``, and so are angles at
    faces without a direction, or both ``kept``. ``defects``: edges of more than two
    faces, and faces that cut others with which they share no vertex (of at most 1000,
    drawn at random), are ``counted``, or ``dead`` as in the released scorer, where no
    mesh has any. ``triangles``: an ``equilateral`` one has 1, or one half as
    ``released``. ``angles``: between normals of clouds, ``absolute``, as their sign
    says nothing, or ``signed``. ``neighbours``: those ``present``, or as ``released``:
    with 20 points or fewer one infinitely far away; no score with 8 to 12 and with 32
    points. ``rounding`` ``released``: to hundredths of a percent. ``unreadable``: a
    file that is missing or damaged, or holds no vertices, is 0 (``zero``) or has no
    quality (``unscored``). Profile ``official`` sets all of them but ``combination`` as
    the released scorer has them.

    Random numbers are seeded by the file: it always has the same score; S of one shape
    in two files may differ by .01. A file of more than a million faces, two million
    vertices or half a million points (ten thousand at one place, unless merged) has no
    quality. Unscored without an answer, inapplicable without a 3D item. Ignored:
    colours, textures, content and size. A line of points counts as a surface; an open
    sheet is not watertight. Noise hardly lowers the score of a mesh whose angles vary
    anyway; a few outliers change the scale for all other points.

    Evidence: T, G, S and every measure of each item by name.
    """
    rules = _Rules(
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
        trial, "3d", lambda media: _item(media, rules), unreadable=unreadable
    )


def _item(media: Media, rules: _Rules) -> ItemScore:
    import numpy as np

    stored = geometry_of(media, rules.ply)
    fault = _released_fault(media, stored, rules)
    if fault:
        return ItemScore.none(fault)
    shown = of_size_one(stored)
    if rules.merge_vertices:
        shown = merged(shown)
    elif not len(shown.faces):
        most = most_at_one_place(shown.points)
        limit = "max_points_at_one_place"
        within(media, limit, MAX_AT_ONE_PLACE, most, "points")
    if rules.degenerate == "dropped" and len(shown.faces):
        shown = without_collapsed(shown)
    if rules.dangling == "dropped":
        shown = without_dangling(shown)
    if len(stored.faces) and not len(shown.faces):
        why = "none of its faces has three different corners"
        return ItemScore(0.0, {"type": "mesh", "n_faces": 0}, why)
    if len(shown.faces):
        kind = "mesh"
        mesh_rules = MeshRules(rules.defects, rules.triangles, rules.degenerate)
        # The same file always has the same score.
        rng = np.random.default_rng(int(media.sha256[:16], 16))
        terms = mesh_terms(shown.points, shown.faces, mesh_rules, rng)
    else:
        kind = "pcd"
        padded = rules.neighbours == "released"
        terms = cloud_terms(shown.points, angles=rules.angles, padded=padded)
    three = (terms.topology, terms.geometry, terms.sampling)
    weights = WEIGHTS[rules.combination]
    quality = sum(weight * term for weight, term in zip(weights, three, strict=True))
    if rules.rounding == "released":
        quality = in_released_digits(quality)
    named = {"type": kind, **dict(zip("TGS", three, strict=True))}
    return ItemScore(min(1.0, quality), {**named, **terms.evidence})


def _released_fault(
    media: Media,
    stored: Geometry,
    rules: _Rules,
) -> str:
    """Why the released scorer has no score for a file.
    Empty if it has one, or is not followed."""
    if len(stored.faces):
        return ""
    if rules.ply == "cloud" and media.mime != PLY:
        return (
            f"{media.label}: it has no faces, and only a PLY file is taken for a "
            "point cloud"
        )
    # It asks for 12 and for 32 neighbours of each point without checking their number.
    points = len(stored.points)
    lacks_a_neighbour = FOR_TOPOLOGY <= points <= AGREEMENT or points == FLATNESS
    if rules.neighbours == "released" and lacks_a_neighbour:
        return (
            f"{media.label}: a search for neighbours fails in a cloud of exactly "
            f"{points} points"
        )
    return ""
