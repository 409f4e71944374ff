import struct
from typing import Any

import numpy as np
import pytest

from mmeval.errors import CorruptMediaError, UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

FLOAT, SHORT, UNSIGNED_SHORT, BYTE, UNSIGNED_BYTE = 5126, 5122, 5123, 5120, 5121
CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
STORED = {"bufferView": 0, "componentType": FLOAT, "count": 3, "type": "VEC3"}
DRACO = "KHR_draco_mesh_compression"
MESHOPT = "EXT_meshopt_compression"


def vertices(data: bytes, name: str = "") -> list[list[float]]:
    arrays = decode.raw_mesh_arrays(Media.from_bytes(data, name))
    rows: list[list[float]] = arrays.vertices.tolist()
    return rows


def faces(**changes: Any) -> list[list[int]]:
    arrays = decode.raw_mesh_arrays(Media.from_bytes(tiny.glb(**changes)))
    rows: list[list[int]] = arrays.faces.tolist()
    return rows


def primitive(**changes: Any) -> list[dict[str, Any]]:
    return [{"primitives": [{"attributes": {"POSITION": 0}, **changes}]}]


@pytest.mark.parametrize("name", ["a.gltf", ""], ids=["named", "by its content"])
def test_a_gltf_file_with_its_bytes_in_base64_is_read(name: str) -> None:
    assert vertices(tiny.gltf(), name) == CORNERS


def test_a_data_uri_without_base64_or_padding_is_read() -> None:
    blob = struct.pack("<9f", *np.ravel(CORNERS))
    escaped = "".join(f"%{byte:02x}" for byte in blob)
    assert vertices(tiny.gltf(uri=f"data:,{escaped}")) == CORNERS
    four = blob + bytes(1)
    assert vertices(tiny.gltf(blob=four).replace(b'=="', b'"')) == CORNERS


def test_a_buffer_in_another_file_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaError, match=r"another file .'cube\.bin'"):
        vertices(tiny.gltf(uri="cube.bin"))


@pytest.mark.parametrize("name", [DRACO, MESHOPT, "VENDOR_unknown"])
def test_a_required_extension_that_is_not_read_is_unsupported(name: str) -> None:
    accessors = [{"componentType": FLOAT, "count": 3, "type": "VEC3"}]
    for write in (tiny.glb, tiny.gltf):
        packed = write(extensionsRequired=[name], accessors=accessors)
        with pytest.raises(UnsupportedMediaError, match=name):
            vertices(packed)


@pytest.mark.parametrize(
    "name", ["KHR_materials_unlit", "KHR_texture_transform", "KHR_mesh_quantization"]
)
def test_a_required_extension_without_effect_on_geometry_is_read(name: str) -> None:
    assert vertices(tiny.glb(extensionsRequired=[name])) == CORNERS


def test_packed_numbers_without_a_plain_copy_are_unsupported() -> None:
    accessors = [{"componentType": FLOAT, "count": 3, "type": "VEC3"}]
    draco = tiny.glb(accessors=accessors, meshes=primitive(extensions={DRACO: {}}))
    view = {"buffer": 1, "byteLength": 36, "extensions": {MESHOPT: {"buffer": 0}}}
    meshopt = tiny.glb(
        bufferViews=[view], buffers=[{"byteLength": 36}, {"byteLength": 36}]
    )
    for data in (draco, meshopt):
        with pytest.raises(UnsupportedMediaError, match="export it without"):
            vertices(data)


def test_packed_numbers_with_a_plain_copy_are_read() -> None:
    assert vertices(tiny.glb(meshes=primitive(extensions={DRACO: {}}))) == CORNERS


@pytest.mark.parametrize(
    ("kind", "code", "highest"),
    [
        (SHORT, "h", 32767),
        (UNSIGNED_SHORT, "H", 65535),
        (BYTE, "b", 127),
        (UNSIGNED_BYTE, "B", 255),
    ],
)
def test_normalized_whole_numbers_are_scaled_and_others_are_not(
    kind: int, code: str, highest: int
) -> None:
    blob = struct.pack(f"<9{code}", *(np.ravel(CORNERS) * highest)).ljust(36, b"\0")
    accessor = {**STORED, "componentType": kind}
    scaled = tiny.glb(blob=blob, accessors=[{**accessor, "normalized": True}])
    assert vertices(scaled) == CORNERS
    stored = tiny.glb(blob=blob, accessors=[accessor])
    assert vertices(stored) == (np.array(CORNERS) * highest).tolist()


def test_the_lowest_normalized_number_is_minus_one() -> None:
    blob = struct.pack("<9b", *[-128] * 9).ljust(36, b"\0")
    accessor = {**STORED, "componentType": BYTE, "normalized": True}
    assert vertices(tiny.glb(blob=blob, accessors=[accessor])) == [[-1.0] * 3] * 3


def test_numbers_with_a_stride_and_an_offset_are_read() -> None:
    rows = [struct.pack("<3f4x", *corner) for corner in CORNERS]
    view = {"buffer": 0, "byteOffset": 4, "byteLength": 52, "byteStride": 16}
    data = tiny.glb(
        blob=bytes(8) + b"".join(rows),
        buffers=[{"byteLength": 56}],
        bufferViews=[view],
        accessors=[{**STORED, "byteOffset": 4}],
    )
    assert vertices(data) == CORNERS


def test_sparse_numbers_replace_some_of_the_stored_ones() -> None:
    blob = struct.pack("<9f", *np.ravel(CORNERS)) + struct.pack("<H2x3f", 1, 5, 6, 7)
    views = [
        {"buffer": 0, "byteLength": 36},
        {"buffer": 0, "byteOffset": 36, "byteLength": 2},
        {"buffer": 0, "byteOffset": 40, "byteLength": 12},
    ]
    sparse = {
        "count": 1,
        "indices": {"bufferView": 1, "componentType": UNSIGNED_SHORT},
        "values": {"bufferView": 2},
    }
    changes = {"blob": blob, "bufferViews": views, "buffers": [{"byteLength": 52}]}
    stored = tiny.glb(accessors=[{**STORED, "sparse": sparse}], **changes)
    assert vertices(stored) == [[0, 0, 0], [5, 6, 7], [0, 1, 0]]
    alone = {"componentType": FLOAT, "count": 3, "type": "VEC3", "sparse": sparse}
    zeros = tiny.glb(accessors=[alone], **changes)
    assert vertices(zeros) == [[0, 0, 0], [5, 6, 7], [0, 0, 0]]


def test_a_fan_is_read_as_triangles_around_its_first_corner() -> None:
    square = struct.pack("<12f", 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0)
    corners = struct.pack("<4H", 3, 0, 1, 2)
    changes: dict[str, Any] = {
        "blob": square + corners,
        "buffers": [{"byteLength": 56}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 8},
        ],
        "accessors": [
            {**STORED, "count": 4},
            {
                "bufferView": 1,
                "componentType": UNSIGNED_SHORT,
                "count": 4,
                "type": "SCALAR",
            },
        ],
    }
    assert faces(meshes=primitive(mode=6), **changes) == [[0, 1, 2], [0, 2, 3]]
    listed = primitive(mode=6, indices=1)
    assert faces(meshes=listed, **changes) == [[3, 0, 1], [3, 1, 2]]


def test_another_version_of_gltf_is_unsupported() -> None:
    old = tiny.gltf(asset={"version": "1.0"})
    new = tiny.gltf(asset={"version": "2.3", "minVersion": "2.3"})
    binary = b"glTF" + struct.pack("<II", 1, 20) + bytes(8)
    for data in (old, new, binary):
        with pytest.raises(UnsupportedMediaError, match=r"version 2\.0"):
            vertices(data)
    assert vertices(tiny.gltf(asset={"version": "2.3"})) == CORNERS


@pytest.mark.parametrize(
    "changes",
    [
        {"accessors": [{**STORED, "byteOffset": 4}]},
        {"accessors": [{**STORED, "byteOffset": -4}]},
        {"accessors": [{**STORED, "count": 2**62 + 1}]},
        {"bufferViews": [{"buffer": 0, "byteLength": 40}]},
        {"bufferViews": [{"buffer": 0, "byteLength": 36, "byteStride": 2**63}]},
        {"bufferViews": [{"buffer": 0, "byteLength": 36, "byteStride": -12}]},
        {"bufferViews": [{"buffer": 1, "byteLength": 36}]},
        {"accessors": [{**STORED, "type": "VEC2"}]},
        {"extensionsRequired": 7},
        {"asset": []},
    ],
    ids=str,
)
def test_numbers_outside_of_their_bytes_are_damage(changes: dict[str, Any]) -> None:
    for write in (tiny.glb, tiny.gltf):
        with pytest.raises(CorruptMediaError):
            vertices(write(**changes), "a.gltf")


def test_a_binary_file_that_is_cut_short_is_damage() -> None:
    with pytest.raises(CorruptMediaError, match="cut short"):
        vertices(tiny.glb()[:-4])
