from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.decode.mesh_header import MeshCounts, declared_counts
from tests.support import tiny_media as tiny


def counts(data: bytes) -> MeshCounts:
    return declared_counts(data, Media.from_bytes(data).mime)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (tiny.PLAIN_OBJ, (3, 1)),
        (tiny.PLAIN_OFF, (3, 1)),
        (tiny.PLAIN_PLY, (3, 1)),
        (tiny.CLOUD_PLY, (3, 0)),
        (tiny.PLAIN_STL, (3, 1)),
        (tiny.binary_stl(4), (12, 4)),
        (tiny.glb(), (3, 1)),
    ],
    ids=["obj", "off", "ply", "cloud", "stl", "binary stl", "glb"],
)
def test_a_mesh_declares_its_size(data: bytes, expected: tuple[int, int]) -> None:
    assert counts(data) == expected


def test_a_mesh_shown_many_times_counts_each_time() -> None:
    shown = tiny.glb(nodes=[{"mesh": 0}] * 1000, scenes=[{"nodes": list(range(1000))}])
    assert counts(shown) == (3000, 1000)


def test_a_primitive_drawn_many_times_counts_each_time() -> None:
    drawn = tiny.glb(meshes=[{"primitives": [{"attributes": {"POSITION": 0}}] * 50}])
    assert counts(drawn) == (150, 50)


def test_numbers_that_nothing_draws_still_take_room() -> None:
    spare = {"componentType": 5126, "count": 16_000_000, "type": "VEC3"}
    first = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
    assert counts(tiny.glb(accessors=[first, spare])).vertices >= 1_000_000


@pytest.mark.parametrize(
    ("data", "mime", "words"),
    [
        (b"OFF\n9999 1 0\n", "model/off", "declared in 13 bytes"),
        (b"OFF\n", "model/off", "no counts"),
        (b"ply\nformat ascii 1.0\nelement vertex 3\n", "model/ply", "does not end"),
        (tiny.binary_stl(2)[:-1], "model/stl", "2 faces are declared in 183 bytes"),
        (tiny.glb(nodes=[{"children": [1]}, {"children": [0]}]), "model/gltf-binary", "do not form a tree"),
        (tiny.glb(nodes=[{"children": [2]}, {"children": [2]}, {}]), "model/gltf-binary", "do not form a tree"),
        (tiny.glb(buffers=[{"uri": "http://127.0.0.1/a.bin"}]), "model/gltf-binary", "references are not followed"),
    ],
    ids=["too many", "no counts", "no end", "short", "circle", "two parents", "outside"],
)
def test_what_a_header_cannot_mean_is_refused(data: bytes, mime: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        declared_counts(data, mime)
