"""Measures topology, geometry and sampling of a mesh."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.metrics.three_d.crossings import crossing_share
from mmeval.metrics.three_d.edges import Edges, component_count, edges_of, valences
from mmeval.metrics.three_d.spread import Terms, clamp, far_share, variation, weighted
from mmeval.metrics.three_d.surface import (
    Faces,
    angles_between,
    faces_of,
    points_on,
    shape_quality,
)

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.three_d.surface import Indices, Numbers

Defects = Literal["dead", "counted"]
Triangles = Literal["released", "equilateral"]
Degenerate = Literal["kept", "dropped"]
SHARP = math.radians(60)
MOST_COMPONENTS = 4
"""From this number of parts on, the measure of connected parts is 0."""
SAMPLES, NEIGHBOURS = 5000, 8
"""Number of random points on the surface, and of neighbours that define a spacing."""
TRIANGLES = {"released": 2 * math.sqrt(3), "equilateral": 4 * math.sqrt(3)}
"""The constant in the measure of a triangle's shape. With the released constant, an
equilateral triangle scores 0.5. With the other constant it scores 1."""
TOPOLOGY = (0.35, 0.25, 0.20, 0.20)
GEOMETRY = (0.40, 0.30, 0.30)
SAMPLING = (0.40, 0.25, 0.20, 0.15)
"""Weights of the measures in each term. Topology: watertight, edges of more than two
faces, faces that cut others, parts. Geometry: even angles, sharp angles, shape of
triangles. Sampling: even areas, even valences, even spacing, few outliers."""


class MeshRules(NamedTuple):
    """How a mesh is measured; each field holds the switch of the same name."""

    defects: Defects
    triangles: Triangles
    degenerate: Degenerate


def mesh_terms(
    points: Numbers, faces: Indices, rules: MeshRules, rng: np.random.Generator
) -> Terms:
    """Returns T, G and S of a mesh with the largest extent 1.

    ``points`` are n x 3 and ``faces`` m x 3, with m > 0. If no face has a normal, the
    mesh is not a surface. All its terms are then 0 if ``degenerate`` faces are dropped.
    """
    edges, surface = edges_of(faces, len(points)), faces_of(points, faces)
    evidence: dict[str, Any] = {"n_vertices": len(points), "n_faces": len(faces)}
    if rules.degenerate == "dropped" and not surface.directed.any():
        return Terms(0.0, 0.0, 0.0, evidence)
    topology, topology_evidence = _topology(surface, faces, edges, rules, rng)
    geometry, geometry_evidence = _geometry(surface, edges, rules)
    spacing = _spacing(points_on(surface, SAMPLES, rng))
    valence = valences(edges.ends, len(points)).astype(float)
    sampling_evidence = {
        "area_variation": variation(surface.areas),
        "valence_variation": variation(valence),
        "knn_variation": variation(spacing),
        "outlier_ratio": far_share(spacing),
    }
    sampling = weighted(SAMPLING, *(1 - share for share in sampling_evidence.values()))
    evidence |= {**topology_evidence, **geometry_evidence, **sampling_evidence}
    return Terms(topology, geometry, sampling, evidence)


def _topology(
    surface: Faces,
    faces: Indices,
    edges: Edges,
    rules: MeshRules,
    rng: np.random.Generator,
) -> tuple[float, dict[str, Any]]:
    components = component_count(len(faces), edges.neighbours)
    unity = clamp(1 - (components - 1) / (MOST_COMPONENTS - 1))
    evidence: dict[str, Any] = {
        "watertight": edges.watertight,
        "components": components,
    }
    # Released scorer (UniM, 3D quality v3): it never finds two kinds of defects. It
    # requests the number of faces at edges under a name that its mesh library does not
    # have, and its search for cutting faces fails for any mesh. It catches both errors
    # and reports no defects.
    nonmanifold = crossing = 0.0
    if rules.defects == "counted":
        nonmanifold = edges.nonmanifold_share
        crossing, tested = crossing_share(surface.corners, faces, rng)
        evidence |= {
            "nonmanifold_share": nonmanifold,
            "crossing_share": crossing,
            "faces_looked_at": tested,
        }
    closed = float(edges.watertight)
    topology = weighted(TOPOLOGY, closed, 1 - nonmanifold, 1 - crossing, unity)
    return topology, evidence


def _geometry(
    surface: Faces, edges: Edges, rules: MeshRules
) -> tuple[float, dict[str, Any]]:
    pairs = edges.neighbours
    if rules.degenerate == "dropped":
        directed = surface.directed
        pairs = pairs[directed[pairs].all(axis=1)]
    angles = angles_between(surface.normals, pairs)
    uneven = variation(angles)
    sharp = 0.0
    if len(angles):
        sharp = float((angles > SHARP).mean())
    quality = float(shape_quality(surface, TRIANGLES[rules.triangles]).mean())
    evidence = {
        "dihedral_variation": uneven,
        "sharp_ratio": sharp,
        "triangle_quality": quality,
    }
    return weighted(GEOMETRY, 1 - uneven, 1 - sharp, quality), evidence


def _spacing(points: Numbers) -> Numbers:
    """Returns each point's mean distance to its eight nearest neighbours."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points, balanced_tree=False)
    distances, _ = tree.query(points, k=NEIGHBOURS + 1)
    spacing: Numbers = distances[:, 1:].mean(axis=1)
    return spacing
