"""Decodes meshes and point clouds, in the decoding process."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.errors import CorruptMediaError
from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.guard import decoding, not_read, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits, within
from mmeval.media.decode.memo import decoded_once
from mmeval.media.decode.three_d.gltf import plain_glb
from mmeval.media.decode.three_d.ply_faces import with_triangles
from mmeval.media.decode.three_d.texts import plain_obj, plain_off, plain_ply
from mmeval.media.media import Media

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MESH_TYPES = {
    "model/obj": "obj",
    "model/off": "off",
    "model/ply": "ply",
    "model/stl": "stl",
    "model/gltf-binary": "glb",
    "model/gltf+json": "gltf",
}
_FLOATS = re.compile(rb"(?m)^([^\S\n]*property\s+)float(32)?(?=\s)")


class MeshArrays(NamedTuple):
    """The coordinates of vertices (n x 3), and the vertex indices of faces (m x 3).

    ``faces`` is empty for a point cloud.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]


def mesh_arrays(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> MeshArrays:
    """Returns the geometry of an obj, off, ply, stl, glb or gltf file.

    If the file has no faces, the result is a point cloud.

    Materials, textures and colours are ignored, and references to other files are not
    followed. The parts of a scene are combined at their positions. Vertices at the same
    position are merged. The arrays are read-only. trimesh is not imported into this
    process.

    Raises the errors of this package. A file is unsupported if it requires features
    that mmeval does not read (compressed geometry, buffers in other files).
    """
    return _arrays(media, limits)


def _bytes_of(arrays: MeshArrays) -> int:
    return arrays.vertices.nbytes + arrays.faces.nbytes


@decoded_once(size=_bytes_of)
def raw_mesh_arrays(
    media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> MeshArrays:
    """Returns the geometry as it is in the file. No vertex is merged or left out.

    The parts of a scene are combined as in :func:`mesh_arrays`. Polygons are cut into
    triangles. The arrays are read-only, and they are decoded once. Raises the errors of
    this package.
    """
    return _arrays(media, limits, plain=True)


@decoded_once(size=_bytes_of)
def point_arrays(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> MeshArrays:
    """Returns the vertices of the file as a point cloud, without faces.

    The arrays are read-only.
    """
    return _arrays(media, limits, plain=True, with_faces=False)


def _arrays(media: Media, limits: DecodeLimits, **options: bool) -> MeshArrays:
    import numpy as np

    data = whole_bytes(media, limits)
    kind = _MESH_TYPES.get(media.mime)
    if kind is None:
        raise not_read(media, ["3d"], f"not one of {', '.join(_MESH_TYPES.values())}")
    with decoding(media, "a mesh"):
        for step in steps_apart(
            "mmeval.media.decode.mesh:mesh_steps",
            media,
            data,
            limits,
            kind=kind,
            **options,
        ):
            points, faces = step.buffers
            return MeshArrays(
                np.frombuffer(points, np.float64).reshape(-1, 3),
                np.frombuffer(faces, np.int64).reshape(-1, 3),
            )
    raise CorruptMediaError(f"{media.label}: it contains no vertices")


def mesh_steps(
    media: Media,
    limits: DecodeLimits,
    *,
    kind: str,
    plain: bool = False,
    with_faces: bool = True,
) -> Iterator[Step]:
    """Returns one step: the bytes of vertices and faces.

    Runs in the decoding process.

    With ``plain``, vertices are not merged. With ``with_faces``, faces are included.
    """
    import numpy as np
    import trimesh

    # trimesh imports modules on first use. Use it now, outside the limits of a step.
    triangle = trimesh.Trimesh(np.eye(3), [[0, 1, 2]])
    for file_kind in ("ply", "obj", "off", "stl", "glb"):
        file: Any = triangle.export(file_type=file_kind)
        data = file.encode() if isinstance(file, str) else file
        trimesh.load_scene(io.BytesIO(data), file_type=file_kind).graph.nodes_geometry  # noqa: B018
    file_type = "glb" if kind == "gltf" else kind
    load_options: Any = {"skip_materials": True} if file_type in ("obj", "glb") else {}

    def build() -> Iterator[Step]:
        data = _readable(media, kind, exact=plain)
        scene = trimesh.load_scene(
            io.BytesIO(data),
            file_type=file_type,
            resolver={},
            process=False,
            **load_options,
        )
        vertices, faces = _combined_geometry(
            media, scene, merged=not plain, with_faces=with_faces
        )
        most = limits.max_mesh_vertices
        within(media, "max_mesh_vertices", most, len(vertices), "vertices")
        within(media, "max_mesh_faces", limits.max_mesh_faces, len(faces), "faces")
        places = np.ascontiguousarray(vertices, np.float64)
        corners = np.ascontiguousarray(faces, np.int64)
        yield Step({}, (places.tobytes(), corners.tobytes()))

    return build()


def _readable(
    media: Media,
    kind: str,
    *,
    exact: bool,
) -> bytes:
    """Returns the file in a form that trimesh reads.

    With ``exact``, all digits of the numbers are kept.
    """
    data = media.read()
    if kind in ("glb", "gltf"):
        return plain_glb(media, data)
    if kind == "off":
        return plain_off(media, data)
    if kind == "obj":
        return plain_obj(data)
    if kind != "ply":
        return data
    data = with_triangles(plain_ply(data))
    head, end, body = data.partition(b"end_header")
    if not exact or b"format ascii" not in head:
        return data
    # trimesh reads all digits of a number only if it is declared as a double.
    return _FLOATS.sub(rb"\1double", head) + end + body


def _combined_geometry(
    media: Media, scene: Any, *, merged: bool, with_faces: bool
) -> tuple[Any, Any]:
    """Returns the vertices and faces of all parts of a scene.

    For a point cloud, the array of faces is empty.
    """
    import numpy as np
    import trimesh

    placed: list[Any] = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        placed.append(scene.geometry[name].copy())
        placed[-1].apply_transform(transform)
    solid: list[Any] = []
    if with_faces:
        meshes = [item for item in placed if isinstance(item, trimesh.Trimesh)]
        solid = [mesh for mesh in meshes if len(mesh.faces)]
    parts = solid or [item for item in placed if len(getattr(item, "vertices", ()))]
    if not parts:
        raise CorruptMediaError(f"{media.label}: it contains no vertices")
    for part in parts:
        if part.vertices.shape[1:] != (3,):
            raise CorruptMediaError(
                f"{media.label}: some vertices do not have three coordinates"
            )
        if not np.isfinite(part.vertices).all():
            raise CorruptMediaError(
                f"{media.label}: some of its vertices are not numbers (NaN or infinite)"
            )
    if not solid:
        points = np.concatenate([part.vertices for part in parts])
        return points, np.empty((0, 3))
    for part in solid:
        is_behind = part.faces.max() >= len(part.vertices)
        if is_behind or part.faces.min() < 0:
            raise CorruptMediaError(
                f"{media.label}: a face names a vertex that does not exist"
            )
    combined: Any = solid[0] if len(solid) == 1 else trimesh.util.concatenate(solid)
    if merged:
        combined.merge_vertices()
    return combined.vertices, combined.faces
