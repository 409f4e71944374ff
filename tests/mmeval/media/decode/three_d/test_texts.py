import pytest

from mmeval.errors import UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

BINARY = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty uchar x\n"
    b"property uchar y\nproperty uchar z\nend_header\n"
)


def vertices(data: bytes) -> list[list[float]]:
    media = Media.from_bytes(data)
    rows: list[list[float]] = decode.raw_mesh_arrays(media).vertices.tolist()
    return rows


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"ply\n", b"ply\nobj_info made here\n"),
        (b"ply\n", b"ply\ncomment a\nobj_info b\n\ncomment c\n"),
        (b"end_header\n", b"obj_info end_header\nend_header\n"),
        (b"0 0 0\n", b"\n0 0 0\n\n"),
        (b"\n", b"\r\n"),
        (b"\n", b"\r"),
    ],
    ids=["info first", "remarks first", "the end named", "blanks", "crlf", "cr"],
)
def test_remarks_and_line_ends_of_a_ply_change_nothing(old: bytes, new: bytes) -> None:
    assert vertices(tiny.PLAIN_PLY.replace(old, new)) == vertices(tiny.PLAIN_PLY)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_bytes_after_the_header_of_a_ply_are_kept(end: bytes) -> None:
    header = BINARY.replace(b"ply\n", b"ply\nobj_info a\n").replace(b"\n", end)
    assert vertices(header + b"\n\r\t") == [[10, 13, 9]]


@pytest.mark.parametrize(
    "start",
    [
        b"\n \nOFF\n3 1 0\n",
        b"# made\n\n# here\nOFF \n\n 3\t1  0\n\n",
        b"OFF # a\n3 1 0 # b\n# c\n",
        b"\xef\xbb\xbfOFF\r\n3 1 0\r\n",
        b"OFF3 1 0\n",
        b"OFF 3 1\n",
        b"OFF\n3\n1\n0\n",
    ],
)
def test_blanks_and_comments_of_an_off_change_nothing(start: bytes) -> None:
    data = tiny.PLAIN_OFF.replace(b"OFF\n3 1 0\n", start)
    arrays = decode.raw_mesh_arrays(Media.from_bytes(data))
    assert arrays.vertices.tolist() == vertices(tiny.PLAIN_OFF)
    assert arrays.faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"v ", b" \tv "),
        (b"0\n", b"0 # a corner\n"),
        (b"f ", b"  f "),
        (b"\n", b"\n\n# made\n"),
        (b"\n", b"\r"),
    ],
    ids=["indented", "comments behind", "indented face", "comments between", "cr"],
)
def test_blanks_and_comments_of_an_obj_change_nothing(old: bytes, new: bytes) -> None:
    data = tiny.PLAIN_OBJ.replace(old, new)
    arrays = decode.raw_mesh_arrays(Media.from_bytes(data))
    assert arrays.vertices.tolist() == vertices(tiny.PLAIN_OBJ)
    assert arrays.faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("line", [b"# caf\xe9", b"o caf\xe9", b"g stra\xdfe"])
def test_an_obj_with_a_name_in_another_encoding_than_utf_8_is_read(
    line: bytes,
) -> None:
    media = Media.from_bytes(line + b"\n" + tiny.PLAIN_OBJ)
    assert decode.raw_mesh_arrays(media).faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("keyword", [b"4OFF", b"nOFF\n4", b"OFF BINARY"])
def test_an_off_of_other_coordinates_or_bytes_is_unsupported(keyword: bytes) -> None:
    with pytest.raises(UnsupportedMediaError, match="OFF"):
        vertices(tiny.PLAIN_OFF.replace(b"OFF", keyword))
