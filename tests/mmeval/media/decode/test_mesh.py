import struct

import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

FORMATS = (
    tiny.PLAIN_OBJ,
    tiny.PLAIN_OFF,
    tiny.PLAIN_PLY,
    tiny.PLAIN_STL,
    tiny.binary_stl(),
    tiny.glb(),
)


def shape(data: bytes) -> tuple[int, int]:
    arrays = decode.mesh_arrays(Media.from_bytes(data))
    return len(arrays.vertices), len(arrays.faces)


def test_a_mesh_of_every_format_is_decoded_and_the_parts_of_a_scene_stand_where_it_places_them() -> (
    None
):
    assert [shape(data) for data in FORMATS] == [(3, 1)] * len(FORMATS)
    assert (shape(tiny.CLOUD_PLY), shape(tiny.binary_stl(4))[0]) == ((3, 0), 3)
    nodes = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    vertices = decode.mesh_arrays(
        Media.from_bytes(tiny.glb(nodes=nodes, scenes=[{"nodes": [0, 1]}]))
    ).vertices
    assert (vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()) == (
        [0, 0, 0],
        [6, 1, 0],
    )


def test_materials_in_other_files_are_left_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    textured = tiny.PLAIN_PLY.replace(
        b"element vertex", b"comment TextureFile /etc/hostname\nelement vertex"
    )
    library = b"mtllib /etc/hostname\nusemtl a\n" + tiny.PLAIN_OBJ
    for data in (library, textured, tiny.glb(images=[{"uri": "/etc/hostname"}])):
        assert shape(data) == (3, 1)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            tiny.glb(accessors=[{"componentType": 5126, "count": -4, "type": "VEC3"}]),
            "negative",
        ),
        (tiny.glb(blob=struct.pack("<9f", *[float("nan")] * 9)), "not numbers"),
        (tiny.CLOUD_PLY.replace(b"1 0 0\n", b"nan 0 0\n"), "not numbers"),
        (b"OFF\n4000000000 1 0\n0 0 0\n", "4000000000"),
        (tiny.PLAIN_OFF.replace(b"3 0 1 2", b"3 0 1 7"), "outside the range"),
        (b"v 1 1 1\n" + b"v 1 1\n" * 3 + b"f 1 2 4\n", "three coordinates"),
        *(
            (tiny.PLAIN_PLY.replace(b"3 0 1 2", b"3 0 1 %d" % index), "a vertex")
            for index in (3, -1)
        ),
        (tiny.CLOUD_PLY.replace(b"vertex 3", b"vertex 0"), "vertices|decoded"),
    ],
)
def test_a_damaged_mesh_says_what_is_wrong(data: bytes, words: str) -> None:
    for decoder in (decode.mesh_arrays, decode.raw_mesh_arrays):
        with pytest.raises(CorruptMediaError, match=words):
            decoder(Media.from_bytes(data))


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (
            tiny.glb(
                accessors=[
                    {"componentType": 5126, "count": 4_000_000_000, "type": "VEC3"}
                ]
            ),
            "memory",
        ),
        (
            tiny.glb(nodes=[{"mesh": 0}] * 5, scenes=[{"nodes": [0, 1, 2, 3, 4]}]),
            "faces = 4",
        ),
        (
            tiny.CLOUD_PLY.replace(b"vertex 3", b"vertex 13") + b"1 2 3\n" * 10,
            "vertices = 12",
        ),
        (tiny.PLAIN_OBJ + b"f 1 2 3\n" * 4, "faces = 4"),
    ],
    ids=["declared", "instances", "vertices", "faces"],
)
def test_a_mesh_above_a_limit_is_refused(data: bytes, limit: str) -> None:
    limits = DecodeLimits(max_mesh_vertices=12, max_mesh_faces=4)
    assert (
        len(
            decode.mesh_arrays(
                Media.from_bytes(tiny.binary_stl(4)), limits=limits
            ).vertices
        )
        == 3
    )
    with pytest.raises(MediaLimitError, match=limit):
        decode.mesh_arrays(Media.from_bytes(data), limits=limits)


@pytest.mark.parametrize(
    ("data", "vertices", "faces"),
    [
        (tiny.binary_stl(4), 12, 4),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n", 4, 2),
        (
            tiny.PLAIN_OFF.replace(b"3 1 0", b"4 1 0").replace(
                b"0 1 0\n", b"0 1 0\n0 1 0\n"
            ),
            4,
            1,
        ),
        (tiny.PLAIN_PLY, 3, 1),
        (tiny.CLOUD_PLY, 3, 0),
    ],
    ids=["stl", "a polygon", "a vertex without a face", "ply", "cloud"],
)
def test_raw_arrays_are_what_the_file_holds_read_only_and_decoded_once(
    data: bytes, vertices: int, faces: int
) -> None:
    media = Media.from_bytes(data)
    raw = decode.raw_mesh_arrays(media)
    assert (raw.vertices.shape, raw.faces.shape) == ((vertices, 3), (faces, 3))
    assert decode.raw_mesh_arrays(media) is raw
    assert not (raw.vertices.flags.writeable or raw.faces.flags.writeable)


def test_points_alone_are_read_with_all_their_digits_whatever_the_faces_name() -> None:
    broken = Media.from_bytes(
        tiny.PLAIN_PLY.replace(b"3 0 1 2", b"3 0 1 7").replace(
            b"1 0 0", b"0.123456789 0 0"
        )
    )
    vertices = decode.point_arrays(broken).vertices
    assert (vertices.shape, vertices[1, 0]) == ((3, 3), 0.123456789)
    with pytest.raises(CorruptMediaError):
        decode.raw_mesh_arrays(broken)
