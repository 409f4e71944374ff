"""Quality of 3D items without a reference: topology T, geometry G and sampling S.

Each term is a weighted sum of measures from 0 to 1. The weights are in parentheses. The
variation of numbers is ``1 - exp(-IQR / median)``; IQR is the interquartile range.

Mesh:

- T is high if the mesh is watertight (0.35), no edge has more than two faces (0.25), no
  faces cut others (0.2), and there are few parts (0.2; 1 for one part, 0 from four on).
- G is high if the angles between neighbouring faces vary little (0.4), few of them are
  above 60 degrees (0.3), and triangles are close to equilateral (0.3).
- S is high if face areas (0.4), vertex valences (0.25) and the spacing of 5000 random
  points (0.2) vary little, and few spacings are outliers (0.15).

Cloud:

- T is high if the points resemble a surface, judged by the dimension of each point's 20
  neighbours (0.45), no points are isolated (0.35; about 0.95 by construction), and the
  normals of neighbours agree (0.2). T is 0 for fewer than 8 points.
- G is high if neighbourhoods are flat (0.45), few points have normals that differ
  between 16 and 64 points (0.35), and the normals of neighbours agree (0.2). G is 0 for
  fewer than 32 points.
- S is high if the spacing varies little (0.5) and has few outliers (0.25), and the
  points resemble a surface (0.25). S is 0 for fewer than 16 points.
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
    """The switches of ``quality_3d``, by name."""

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
    caution="It measures how regular meshes and point clouds are, not whether they "
    "have the requested shape.",
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
    """Quality of 3D items: the mean of topology (T), geometry (G) and sampling (S).

    Range 0 to 1, higher is better. The formats are obj, off, ply, stl and glTF. A file
    without faces is a point cloud. Items are scaled so that the largest side of their
    box is 1.

    - Mesh: T is high if the mesh is closed, in one piece and without
      self-intersections. G is high if its angles and triangles are even. S is high if
      areas, valences and spacing are even.
    - Cloud: T is high if the points are on a surface, G if the surface is locally flat
      and smooth, and S if the points are evenly spaced without outliers.

    A missing or damaged file scores 0. A file with more than a million faces, two
    million vertices, half a million points of a cloud, or ten thousand points at one
    position (unless merged) leaves the answer unscored. Inapplicable without a 3D item.
    Random numbers are seeded by the file, so a file always has the same score. For the
    same shape in two files, S may differ by 0.01.

    The metric ignores colours, textures, content and size. A hole of any size costs the
    full weight of a closed mesh. A line of points counts as a surface. Noise hardly
    lowers the score of a mesh with varying angles. A few outliers change the scale of
    all other points.

    Switches:

    - ``combination``: the weights of T, G and S are 0.3, 0.4 and 0.3 (``released``), or
      equal as in the ``paper``.
    - ``ply``: a PLY file is used as ``stored``, or always as a ``cloud``. With
      ``cloud``, other files without faces are unscored.
    - ``merge_vertices``: merge points at exactly the same position. Texture seams and
      STL files repeat points.
    - ``dangling``: vertices that no face uses are ``dropped`` or ``kept``. Such
      vertices lower S.
    - ``degenerate``: faces that use a vertex twice, and angles at faces without a
      normal, are ``dropped`` or ``kept``.
    - ``defects``: edges shared by more than two faces, and faces that cut others (among
      at most 1000 faces, drawn at random), are ``counted``. With ``dead`` they are
      never found, as in the released scorer.
    - ``triangles``: an equilateral triangle scores 1 (``equilateral``) or 0.5
      (``released``).
    - ``angles``: the angles between the normals of a cloud are ``absolute`` or
      ``signed``.
    - ``neighbours``: use the neighbours that are ``present``, or search for them as the
      released scorer does (``released``). With ``released`` and at most 20 points, a
      neighbour is infinitely far away, and a cloud of 8 to 12 points, or of 32 points,
      is unscored.
    - ``rounding``: ``none``, or ``released``, which rounds to hundredths of a percent.
    - ``unreadable``: a file that is missing, damaged or without vertices scores 0
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
        reason = "no face of the mesh has three different corners"
        return ItemScore(0.0, {"type": "mesh", "n_faces": 0}, reason)
    if len(geometry.faces):
        kind = "mesh"
        mesh_rules = MeshRules(
            switches.defects, switches.triangles, switches.degenerate
        )
        # Seeded by the file, so that a file always has the same score.
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
    """Returns why the released scorer cannot score a file, or an empty string."""
    if len(stored.faces):
        return ""
    if switches.ply == "cloud" and media.mime != PLY:
        return f"{media.label}: it has no faces, and only PLY files may be point clouds"
    # The released scorer requests 12 and 32 neighbours of each point, even if there are
    # fewer points.
    points = len(stored.points)
    lacks_a_neighbour = FOR_TOPOLOGY <= points <= AGREEMENT or points == FLATNESS
    if switches.neighbours == "released" and lacks_a_neighbour:
        return (
            f"{media.label}: the released scorer's search for neighbours fails in a "
            f"cloud of {points} points"
        )
    return ""
