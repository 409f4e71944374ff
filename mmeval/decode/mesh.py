"""Meshes and point clouds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmeval.decode.guard import decoding, quiet, whole_bytes
from mmeval.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.decode.memo import decoded_once
from mmeval.decode.mesh_header import declared_counts
from mmeval.errors import CorruptMediaError
from mmeval.extras import need
from mmeval.media import Media

if TYPE_CHECKING:
    import trimesh

_MESH_TYPES = {
    "model/obj": "obj",
    "model/off": "off",
    "model/ply": "ply",
    "model/stl": "stl",
    "model/gltf-binary": "glb",
}


def _kept_size(geometry: trimesh.Trimesh | trimesh.PointCloud) -> int:
    faces = getattr(geometry, "faces", None)
    return int(geometry.vertices.nbytes) + (0 if faces is None else int(faces.nbytes))


def _copy(geometry: trimesh.Trimesh | trimesh.PointCloud) -> trimesh.Trimesh | trimesh.PointCloud:
    return geometry.copy()


@decoded_once(size=_kept_size, copy=_copy)
def mesh(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> trimesh.Trimesh | trimesh.PointCloud:
    """The geometry of an obj, off, ply, stl or glb: one mesh, or a point cloud where there are no faces.

    Materials and textures are left out, references to other files are not followed, the parts of a scene are put
    together where it places them, vertices at one place are merged. Decoded once; every call gives a copy of its own.
    Raises the errors of this package.
    """
    trimesh = need("trimesh", "3d")
    data = whole_bytes(media, limits)
    kind = _MESH_TYPES.get(media.mime)
    if kind is None:
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, not one of {', '.join(_MESH_TYPES.values())}")
    with decoding(media, "a mesh"), quiet("trimesh"):
        declared = declared_counts(data, media.mime)
        within(media, "max_mesh_vertices", limits.max_mesh_vertices, declared.vertices, "vertices")
        within(media, "max_mesh_faces", limits.max_mesh_faces, declared.faces, "faces")
        plain = {"skip_materials": True} if kind in ("obj", "glb") else {}
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, resolver={}, process=False, **plain)
        return _one_geometry(media, scene)


def _one_geometry(media: Media, scene: Any) -> trimesh.Trimesh | trimesh.PointCloud:
    import trimesh

    placed = [_placed(scene, node) for node in scene.graph.nodes_geometry]
    solid = [item for item in placed if isinstance(item, trimesh.Trimesh) and len(item.faces)]
    clouds = [item for item in placed if len(getattr(item, "vertices", ()))]
    if solid:
        return _solid(media, solid)
    if clouds:
        return _cloud(media, clouds)
    raise CorruptMediaError(f"{media.label}: it holds no vertices")


def _placed(scene: Any, node: str) -> Any:
    transform, name = scene.graph[node]
    geometry = scene.geometry[name].copy()
    geometry.apply_transform(transform)
    return geometry


def _solid(media: Media, parts: Sequence[trimesh.Trimesh]) -> trimesh.Trimesh:
    import trimesh

    for part in parts:
        _check_finite(media, part.vertices)
        if part.faces.min() < 0 or part.faces.max() >= len(part.vertices):
            raise CorruptMediaError(f"{media.label}: a face names a vertex that does not exist")
    whole: Any = parts[0] if len(parts) == 1 else trimesh.util.concatenate(parts)
    whole.merge_vertices()
    solid: trimesh.Trimesh = whole
    return solid


def _cloud(media: Media, parts: Sequence[Any]) -> trimesh.PointCloud:
    import numpy as np

    whole = parts[0]
    if len(parts) > 1 or not hasattr(whole, "colors"):
        whole = need("trimesh", "3d").PointCloud(np.concatenate([part.vertices for part in parts]))
    _check_finite(media, whole.vertices)
    cloud: trimesh.PointCloud = whole
    return cloud


def _check_finite(media: Media, vertices: Any) -> None:
    import numpy as np

    if not np.isfinite(vertices).all():
        raise CorruptMediaError(f"{media.label}: some of its vertices are not numbers (NaN or infinite)")
