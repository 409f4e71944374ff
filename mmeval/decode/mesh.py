"""Decodes meshes and point clouds, in the decoding process."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.content.media import Media
from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.guard import decoding, whole_bytes
from mmeval.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.decode.memo import decoded_once
from mmeval.errors import CorruptMediaError

if TYPE_CHECKING:
    import numpy as np
    import trimesh
    from numpy.typing import NDArray

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
    """The geometry of an obj, off, ply, stl or glb: a mesh; without faces, points.

    Materials and textures are left out, references to other files are not followed, the parts of a scene are put
    together where it places them, vertices at one place are merged. Colours of vertices and faces are kept. Decoded
    once; every call gives a copy of its own. Raises the errors of this package.
    """
    step = _built(media, limits)
    with decoding(media, "a mesh"):
        return _from_step(step)


class MeshArrays(NamedTuple):
    """Coordinates of vertices (n x 3), vertices of faces (m x 3; none: a point cloud)."""

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]


def mesh_arrays(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> MeshArrays:
    """The geometry of :func:`mesh`, without importing trimesh into this process."""
    return _arrays(media, limits)


def _bytes_of(arrays: MeshArrays) -> int:
    return arrays.vertices.nbytes + arrays.faces.nbytes


@decoded_once(size=_bytes_of)
def raw_mesh_arrays(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> MeshArrays:
    """The geometry as the file holds it: no vertex is merged or left out.

    The parts of a scene are put together as :func:`mesh` does it; polygons are cut into triangles. Read-only arrays,
    decoded once, without importing trimesh into this process. Raises the errors of this package.
    """
    return _arrays(media, limits, plain=True)


@decoded_once(size=_bytes_of)
def point_arrays(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> MeshArrays:
    """The vertices alone as the file holds them: a point cloud. Read-only arrays."""
    return _arrays(media, limits, plain=True, faces=False)


def _arrays(media: Media, limits: DecodeLimits, **options: bool) -> MeshArrays:
    import numpy as np

    points, faces, _ = _built(media, limits, **options).buffers
    return MeshArrays(np.frombuffer(points, np.float64).reshape(-1, 3), np.frombuffer(faces, np.int64).reshape(-1, 3))


def _built(media: Media, limits: DecodeLimits, **options: bool) -> Step:
    data = whole_bytes(media, limits)
    kind = _MESH_TYPES.get(media.mime)
    if kind is None:
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, not one of {', '.join(_MESH_TYPES.values())}")
    with decoding(media, "a mesh"):
        for step in steps_apart("mmeval.decode.mesh:mesh_steps", media, data, limits, kind=kind, **options):
            return step
    raise CorruptMediaError(f"{media.label}: it holds no vertices")


def _from_step(step: Step) -> trimesh.Trimesh | trimesh.PointCloud:
    import numpy as np
    import trimesh

    points, faces, colours = (
        np.frombuffer(data, kind).reshape(-1, width).copy()
        for data, kind, width in zip(step.buffers, (np.float64, np.int64, np.uint8), (3, 3, 4), strict=True)
    )
    if not len(faces):
        cloud: trimesh.PointCloud = trimesh.PointCloud(points, colors=colours if len(colours) else None)
        return cloud
    per_vertex, per_face = (
        colours if len(colours) and step.facts["colours"] == of else None for of in ("vertex", "face")
    )
    return trimesh.Trimesh(points, faces, process=False, vertex_colors=per_vertex, face_colors=per_face)


def mesh_steps(
    media: Media, limits: DecodeLimits, *, kind: str, plain: bool = False, faces: bool = True
) -> Iterator[Step]:
    """One step: what the colours belong to, and the bytes of vertices, faces, colours.

    Runs in the decoding process. ``plain``: nothing merged, no colours; without ``faces``, the vertices alone.
    """
    import trimesh

    _import_readers()
    bare: Any = {"skip_materials": True} if kind in ("obj", "glb") else {}

    def build() -> Iterator[Step]:
        data = _with_wide_numbers(media.read()) if plain and kind == "ply" else media.read()
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, resolver={}, process=False, **bare)
        geometry = _one_geometry(media, scene, merged=not plain, faces=faces)
        within(media, "max_mesh_vertices", limits.max_mesh_vertices, len(geometry.vertices), "vertices")
        within(media, "max_mesh_faces", limits.max_mesh_faces, len(getattr(geometry, "faces", ())), "faces")
        yield _as_step(geometry, colours=not plain)

    return build()


def _with_wide_numbers(data: bytes) -> bytes:
    """A text PLY with its floats declared as doubles, so that all digits are read."""
    head, end, body = data.partition(b"end_header")
    if b"format ascii" not in head:
        return data
    return re.sub(rb"(?m)^(\s*property\s+)float(32)?(?=\s)", rb"\1double", head) + end + body


def _import_readers() -> None:
    """Import what trimesh imports when first used, so that no medium pays for it."""
    import trimesh

    square = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    for kind in ("ply", "obj", "off", "stl", "glb"):
        file: Any = square.export(file_type=kind)
        data = file.encode() if isinstance(file, str) else file
        trimesh.load_scene(io.BytesIO(data), file_type=kind).graph.nodes_geometry  # noqa: B018


def _as_step(geometry: Any, *, colours: bool) -> Step:
    import numpy as np

    faces = getattr(geometry, "faces", np.empty((0, 3)))
    of, shown = _colours_of(geometry) if colours else (None, np.empty((0, 4)))
    kept = ((geometry.vertices, np.float64), (faces, np.int64), (shown, np.uint8))
    return Step({"colours": of}, tuple(np.ascontiguousarray(array, kind).tobytes() for array, kind in kept))


def _colours_of(geometry: Any) -> tuple[str | None, Any]:
    """What the colours belong to, and one colour for each; empty without colours."""
    import numpy as np

    visual = getattr(geometry, "visual", None)
    has_faces = bool(len(getattr(geometry, "faces", ())))
    of = getattr(visual, "kind", None) if has_faces else "vertex"
    if of not in ("vertex", "face"):
        return of, np.empty((0, 4))
    found = getattr(visual, f"{of}_colors") if has_faces else geometry.colors
    return of, found if np.ndim(found) == 2 else np.empty((0, 4))


def _one_geometry(media: Media, scene: Any, *, merged: bool, faces: bool) -> trimesh.Trimesh | trimesh.PointCloud:
    import trimesh

    placed: list[Any] = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        placed.append(scene.geometry[name].copy())
        placed[-1].apply_transform(transform)
    solid = [item for item in placed if faces and isinstance(item, trimesh.Trimesh) and len(item.faces)]
    clouds = [item for item in placed if len(getattr(item, "vertices", ()))]
    if solid:
        return _solid(media, solid, merged=merged)
    if clouds:
        return _cloud(media, clouds)
    raise CorruptMediaError(f"{media.label}: it holds no vertices")


def _solid(media: Media, parts: Sequence[trimesh.Trimesh], *, merged: bool) -> trimesh.Trimesh:
    import trimesh

    for part in parts:
        _check_finite(media, part.vertices)
        if part.faces.min() < 0 or part.faces.max() >= len(part.vertices):
            raise CorruptMediaError(f"{media.label}: a face names a vertex that does not exist")
    whole: Any = parts[0] if len(parts) == 1 else trimesh.util.concatenate(parts)
    if merged:
        whole.merge_vertices()
    solid: trimesh.Trimesh = whole
    return solid


def _cloud(media: Media, parts: Sequence[Any]) -> trimesh.PointCloud:
    import numpy as np
    import trimesh

    whole = parts[0]
    if len(parts) > 1 or isinstance(whole, trimesh.Trimesh) or not hasattr(whole, "colors"):
        whole = trimesh.PointCloud(np.concatenate([part.vertices for part in parts]))
    _check_finite(media, whole.vertices)
    cloud: trimesh.PointCloud = whole
    return cloud


def _check_finite(media: Media, vertices: Any) -> None:
    import numpy as np

    if not np.isfinite(vertices).all():
        raise CorruptMediaError(f"{media.label}: some of its vertices are not numbers (NaN or infinite)")
