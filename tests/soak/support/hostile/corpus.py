"""Hostile media, made by code: files of a few bytes that would cost hours or gigabytes,
or name files of the machine.

Files that lie about a number are made by ``tests.soak.support.hostile.mutation``, out of
valid ones."""

import base64
import io
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tests.support import tiny_media as tiny

Makers = Mapping[str, Callable[[], bytes]]
"""What makes the bytes of each file, by its name."""
_LARGE = 300_000_000


class Hostile(NamedTuple):
    """``openers`` name the decoders that it is put to
    (``tests.soak.support.hostile.opening``)."""

    name: str
    openers: tuple[str, ...]
    make: Callable[[], bytes]


def corpus() -> list[Hostile]:
    """All files, each with a name of its own."""
    parts: Iterable[tuple[str, tuple[str, ...], Makers]] = (
        ("picture", ("image",), _PICTURES),
        ("drawing", ("image",), _DRAWINGS),
        ("sound", ("audio",), _SOUNDS),
        ("video", ("video", "video_info", "audio"), _VIDEOS),
        ("document", ("pages", "document_text"), _DOCUMENTS),
        ("mesh", ("mesh",), _MESHES),
    )
    return [
        Hostile(f"{kind}: {name}", to, make)
        for kind, to, makers in parts
        for name, make in makers.items()
    ]


# Pictures

_IHDR = b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
_TEXT = zlib.compress(bytes(1_000_000))
_PIXELS = b"IDAT", zlib.compress((b"\0" + bytes(24)) * 8)


def _chunks(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*chunks, (b"IEND", b""))
    )


def _bomb() -> bytes:
    return zlib.compress(bytes(50_000_000), 9)


def _png(colour: int, *, depth: int = 8, interlaced: int = 0) -> Callable[[], bytes]:
    """A whole picture of 8K in which nothing is to be seen."""

    def make() -> bytes:
        samples, packer = {0: 1, 2: 3, 6: 4}[colour], zlib.compressobj(9)
        row = bytes(1 + 7680 * samples * depth // 8)
        data = (
            b"".join(packer.compress(row) for _ in range(4320 + 4320 * interlaced))
            + packer.flush()
        )
        header = struct.pack(">IIBBBBB", 7680, 4320, depth, colour, 0, 0, interlaced)
        return _chunks((b"IHDR", header), (b"IDAT", data))

    return make


def _frames(count: int, bombs: int = 0) -> bytes:
    size = (8, 8, 0, 0, 1, 10, 0, 0)
    frames = [(b"fcTL", struct.pack(">IIIIIHHBB", 0, *size))] * count + [_PIXELS]
    for number in range(1, 2 * bombs, 2):
        frames += [(b"fcTL", struct.pack(">IIIIIHHBB", number, *size))]
        frames += [(b"fdAT", struct.pack(">I", number + 1) + _bomb())]
    return _chunks(_IHDR, (b"acTL", struct.pack(">II", count + bombs, 0)), *frames)


def _scans(side: int, scan: bytes, count: int, **options: str) -> bytes:
    data = tiny.picture("JPEG", size=(side, side), progressive=True, **options)
    return data[:-2] + (scan or data[data.rindex(b"\xff\xda") : -2]) * count + data[-2:]


def _gif(side: int, frames: int) -> bytes:
    head = (
        b"GIF89a"
        + struct.pack("<HHBBB", side, side, 0x80, 0, 0)
        + b"\0\0\0\xff\xff\xff"
    )
    return (
        head
        + (b"," + struct.pack("<HHHHB", 0, 0, 8, 4, 0) + b"\x02\x02\x44\x01\0") * frames
        + b";"
    )


def _tiff(
    side: int,
    *tags: tuple[int, int, int, int],
    tail: bytes = bytes(32),
    following: int = 0,
) -> bytes:
    usual = (
        (0x0102, 3, 1, 8),
        (0x0103, 3, 1, 1),
        (0x0106, 3, 1, 1),
        (0x0111, 4, 1, 200),
        (0x0117, 4, 1, 32),
    )
    sizes = ((0x0100, 4, 1, side), (0x0101, 4, 1, side), (0x0116, 4, 1, side))
    entries = {tag: rest for tag, *rest in (*usual, *sizes, *tags)}
    body = b"".join(
        struct.pack("<HHII", tag, *rest) for tag, rest in sorted(entries.items())
    )
    return (
        b"II*\0"
        + struct.pack("<IH", 8, len(entries))
        + body
        + struct.pack("<I", following)
    ).ljust(200) + tail


_TIFF_PIXELS = zlib.compress(bytes(5000 * 5000 * 2), 9)
_PICTURES: Makers = {
    "png of 8K in sixteen bits": _png(0, depth=16),
    "png of 8K, interlaced": _png(2, interlaced=1),
    "png, small, with a bomb of pixels": lambda: _chunks(_IHDR, (b"IDAT", _bomb())),
    "png with a bomb in its text": lambda: _chunks(
        _IHDR, (b"zTXt", b"a\0\0" + _bomb()), _PIXELS
    ),
    "png with a thousand texts": lambda: _chunks(
        _IHDR, *[(b"zTXt", b"a\0\0" + _TEXT)] * 1000, _PIXELS
    ),
    "png whose frames are bombs": lambda: _frames(1, bombs=50),
    "png of a million empty pieces": lambda: _chunks(
        _IHDR, *[(b"IDAT", b"")] * 1_000_000, _PIXELS
    ),
    "jpeg of a thousand scans": lambda: _scans(2000, b"", 1000),
    "jpeg of empty scans": lambda: _scans(
        4000, b"\xff\xda\0\x08\x01\x01\0\x01\x3f\x10\0", 20_000, mode="L"
    ),
    "gif of twenty thousand frames": lambda: _gif(64, 20_000),
    "tiff packed, a bomb": lambda: _tiff(
        5000, (0x0103, 3, 1, 8), (0x0117, 4, 1, len(_TIFF_PIXELS)), tail=_TIFF_PIXELS
    ),
    "avif, endless boxes": lambda: (
        tiny.picture("AVIF")[:32] + b"\0\0\0\0free" * 200_000
    ),
    "eps by the name of png": lambda: (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%id) (w) file\n"
    ),
}


# Drawings: what a check of their XML cannot refuse. The check itself has tests in
# tests/mmeval/media/decode/test_svg.py.


def _svg(inner: str, size: int = 90) -> bytes:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" '
        f'height="{size}">{inner}</svg>'
    ).encode()


def _data(data: bytes, mime: str = "image/png") -> str:
    return (
        '<image width="90" height="90" '
        f'href="data:{mime};base64,{base64.b64encode(data).decode()}"/>'
    )


def _nested(count: int, tag: str, attributes: str, fill: str) -> Callable[[], bytes]:
    """Patterns, masks or clips, each drawn by means of the next one."""
    shape = '<rect width="2000" height="2000"'
    layers = (
        f'<{tag} id="p{i}" {attributes}>{shape} {fill}="url(#p{i + 1})"/></{tag}>'
        for i in range(count)
    )
    return lambda: _svg("".join(layers) + f'{shape} {fill}="url(#p0)"/>', 3000)


def _filtered(steps: str, start: str = "0", size: str = "100%") -> Callable[[], bytes]:
    region = f'x="{start}" y="{start}" width="{size}" height="{size}"'
    shape = '<rect width="3000" height="3000" filter="url(#a)"/>'
    return lambda: _svg(f'<filter id="a" {region}>{steps}</filter>{shape}', 3000)


_DRAWINGS: Makers = {
    "a declaration elsewhere": lambda: (
        b'<!DOCTYPE svg SYSTEM "http://127.0.0.1:9/a.dtd">' + _svg("<rect/>")
    ),
    "a drawing within as data": lambda: _svg(_data(_svg("<rect/>"), "image/svg+xml")),
    "a picture of 12000 x 12000 within": lambda: _svg(
        _data(tiny.declared_png(12000, 12000))
    ),
    "large pictures within, fifty times": lambda: _svg(
        _data(tiny.picture(size=(3400, 3400))) * 50
    ),
    "patterns in patterns": _nested(
        30, "pattern", 'width="0.01" height="0.01"', "fill"
    ),
    "masks in masks": _nested(35, "mask", "", "mask"),
    "a filter of a thousand steps": _filtered(
        '<feGaussianBlur stdDeviation="50"/>' * 1000
    ),
    "noise in a million octaves": _filtered('<feTurbulence numOctaves="999999"/>'),
    "two hundred layers": lambda: _svg(
        '<g opacity="0.9">' * 190 + "<rect/>" + "</g>" * 190, 3000
    ),
    "a million elements": lambda: _svg("<g/>" * 1_000_000),
    "dashes without end": lambda: _svg(
        '<path stroke="red" stroke-dasharray="0.00001" d="M0 0L1e9 1e9"/>'
    ),
}


# Sounds and videos


def _wav(chunks: bytes, data: bytes = b"") -> bytes:
    body = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + chunks
    body += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _flac_silence() -> bytes:
    """Two hundred million samples in 370 kilobytes."""
    import numpy as np
    import soundfile

    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", 32_000, 2, format="FLAC") as file:
        for _ in range(300):
            file.write(np.zeros((320_000, 2), "int16"))
    return out.getvalue()


_SOUNDS: Makers = {
    "wav with a million chunks": lambda: _wav(b"junk\0\0\0\0" * 1_000_000),
    "flac of endless notes": lambda: b"fLaC" + b"\x04\0\0\0" * 1_000_000,
    "flac of fifty minutes of silence": _flac_silence,
    "ogg of empty pages": lambda: (
        tiny.sound("OGG", "VORBIS")[:58] + (b"OggS" + bytes(23)) * 100_000
    ),
    "mp3 of noise": lambda: (
        b"\xff\xfb\x90\x64" + bytes((i * i * 7919) >> 3 & 255 for i in range(200_000))
    ),
}
_FTYP = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"


def _box(name: bytes, *inner: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, inner)), name) + b"".join(inner)


def _fragment() -> bytes:
    """Forty million samples of no bytes, which a fragment may have without listing
    them."""
    usual = _box(b"mvex", _box(b"trex", bytes(4) + struct.pack(">5I", 1, 1, 1, 1, 0)))
    runs = _box(b"trun", bytes(4) + struct.pack(">I", 40_000_000))
    return (
        _FTYP
        + _box(b"moov", usual)
        + _box(b"moof", _box(b"traf", runs))
        + _box(b"mdat", bytes(100))
    )


def _large_inside() -> bytes:
    """The container says 32 x 16, the codec's own header another size."""
    data = tiny.clip("webm", "libvpx")
    at = data.index(b"\x9d\x01\x2a") + 3
    return data[:at] + struct.pack("<HH", 16383, 16383) + data[at + 4 :]


_VIDEOS: Makers = {
    "mp4 of endless boxes": lambda: _FTYP + b"\0\0\0\x08free" * 1_000_000,
    "mp4 whose fragment has forty million samples": _fragment,
    "mp4 of eight thousand tracks": lambda: (
        _FTYP + _box(b"moov", _box(b"trak", _box(b"mdia", bytes(8))) * 8000)
    ),
    "mov that names another file": lambda: tiny.clip("mov").replace(b"url ", b"alis"),
    "webm of 16383 x 16383 in the codec alone": _large_inside,
    "webm of elements in elements": lambda: (
        b"\x1aE\xdf\xa3\x87\x42\x82\x84webm"
        + b"\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" * 20_000
    ),
    "gif of two thousand frames of 2000 x 2000": lambda: _gif(2000, 2000),
    "list of other files": lambda: (
        b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n"
    ),
}


# Documents

_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_PAGES = b"<</Type/Pages/Count 1/Kids[3 0 R]>>"


def _pdf(*objects: bytes) -> bytes:
    body = b"".join(
        b"%d 0 obj%s\nendobj\n" % (number, text)
        for number, text in enumerate(objects, 1)
    )
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF"


def _stream(data: bytes, extra: bytes = b"") -> bytes:
    packed = zlib.compress(data, 9)
    return (
        b"<</Length %d/Filter /Fl%s>>stream\n" % (len(packed), extra)
        + packed
        + b"\nendstream"
    )


def _page(content: bytes, resources: bytes = b"", *objects: bytes) -> bytes:
    font = b"/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents 4 0 R/Resources<<"
        + resources
        + font
        + b">>>>"
    )
    return _pdf(_CATALOG, _PAGES, page, _stream(content), *objects)


def _forms(
    count: int, content: bytes, *, same: bool = False, group: bytes = b""
) -> bytes:
    """Forms that draw the next one, or all the same one."""
    form = (
        b"/Type/XObject/Subtype/Form/BBox[0 0 600 600]%s/Resources<</XObject<</X %d 0 "
        b"R>>>>"
    )
    numbers = (5 if same else number + 1 for number in range(5, 5 + count))
    forms = (_stream(content, form % (group, number)) for number in numbers)
    return _page(b"/X Do", b"/XObject<</X 5 0 R>>", *forms)


def _office() -> bytes:
    return tiny.packed({"xl/workbook.xml": "\0" * 100_000_000})


_PICTURE = (
    b"/Type/XObject/Subtype/Image/Width 60000/Height 60000/BitsPerComponent "
    b"8/ColorSpace/DeviceRGB"
)
_TILES = (
    b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep "
    b"0.0001/YStep 0.0001/Resources<<>>"
)
_DOCUMENTS: Makers = {
    "pages that form a loop": lambda: _pdf(
        _CATALOG, b"<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>"
    ),
    "four hundred thousand times one page": lambda: tiny.pdf(pages=400_000),
    "a page that is 1e6 x 1e6": lambda: tiny.pdf(size=(1_000_000, 1_000_000)),
    "a bomb of a thousand to one": lambda: _page(bytes(_LARGE)),
    "a bomb of curves": lambda: _page(b"0 0 m " + b"9 9 5 5 1 1 c " * 3_000_000 + b"S"),
    "dashes without end": lambda: _page(
        b"[0.00001 0.00001] 0 d 0 0 m 90000 90000 l S " * 10
    ),
    "a form that draws itself": lambda: _forms(1, b"/X Do", same=True),
    "forms that draw ten forms each": lambda: _forms(
        9, b"/X Do " * 10 + b"0 0 500 500 re f "
    ),
    "groups in groups": lambda: _forms(
        25, b"/X Do 0 0 500 500 re f", group=b"/Group<</S/Transparency/I true>>"
    ),
    "a picture of 60000 x 60000": lambda: _page(
        b"600 0 0 600 0 0 cm /X Do",
        b"/XObject<</X 5 0 R>>",
        _stream(bytes(1000), _PICTURE),
    ),
    "a pattern of a billion tiles": lambda: _page(
        b"/Pattern cs /P scn 0 0 600 600 re f",
        b"/Pattern<</P 5 0 R>>",
        _stream(b"0 0 9 9 re f", _TILES),
    ),
    "arrays in arrays": lambda: _pdf(
        _CATALOG, b"<</Type/Pages/Count 1/Kids" + b"[" * 200_000 + b"]" * 200_000
    ),
    "a script at its opening": lambda: tiny.pdf().replace(
        b"/Catalog", b"/Catalog/OpenAction<</S/JavaScript/JS(a)>>"
    ),
    "a text of 30 million letters": lambda: b"words " * 5_000_000,
    "a text that turns binary": lambda: (
        b"words " * 1000 + bytes(range(128, 256)) * 1000
    ),
    "xlsx with a bomb": _office,
}


# Meshes


def _accessor(**changes: Any) -> dict[str, Any]:
    return {
        "bufferView": 0,
        "componentType": 5126,
        "count": 3,
        "type": "VEC3",
        **changes,
    }


def _json(words: bytes) -> bytes:
    words += b" " * (-len(words) % 4)
    return (
        b"glTF"
        + struct.pack("<IIII", 2, 20 + len(words), len(words), 0x4E4F534A)
        + words
    )


def _shown_large() -> bytes:
    """1.9 million vertices in 40 kilobytes: a mesh of 3,000 shown 630 times."""
    blob = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) * 1000
    room = {
        "buffers": [{"byteLength": len(blob)}],
        "bufferViews": [{"buffer": 0, "byteLength": len(blob)}],
    }
    nodes = [{"mesh": 0, "translation": [i, 0, 0]} for i in range(630)]
    scenes = [{"nodes": list(range(630))}]
    return tiny.glb(
        blob=blob, **room, accessors=[_accessor(count=3000)], nodes=nodes, scenes=scenes
    )


_MESHES: Makers = {
    "obj of a number of a million digits": lambda: (
        tiny.PLAIN_OBJ + b"v " + b"9" * 1_000_000 + b" 0 0\n"
    ),
    "obj of one face of a million vertices": lambda: (
        tiny.PLAIN_OBJ + b"f" + b" 1" * 1_000_000
    ),
    "ply without an end": lambda: b"ply\nformat ascii 1.0\n" + b"comment a\n" * 500_000,
    "ply of remarks alone": lambda: (
        b"ply\nformat ascii 1.0\n" + b"obj_info a\n" * 500_000 + b"end_header\n"
    ),
    "stl of a million solids": lambda: (
        b"solid a\nfacet normal 0 0 1\nendsolid a\n" * 200_000
    ),
    "glb that reads behind its end": lambda: tiny.glb(
        accessors=[_accessor(count=100_000)]
    ),
    "glb that shows a large mesh often": _shown_large,
    "gltf of a million escapes": lambda: tiny.gltf(uri="data:," + "%41" * 1_000_000),
    "gltf of a hundred thousand fans": lambda: tiny.gltf(
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "mode": 6}] * 100_000}]
    ),
    "glb whose numbers overlap": lambda: tiny.glb(
        blob=bytes(2_000_012),
        buffers=[{"byteLength": 2_000_012}],
        bufferViews=[{"buffer": 0, "byteLength": 2_000_012, "byteStride": 1}],
        accessors=[_accessor(count=1_999_998)],
    ),
    "glb whose json is a bomb of arrays": lambda: _json(b"[" * 3_000_000),
    "glb whose json is of wrong types": lambda: tiny.glb(
        meshes={"a": "b"}, nodes="none"
    ),
}
