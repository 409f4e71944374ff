"""Solids and clouds for tests, as arrays and as the bytes of files."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmeval.media import Interleaved, Media
from mmeval.records import Trial
from tests.support.trials import trial

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]
Mesh = tuple[Numbers, Indices]
LINE: Mesh = (
    np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0], [0, 1, 0]]),
    np.array([[0, 1, 2], [0, 2, 3]]),
)
"""Two faces, the first without an area."""
FAN = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]])
"""Three faces at one edge."""


def cube() -> Mesh:
    points = np.array(
        [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float
    )
    quads = [
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    ]
    return points, np.array(
        [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    )


def torus(rings: int = 24, sides: int = 12) -> Mesh:
    u, v = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    around, across = 2 * np.pi * u / rings, 2 * np.pi * v / sides
    far = 1 + 0.4 * np.cos(across)
    points = np.stack(
        [far * np.cos(around), far * np.sin(around), 0.4 * np.sin(across)], axis=-1
    ).reshape(-1, 3)
    a, b = (u * sides + v).ravel(), ((u + 1) % rings * sides + v).ravel()
    c = ((u + 1) % rings * sides + (v + 1) % sides).ravel()
    d = (u * sides + (v + 1) % sides).ravel()
    return points, np.concatenate(
        [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    )


def ball(steps: int = 3) -> Mesh:
    """A sphere of ``20 * 4 ** steps`` nearly equal faces: an icosahedron, each face cut
    into four some times."""
    gold = (1 + 5**0.5) / 2
    points = np.array(
        [
            np.roll((0, a, b * gold), turn)
            for turn in range(3)
            for a in (-1, 1)
            for b in (-1, 1)
        ],
        float,
    )
    pairs = np.linalg.norm(points[:, None] - points[None], axis=2) < 2.1
    faces = np.array(
        [
            (a, b, c) if np.linalg.det(points[[a, b, c]]) > 0 else (a, c, b)
            for a in range(12)
            for b in range(a)
            for c in range(b)
            if pairs[a, b] and pairs[b, c] and pairs[a, c]
        ]
    )
    for _ in range(steps):
        a, b, c = points[faces].transpose(1, 0, 2)
        cut = [
            (a, a + b, a + c),
            (b, b + c, a + b),
            (c, a + c, b + c),
            (a + b, b + c, a + c),
        ]
        rows = np.concatenate([np.stack(face, axis=1) for face in cut]).reshape(-1, 3)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        _, first, place = np.unique(
            np.round(rows, 9), axis=0, return_index=True, return_inverse=True
        )
        points, faces = rows[first], place.reshape(-1, 3)
    return points / np.linalg.norm(points, axis=1, keepdims=True), faces


def tetrahedra(*places: Sequence[float]) -> Mesh:
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(8)
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    return joined(*[(corners + np.array(place), faces) for place in places])


def joined(*meshes: Mesh) -> Mesh:
    starts = np.cumsum([0, *(len(points) for points, _ in meshes[:-1])])
    return (
        np.concatenate([points for points, _ in meshes]),
        np.concatenate(
            [faces + start for (_, faces), start in zip(meshes, starts, strict=True)]
        ),
    )


def sphere_cloud(count: int = 400) -> Numbers:
    points = np.random.default_rng(0).normal(size=(count, 3))
    found: Numbers = points / np.linalg.norm(points, axis=1, keepdims=True)
    return found


def plane_cloud() -> Numbers:
    x, y = np.meshgrid(np.arange(20), np.arange(20))
    flat = np.stack([x.ravel(), y.ravel()], axis=1) + np.random.default_rng(0).uniform(
        -0.1, 0.1, (400, 2)
    )
    return np.concatenate([flat, np.zeros((400, 1))], axis=1)


def turned(points: Numbers) -> Numbers:
    around, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
    found: Numbers = points @ (around * np.sign(np.linalg.det(around)))
    return found


def off(mesh: Mesh) -> bytes:
    points, faces = mesh
    lines = [
        f"OFF\n{len(points)} {len(faces)} 0",
        *_rows(points),
        *(f"3 {a} {b} {c}" for a, b, c in faces),
    ]
    return "\n".join([*lines, ""]).encode()


def obj(mesh: Mesh) -> bytes:
    points, faces = mesh
    lines = [
        *(f"v {row}" for row in _rows(points)),
        *(f"f {a} {b} {c}" for a, b, c in faces + 1),
    ]
    return "\n".join([*lines, ""]).encode()


def ply(points: Numbers, faces: Any = ()) -> bytes:
    head = [
        "ply",
        "format ascii 1.0",
        f"element vertex {len(points)}",
        *(f"property float {axis}" for axis in "xyz"),
    ]
    if len(faces):
        head += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
    return "\n".join(
        [
            *head,
            "end_header",
            *_rows(points),
            *(f"3 {a} {b} {c}" for a, b, c in faces),
            "",
        ]
    ).encode()


def _rows(points: Numbers) -> list[str]:
    return [" ".join(repr(float(number)) for number in row) for row in points]


def shown(*files: bytes) -> Trial:
    labels = [f"3d{number}" for number in range(1, len(files) + 1)]
    media = {
        label: Media.from_bytes(file)
        for label, file in zip(labels, files, strict=True)
        if file
    }
    return trial(
        Interleaved.from_text(" ".join(f"<{label}>" for label in labels), media)
    )
