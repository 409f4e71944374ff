"""Reads how large a mesh file declares itself, without building the mesh."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_HEADER_BYTES = 65536
_MOST_NODES = 8000
"""Of a scene: each takes a reader's time, however little it shows."""
_PLY_ELEMENT = re.compile(rb"^element\s+(vertex|face|tristrips)\s+([0-9]{1,18})\s*$", re.MULTILINE)
_OFF_COUNTS = re.compile(rb"[A-Za-z0-9]*?OFF\s*(?:BINARY\s*)?(?:#[^\n]*\n\s*)*([0-9]{1,18})\s+([0-9]{1,18})\b")


class MeshCounts(NamedTuple):
    """Vertices and faces that a file declares: at least those a reader makes room for."""

    vertices: int
    faces: int


def declared_counts(data: bytes, mime: str) -> MeshCounts:
    """The declared counts. Raises ValueError for no header, or more than bytes hold."""
    counts = _COUNTS[mime](data)
    # A vertex or a face takes at least one byte everywhere but in a scene that shows one mesh many times.
    if mime != "model/gltf-binary" and max(counts) > len(data):
        raise ValueError(f"{counts.vertices} vertices and {counts.faces} faces are declared in {len(data)} bytes")
    return counts


def _ply(data: bytes) -> MeshCounts:
    end = data.find(b"end_header", 0, _HEADER_BYTES)
    if end < 0:
        raise ValueError("its header does not end")
    declared = {name: int(count) for name, count in _PLY_ELEMENT.findall(data[:end].replace(b"\r", b"\n"))}
    return MeshCounts(declared.get(b"vertex", 0), declared.get(b"face", 0))


def _off(data: bytes) -> MeshCounts:
    found = _OFF_COUNTS.match(data[:_HEADER_BYTES].lstrip())
    if found is None:
        raise ValueError("its header has no counts")
    return MeshCounts(int(found[1]), int(found[2]))


def _stl(data: bytes) -> MeshCounts:
    if data.startswith(b"solid") and b"\0" not in data[:80]:
        faces = data.count(b"facet normal")
    else:
        faces = int.from_bytes(data[80:84], "little")
        if len(data) < 84 + 50 * faces:
            raise ValueError(f"{faces} faces are declared in {len(data)} bytes")
    return MeshCounts(3 * faces, faces)


def _glb(data: bytes) -> MeshCounts:
    tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    if any(not str(buffer.get("uri", "data:")).startswith("data:") for buffer in tree.get("buffers", ())):
        raise ValueError("its geometry is in another file, and references are not followed")
    sizes = [_mesh_counts(tree, mesh) for mesh in tree.get("meshes", ())]
    shown = [sizes[node["mesh"]] for node in _nodes(tree) if "mesh" in node]
    # What is read counts once for every accessor and primitive, what is shown once for every node that shows it.
    stored = sum(_whole(accessor["count"]) for accessor in tree.get("accessors", ()))
    return MeshCounts(
        max(sum(size.vertices for size in sizes), sum(size.vertices for size in shown), stored // 16),
        max(sum(size.faces for size in sizes), sum(size.faces for size in shown)),
    )


def _nodes(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The nodes of a scene. Raises ValueError unless they form trees, without circles."""
    nodes: list[Mapping[str, Any]] = tree.get("nodes", [])
    if max(len(nodes), len(tree.get("meshes", ()))) > _MOST_NODES:
        raise ValueError(f"it has more than {_MOST_NODES} nodes or meshes")
    children = [child for node in nodes for child in node.get("children", ())]
    roots = {root for scene in tree.get("scenes", ()) for root in scene.get("nodes", ())}
    if len(set(children)) != len(children) or roots & set(children):
        raise ValueError("its nodes do not form a tree")
    return nodes


def _mesh_counts(tree: Mapping[str, Any], mesh: Mapping[str, Any]) -> MeshCounts:
    vertices = faces = 0
    for primitive in mesh["primitives"]:
        points = _whole(tree["accessors"][primitive["attributes"]["POSITION"]]["count"])
        corners = _whole(tree["accessors"][primitive["indices"]]["count"]) if "indices" in primitive else points
        vertices, faces = vertices + points, faces + corners // 3
    return MeshCounts(vertices, faces)


def _whole(count: Any) -> int:
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"{str(count)[:40]!r} is no number of items")
    return count


_COUNTS: Mapping[str, Callable[[bytes], MeshCounts]] = {
    "model/ply": _ply,
    "model/off": _off,
    "model/obj": lambda data: MeshCounts(data.count(b"v "), data.count(b"f ")),
    "model/stl": _stl,
    "model/gltf-binary": _glb,
}
