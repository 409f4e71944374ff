"""Small media drawn, played and written from whole numbers, so that their bytes are the
same on every machine.

Clips are the exception: their bytes belong to the installed encoder, and their frames
are the same up to its loss.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from mmeval.system.extras import need

SIDE = 64
"""Pixels of a picture's and a clip's edge."""
SOUND_RATE = 8000
CLIP_FRAMES = 12
_WAV_HEADER = 44
"""Bytes before the samples of a sound."""

Painter: TypeAlias = Callable[[int, int], int]
"""The palette index of the pixel at (x, y), counted from the top left."""

WHITE, BLACK, RED, GREEN, BLUE, YELLOW = range(6)
PALETTE = (
    (255, 255, 255),
    (0, 0, 0),
    (208, 48, 48),
    (48, 160, 80),
    (48, 80, 208),
    (240, 200, 48),
)


def bars(*heights: int, colour: int = BLUE) -> Painter:
    """A bar chart; heights in 0 .. SIDE."""
    width = SIDE // len(heights)
    return lambda x, y: (
        colour
        if x % width > 1 and SIDE - y <= heights[min(x // width, len(heights) - 1)]
        else WHITE
    )


def disc(cx: int, cy: int, radius: int, colour: int) -> Painter:
    return lambda x, y: colour if (x - cx) ** 2 + (y - cy) ** 2 <= radius**2 else WHITE


def triangle(colour: int) -> Painter:
    return lambda x, y: (
        colour if abs(x - SIDE // 2) * 2 <= y - 8 and y < SIDE - 8 else WHITE
    )


def square(left: int, top: int, size: int, colour: int) -> Painter:
    return lambda x, y: (
        colour if left <= x < left + size and top <= y < top + size else WHITE
    )


def over(*painters: Painter) -> Painter:
    """The painters on top of each other, the first one topmost; white is
    transparent."""
    return lambda x, y: next(
        (index for paint in painters if (index := paint(x, y)) != WHITE), WHITE
    )


def png(paint: Painter, side: int = SIDE) -> bytes:
    """An RGB picture, ``side`` pixels on each side, which divide SIDE.
    Its data are stored, not compressed, since compressors differ in their bytes."""
    steps = range(0, SIDE, SIDE // side)
    rows = b"".join(
        b"\x00" + b"".join(bytes(PALETTE[paint(x, y)]) for x in steps) for y in steps
    )
    chunks = (
        _chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        _chunk(b"IDAT", _stored(rows)),
        _chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
    )


def _stored(data: bytes) -> bytes:
    """A zlib stream of one stored block; ``data`` must be shorter than 65,536 bytes."""
    block = struct.pack("<BHH", 1, len(data), len(data) ^ 0xFFFF) + data
    return b"\x78\x01" + block + struct.pack(">I", zlib.adler32(data))


# Sounds


def wav(*tones: tuple[int, int]) -> bytes:
    """Mono 16-bit sound of triangle waves: (frequency in Hz, milliseconds) each; 0 Hz
    is silence."""
    samples = [
        value
        for frequency, duration in tones
        for value in _triangle_wave(frequency, duration)
    ]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SOUND_RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return buffer.getvalue()


def _triangle_wave(frequency: int, milliseconds: int) -> list[int]:
    """Whole-number arithmetic: a sine would be rounded differently by other mathematics
    libraries."""
    count = SOUND_RATE * milliseconds // 1000
    if not frequency:
        return [0] * count
    phases = (
        position * frequency * 4096 // SOUND_RATE % 4096 for position in range(count)
    )
    return [8 * (phase - 1024 if phase < 2048 else 3072 - phase) for phase in phases]


def faded(sound: bytes, *, out: bool = False) -> bytes:
    """A sound whose loudness grows evenly from nothing, or falls to it."""
    head, data = sound[:_WAV_HEADER], sound[_WAV_HEADER:]
    samples = struct.unpack(f"<{len(data) // 2}h", data)
    count = len(samples)
    scaled = [
        value * (count - at if out else at) // count for at, value in enumerate(samples)
    ]
    return head + struct.pack(f"<{count}h", *scaled)


# Clips

_CODECS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "mp4": ("libx264", {"crf": "20"}),
    "webm": ("libvpx-vp9", {"crf": "20", "b:v": "0"}),
}


def clip(frames: Iterable[Painter], *, form: Literal["mp4", "webm"] = "mp4") -> bytes:
    """A silent clip, 12 frames a second."""
    codec, options = _CODECS[form]
    av, numpy = need("av", "video"), need("numpy", "video")
    buffer = io.BytesIO()
    with av.open(
        buffer, "w", format=form, options={"fflags": "+bitexact"}
    ) as container:
        stream = container.add_stream(codec, rate=Fraction(12))
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        stream.thread_count = 1
        stream.options = {"flags": "+bitexact", **options}
        palette = numpy.array(PALETTE, dtype=numpy.uint8)
        for paint in frames:
            pixels = palette[[[paint(x, y) for x in range(SIDE)] for y in range(SIDE)]]
            container.mux(
                stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24"))
            )
        container.mux(stream.encode())
    return buffer.getvalue()


def moving(shape: Callable[[int], Painter]) -> list[Painter]:
    """One painter a frame, from the shape's position in 0 .. SIDE."""
    return [shape(SIDE * number // CLIP_FRAMES) for number in range(CLIP_FRAMES)]


# Meshes, documents


def off(
    vertices: Sequence[tuple[int, int, int]], faces: Sequence[tuple[int, ...]]
) -> bytes:
    lines = ["OFF", f"{len(vertices)} {len(faces)} 0"]
    lines += [" ".join(map(str, vertex)) for vertex in vertices]
    lines += [" ".join(map(str, (len(face), *face))) for face in faces]
    return ("\n".join(lines) + "\n").encode()


def tetrahedron(size: int) -> bytes:
    points = [(0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size)]
    return off(points, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])


def octahedron(size: int) -> bytes:
    points = [
        (size, 0, 0),
        (-size, 0, 0),
        (0, size, 0),
        (0, -size, 0),
        (0, 0, size),
        (0, 0, -size),
    ]
    upper = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4)]
    return off(points, [*upper, *((b, a, 5) for a, b, _ in upper)])


def pdf(*lines: str) -> bytes:
    """One page of plain text; ASCII without brackets and backslashes."""
    shown = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
    stream = f"BT /F1 12 Tf 36 240 Td {shown} ET".encode("ascii")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 320 280] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        len(out),
    )
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + trailer
