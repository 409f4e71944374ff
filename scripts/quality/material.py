"""The media for the study of quality: a picture, a sound, a mesh and a point cloud,
made from seeds.

The picture is of overlapping discs whose sizes follow a power law, and so does their
grain: such pictures have the statistics of natural scenes.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image

from mmeval.content.encode import wav
from mmeval.content.media import Media

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pixels = NDArray[np.uint8]
    Samples = NDArray[np.float32]
    Faces = NDArray[np.int64]

SIDE = 384
"""Pixels of the picture, each way."""
GROUND, DISCS, SMALLEST, LARGEST = 300, 3000, 3.0, 90.0
"""How many discs of the largest size cover the ground, how many lie on them, and their
radii in pixels."""
TEXTURE, FALL = 30.0, 1.2
"""How strong the grain of all surfaces is, in grey levels, and the power by which it
falls with frequency."""
RATE, SECONDS = 48_000, 4.0
NOTES = (220.0, 277.18, 329.63, 440.0, 329.63, 277.18, 246.94, 220.0)
"""Hz, one after the other."""
HARMONICS = 8
RING, TUBE = (64, 32), (1.0, 0.4)
"""The torus: points along its ring and its tube, and the radii of both."""
POINTS = 2000


class Mesh(NamedTuple):
    """Places of vertices (n x 3), and of each face those of its three (m x 3)."""

    vertices: Floats
    faces: Faces


def picture(seed: int = 7) -> Pixels:
    """RGB of SIDE x SIDE: discs in front of each other, a little out of focus, with a
    grain on all."""
    rng = np.random.default_rng(seed)
    drawn = (SMALLEST**-2 + rng.random(DISCS) * (LARGEST**-2 - SMALLEST**-2)) ** -0.5
    radii = np.concatenate([np.full(GROUND, LARGEST), drawn])
    centres = rng.random((len(radii), 2)) * (SIDE + LARGEST) - LARGEST / 2
    colours = np.clip(
        rng.normal(120, 50, (len(radii), 1)) + rng.normal(0, 18, (len(radii), 3)),
        0,
        255,
    )
    canvas = np.zeros((SIDE, SIDE, 3))
    for (y, x), radius, colour in zip(centres, radii, colours, strict=True):
        rows, columns = (
            slice(max(0, int(at - radius)), max(0, int(at + radius) + 1))
            for at in (y, x)
        )
        down, across = np.ogrid[0:SIDE, 0:SIDE]
        dy, dx = down[rows] - y, across[:, columns] - x
        inside = dy**2 + dx**2 <= radius**2
        shade = 1 + 0.25 * (dx + dy) / (2 * radius)
        canvas[rows, columns][inside] = (colour * shade[..., None])[inside]
    seen = blurred(canvas, 0.7) + grain(rng)[..., None]
    return np.asarray(np.clip(np.rint(seen), 0, 255), np.uint8)


def grain(rng: np.random.Generator) -> Floats:
    """Random waves of SIDE x SIDE pixels whose amplitude falls with their frequency, as
    in pictures of nature."""
    hertz = np.fft.fftfreq(SIDE)
    away = np.hypot(hertz[:, None], hertz)
    away[0, 0] = np.inf
    waves = np.fft.ifft2(np.fft.fft2(rng.normal(size=away.shape)) / away**FALL).real
    return np.asarray(waves * (TEXTURE / waves.std()))


def blurred(canvas: NDArray[Any], sigma: float) -> Floats:
    """Each channel smoothed by a Gaussian of so many pixels; at 0 as it is."""
    from scipy.ndimage import gaussian_filter

    return np.asarray(
        gaussian_filter(
            np.asarray(canvas, np.float64), (sigma, sigma, 0), mode="reflect"
        )
    )


def sound() -> Samples:
    """Half a second each of eight plucked notes at RATE, about as loud as speech on the
    radio."""
    t = np.arange(int(SECONDS * RATE / len(NOTES))) / RATE
    envelope = np.minimum(t / 0.01, 1) * np.exp(-4 * t)
    notes = [
        envelope
        * sum(
            np.sin(2 * np.pi * hertz * k * t) / k**1.5 for k in range(1, HARMONICS + 1)
        )
        for hertz in NOTES
    ]
    return np.asarray(0.25 * np.concatenate(notes), np.float32)


def torus() -> Mesh:
    """A closed ring of even triangles."""
    around, along = (np.arange(n) * 2 * np.pi / n for n in RING)
    u, v = (part.ravel() for part in np.meshgrid(around, along, indexing="ij"))
    far = TUBE[0] + TUBE[1] * np.cos(v)
    vertices = np.stack([far * np.cos(u), far * np.sin(u), TUBE[1] * np.sin(v)], 1)
    i, j = (
        part.ravel()
        for part in np.meshgrid(np.arange(RING[0]), np.arange(RING[1]), indexing="ij")
    )
    corners = [
        ((i + a) % RING[0]) * RING[1] + (j + b) % RING[1]
        for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))
    ]
    a, b, c, d = corners
    return Mesh(
        vertices,
        np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(
            np.int64
        ),
    )


def cloud(seed: int = 7) -> Floats:
    """POINTS points (n x 3) on the surface of the same ring, spread evenly over its
    angles."""
    u, v = np.random.default_rng(seed).random((2, POINTS)) * 2 * np.pi
    far = TUBE[0] + TUBE[1] * np.cos(v)
    return np.stack([far * np.cos(u), far * np.sin(u), TUBE[1] * np.sin(v)], 1)


def picture_file(pixels: Pixels, *, jpeg_quality: int = 0) -> Media:
    """The picture as PNG, or as JPEG of a quality from 1 to 95."""
    image = Image.fromarray(pixels)
    file = io.BytesIO()
    if jpeg_quality:
        image.save(file, "JPEG", quality=jpeg_quality)
    else:
        image.save(file, "PNG")
    return Media.from_bytes(file.getvalue())


def sound_file(samples: Samples) -> Media:
    return wav(samples, RATE)


def mesh_file(mesh: Mesh) -> Media:
    """The mesh as OFF."""
    rows = [" ".join(f"{value:.9g}" for value in vertex) for vertex in mesh.vertices]
    rows += [f"3 {a} {b} {c}" for a, b, c in mesh.faces]
    return Media.from_bytes(
        "\n".join(
            ["OFF", f"{len(mesh.vertices)} {len(mesh.faces)} 0", *rows, ""]
        ).encode()
    )


def cloud_file(points: Floats) -> Media:
    """The points as PLY."""
    head = ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
    head += [f"property float {axis}" for axis in "xyz"]
    rows = [" ".join(f"{value:.9g}" for value in point) for point in points]
    return Media.from_bytes("\n".join([*head, "end_header", *rows, ""]).encode())
