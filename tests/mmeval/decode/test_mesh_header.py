import pytest

from mmeval.content.media import Media
from mmeval.decode.mesh_header import declared_counts
from tests.support import tiny_media as tiny

POINTS = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
DRAWN = {"primitives": [{"attributes": {"POSITION": 0}}]}
GLB = "model/gltf-binary"


INDEXED = [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}]
DECLARED = {
    **{"obj": (tiny.PLAIN_OBJ, (3, 1)), "off": (tiny.PLAIN_OFF, (3, 1)), "ply": (tiny.PLAIN_PLY, (3, 1))},
    **{"cloud": (tiny.CLOUD_PLY, (3, 0)), "stl": (tiny.PLAIN_STL, (3, 1)), "binary stl": (tiny.binary_stl(4), (12, 4))},
    "often": (tiny.glb(nodes=[{"mesh": 0}] * 1000, scenes=[{"nodes": list(range(1000))}]), (3000, 1000)),
    "primitives": (tiny.glb(meshes=[{"primitives": DRAWN["primitives"] * 50}]), (150, 50)),
    "not drawn": (tiny.glb(accessors=[POINTS, {**POINTS, "count": 16_000_000 - 3}]), (1_000_000, 1)),
    "indices": (tiny.glb(accessors=[POINTS, {**POINTS, "count": 9}], meshes=INDEXED), (3, 3)),
    "8000 nodes": (tiny.glb(nodes=[{}] * 7999 + [{"mesh": 0}]), (3, 1)),
}


@pytest.mark.parametrize(("data", "expected"), DECLARED.values(), ids=DECLARED)
def test_a_mesh_declares_its_size(data: bytes, expected: tuple[int, int]) -> None:
    assert declared_counts(data, Media.from_bytes(data).mime) == expected


@pytest.mark.parametrize(
    ("data", "mime", "words"),
    [
        (b"OFF\n9999 1 0\n", "model/off", "in 13 bytes"),
        (b"OFF\n1 14 0\n", "model/off", "in 11 bytes"),
        (b"OFF\n", "model/off", "no counts"),
        (b"ply\nformat ascii 1.0\nelement vertex 3\n", "model/ply", "does not end"),
        (tiny.binary_stl(2)[:-1], "model/stl", "in 183 bytes"),
        (tiny.glb(nodes=[{"children": [1]}, {"children": [0]}]), GLB, "a tree"),
        (tiny.glb(nodes=[{"children": [2]}, {"children": [2]}, {}]), GLB, "a tree"),
        (tiny.glb(nodes=[{}] * 8001), GLB, "8000"),
        (tiny.glb(meshes=[DRAWN] * 8001), GLB, "8000"),
        *((tiny.glb(accessors=[{**POINTS, "count": count}]), GLB, f"'{count}'") for count in (-1, "9")),
        (tiny.glb(buffers=[{"uri": "http://127.0.0.1/a.bin"}]), GLB, "another file"),
    ],
)
def test_what_a_header_cannot_mean_is_refused(data: bytes, mime: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        declared_counts(data, mime)
