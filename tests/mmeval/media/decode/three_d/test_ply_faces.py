import struct

import pytest

from mmeval.errors import CorruptMediaError
from mmeval.media import decode
from mmeval.media.media import Media

CORNERS = struct.pack("<15f", 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.5, 2, 0)
QUAD = struct.pack("<B4i", 4, 0, 1, 2, 3)
TRIANGLE = struct.pack("<B3i", 3, 3, 2, 4)


def ply(faces: bytes, *, count: int = 2, more: str = "") -> Media:
    head = (
        "ply\nformat binary_little_endian 1.0\nelement vertex 5\nproperty float x\n"
        f"property float y\nproperty float z\nelement face {count}\n"
        f"property list uchar int vertex_indices\n{more}end_header\n"
    )
    return Media.from_bytes(head.encode() + CORNERS + faces)


def faces_of(media: Media) -> list[list[int]]:
    faces: list[list[int]] = decode.raw_mesh_arrays(media).faces.tolist()
    return faces


def test_faces_of_three_and_four_corners_in_one_binary_file_are_read() -> None:
    for faces in (QUAD + TRIANGLE, TRIANGLE + QUAD):
        read = faces_of(ply(faces))
        assert sorted(read) == [[0, 1, 2], [0, 2, 3], [3, 2, 4]]


def test_numbers_behind_the_corners_of_a_face_are_passed_over() -> None:
    mixed = ply(QUAD + b"\x07" + TRIANGLE + b"\x08", more="property uchar red\n")
    assert sorted(faces_of(mixed)) == [[0, 1, 2], [0, 2, 3], [3, 2, 4]]


def test_faces_of_one_size_are_read_as_they_are() -> None:
    assert faces_of(ply(TRIANGLE * 2)) == [[3, 2, 4]] * 2


def test_points_that_declare_no_face_are_read() -> None:
    assert len(decode.raw_mesh_arrays(ply(b"", count=0)).vertices) == 5


@pytest.mark.parametrize(
    "media",
    [
        ply(QUAD + TRIANGLE[:-1]),
        ply(QUAD + TRIANGLE, count=3),
        ply(QUAD + TRIANGLE, count=4_000_000_000),
        ply(b""),
        ply(QUAD + struct.pack("<B3i", 3, 3, 2, 9)),
    ],
    ids=["cut", "one less", "far less", "none", "a corner that is not there"],
)
def test_faces_that_are_cut_off_or_name_no_corner_are_damage(media: Media) -> None:
    with pytest.raises(CorruptMediaError):
        faces_of(media)
