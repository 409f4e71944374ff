"""Hostile meshes."""

from __future__ import annotations

import struct
from typing import Any

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named


def cases() -> tuple[Hostile, ...]:
    makers: Makers = {
        "obj whose face names a vertex of a billion": lambda: tiny.PLAIN_OBJ + b"f 1 2 1000000000\n",
        "obj of a number of a million digits": lambda: tiny.PLAIN_OBJ + b"v " + b"9" * 1_000_000 + b" 0 0\n",
        "obj of a million faces of one vertex": lambda: tiny.PLAIN_OBJ + b"f 1 1 1\n" * 500_000,
        "obj of one face of a million vertices": lambda: tiny.PLAIN_OBJ + b"f" + b" 1" * 1_000_000,
        "obj of three million vertices": lambda: b"v 0 0 0\n" * 3_000_000,
        "off whose face is a million long": lambda: b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n1000000 0 1 2\n",
        "ply of a million lists": lambda: _ply_list(4_000_000_000),
        "ply of a thousand properties": lambda: tiny.PLAIN_PLY.replace(
            b"property float z\n", b"property float z\n" + b"".join(b"property float p%d\n" % i for i in range(5000))
        ),
        "ply of a million elements": lambda: tiny.PLAIN_PLY.replace(
            b"element face", b"element a 0\n" * 3000 + b"element face"
        ),
        "ply without an end": lambda: b"ply\nformat ascii 1.0\n" + b"comment a\n" * 500_000,
        "stl of a million solids": lambda: b"solid a\nfacet normal 0 0 1\nendsolid a\n" * 200_000,
        "glb whose chunk is larger than it": lambda: _head(0x7FFFFFF0),
        "glb that says four gigabytes": lambda: b"glTF\x02\0\0\0\xff\xff\xff\xff" + tiny.glb()[12:],
        "glb that reads behind its end": lambda: tiny.glb(accessors=[_accessor(count=100_000)]),
        "glb with a stride of a billion": lambda: tiny.glb(
            bufferViews=[{"buffer": 0, "byteLength": 36, "byteStride": 1_000_000_000}]
        ),
        "glb of sparse vertices without end": lambda: tiny.glb(accessors=[_sparse(1_900_000)]),
        "glb that shows one mesh a million times": lambda: _shown(300_000),
        "glb that shows a large mesh often": _shown_large,
        "glb of transforms that are none": lambda: tiny.glb(nodes=[{"mesh": 0, "matrix": [1e308] * 16}]),
        "glb whose json is a bomb of arrays": lambda: _json(b"[" * 3_000_000),
        "glb whose json is no object": lambda: _json(b"[1, 2, 3]"),
        "glb whose json is of wrong types": lambda: tiny.glb(meshes={"a": "b"}, nodes="none"),
        "glb of eight thousand parts of one name": lambda: _parts(7900),
        "glb of sixty thousand attributes": lambda: tiny.glb(
            meshes=[{"primitives": [{"attributes": {"POSITION": 0, **{f"_A{i}": 0 for i in range(60_000)}}}]}]
        ),
        "obj of a line that goes on and on": lambda: tiny.PLAIN_OBJ + b"f 1 \\\n" * 600_000,
        "obj of faces of all lengths": lambda: (
            tiny.PLAIN_OBJ + b"".join(b"f" + b" 1" * length + b"\n" for length in range(3, 1900))
        ),
    }
    return named("mesh", ("mesh",), makers)


def _ply_list(count: int) -> bytes:
    head = b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
    head += b"property float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n"
    return head + bytes(12) + struct.pack("<I", count) + bytes(12)


def _head(size: int) -> bytes:
    data = tiny.glb()
    return data[:12] + struct.pack("<I", size) + data[16:]


def _accessor(**changes: Any) -> dict[str, Any]:
    return {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", **changes}


def _sparse(count: int) -> dict[str, Any]:
    return {"componentType": 5126, "count": count, "type": "MAT4"}


def _json(words: bytes) -> bytes:
    words += b" " * (-len(words) % 4)
    return b"glTF" + struct.pack("<IIII", 2, 20 + len(words), len(words), 0x4E4F534A) + words


def _shown(count: int) -> bytes:
    return tiny.glb(nodes=[{"mesh": 0}] * count, scenes=[{"nodes": list(range(count))}])


def _shown_large() -> bytes:
    """1.9 million vertices in 40 kilobytes: a mesh of 3,000 shown 630 times."""
    blob = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) * 1000
    return tiny.glb(
        blob=blob,
        buffers=[{"byteLength": len(blob)}],
        bufferViews=[{"buffer": 0, "byteLength": len(blob)}],
        accessors=[_accessor(count=3000)],
        nodes=[{"mesh": 0, "translation": [i, 0, 0]} for i in range(630)],
        scenes=[{"nodes": list(range(630))}],
    )


def _parts(count: int) -> bytes:
    one = {"name": "a", "primitives": [{"attributes": {"POSITION": 0}}]}
    nodes = [{"mesh": number, "name": "a"} for number in range(count)]
    return tiny.glb(meshes=[one] * count, nodes=nodes, scenes=[{"nodes": list(range(count))}])
