from __future__ import annotations

import struct

import pytest
import trimesh

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support import tiny_media as tiny


@pytest.mark.parametrize(
    "data",
    [tiny.PLAIN_OBJ, tiny.PLAIN_OFF, tiny.PLAIN_PLY, tiny.PLAIN_STL, tiny.binary_stl(), tiny.glb()],
    ids=["obj", "off", "ply", "stl", "binary stl", "glb"],
)
def test_a_mesh_of_every_format_is_decoded(data: bytes) -> None:
    mesh = decode.mesh(Media.from_bytes(data))
    assert isinstance(mesh, trimesh.Trimesh)
    assert (mesh.vertices.shape, mesh.faces.shape) == ((3, 3), (1, 3))


def test_points_without_faces_are_a_cloud() -> None:
    cloud = decode.mesh(Media.from_bytes(tiny.CLOUD_PLY))
    assert isinstance(cloud, trimesh.PointCloud)
    assert cloud.vertices.shape == (3, 3)


def test_the_parts_of_a_scene_stand_where_it_places_them() -> None:
    nodes = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    mesh = decode.mesh(Media.from_bytes(tiny.glb(nodes=nodes, scenes=[{"nodes": [0, 1]}])))
    assert mesh.bounds.tolist() == [[0, 0, 0], [6, 1, 0]]


def test_vertices_at_one_place_are_merged() -> None:
    assert decode.mesh(Media.from_bytes(tiny.binary_stl(4))).vertices.shape == (3, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"mtllib /etc/hostname\nusemtl a\n" + tiny.PLAIN_OBJ,
        tiny.PLAIN_PLY.replace(b"element vertex", b"comment TextureFile /etc/hostname\nelement vertex"),
        tiny.glb(images=[{"uri": "/etc/hostname"}]),
    ],
    ids=["obj", "ply", "glb"],
)
def test_materials_in_other_files_are_left_alone(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(decode.mesh(Media.from_bytes(data)), trimesh.Trimesh)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (tiny.glb(buffers=[{"byteLength": 36, "uri": "/etc/hostname"}]), "another file"),
        (tiny.glb(nodes=[{"mesh": 0, "children": [0]}]), "do not form a tree"),
        (tiny.glb(accessors=[{"componentType": 5126, "count": -4, "type": "VEC3"}]), "no number of items"),
        (tiny.glb(blob=struct.pack("<9f", *[float("nan")] * 9)), "not numbers"),
        (b"OFF\n999999999 5 0\n0 0 0\n", "are declared in 24 bytes"),
        (tiny.PLAIN_PLY.replace(b"vertex 3", b"vertex 99999999999"), "are declared in"),
        (tiny.PLAIN_OBJ.replace(b"f 1 2 3", b"f 1 2 9"), "index 8"),
        (tiny.PLAIN_OFF.replace(b"3 0 1 2", b"3 0 1 7"), "outside the range"),
    ],
    ids=["outside", "circle", "negative", "nan", "huge off", "huge ply", "obj face", "off face"],
)
def test_a_damaged_mesh_says_what_is_wrong(data: bytes, words: str) -> None:
    with pytest.raises(CorruptMediaError, match=words):
        decode.mesh(Media.from_bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        tiny.glb(accessors=[{"componentType": 5126, "count": 4_000_000_000, "type": "VEC3"}]),
        tiny.glb(nodes=[{"mesh": 0}] * 5, scenes=[{"nodes": [0, 1, 2, 3, 4]}]),
        tiny.binary_stl(5),
    ],
    ids=["declared", "instances", "triangles"],
)
def test_a_mesh_above_a_limit_is_refused_before_it_is_built(data: bytes) -> None:
    with pytest.raises(MediaLimitError, match="vertices found, above the limit max_mesh_vertices = 12"):
        decode.mesh(Media.from_bytes(data), limits=DecodeLimits(max_mesh_vertices=12))


@pytest.mark.parametrize(
    ("data", "vertices", "faces"),
    [
        (tiny.binary_stl(4), 12, 4),
        (tiny.PLAIN_OFF.replace(b"3 1 0", b"4 1 0").replace(b"0 1 0\n", b"0 1 0\n0 1 0\n"), 4, 1),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n", 4, 2),
        (tiny.PLAIN_PLY, 3, 1),
        (tiny.CLOUD_PLY, 3, 0),
    ],
    ids=["stl", "a vertex that no face names", "a polygon", "ply", "cloud"],
)
def test_raw_arrays_are_what_the_file_holds(data: bytes, vertices: int, faces: int) -> None:
    raw = decode.raw_mesh_arrays(Media.from_bytes(data))

    assert (raw.vertices.shape, raw.faces.shape) == ((vertices, 3), (faces, 3))


def test_points_alone_are_read_whatever_the_faces_name() -> None:
    broken = Media.from_bytes(tiny.PLAIN_PLY.replace(b"3 0 1 2", b"3 0 1 7"))

    assert decode.point_arrays(broken).vertices.shape == (3, 3)
    with pytest.raises(CorruptMediaError):
        decode.raw_mesh_arrays(broken)


def test_numbers_that_a_ply_file_writes_are_read_with_all_their_digits() -> None:
    media = Media.from_bytes(tiny.CLOUD_PLY.replace(b"1 0 0", b"0.123456789 0 0"))

    assert decode.raw_mesh_arrays(media).vertices[1, 0] == 0.123456789


def test_raw_arrays_are_decoded_once_and_cannot_be_changed() -> None:
    media = Media.from_bytes(tiny.PLAIN_OFF)
    raw = decode.raw_mesh_arrays(media)

    assert decode.raw_mesh_arrays(media) is raw
    assert not (raw.vertices.flags.writeable or raw.faces.flags.writeable)
