"""Tiny media of every kind, made when a test asks: real files of a few hundred bytes."""

import base64
import importlib.util
import io
import json
import struct
import wave
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from PIL import Image

PLAIN_OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
PLAIN_OFF = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
_LOOP = b"outer loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
PLAIN_STL = b"solid a\nfacet normal 0 0 1\n" + _LOOP + b"endfacet\nendsolid a\n"
_PLY_HEAD = (
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
    b"property float z\n"
)
_PLY_POINTS = b"0 0 0\n1 0 0\n0 1 0\n"
PLAIN_PLY = (
    _PLY_HEAD
    + b"element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    + _PLY_POINTS
    + b"3 0 1 2\n"
)
CLOUD_PLY = _PLY_HEAD + b"end_header\n" + _PLY_POINTS
_TRIANGLE = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)


def picture(
    form: str = "PNG",
    *,
    size: tuple[int, int] = (8, 4),
    mode: str = "RGB",
    **options: Any,
) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new(mode, size, options.pop("colour", 0)).save(file, form, **options)
    return file.getvalue()


def declared_png(width: int, height: int, pixels: bytes = b"") -> bytes:
    """A PNG of a few bytes that declares any size, whatever pixels it has."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
    )


def wav(frames: int = 800, *, rate: int = 8000, channels: int = 1) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(struct.pack("<h", 16384) * frames * channels)
    return file.getvalue()


def sound(
    form: str,
    subtype: str | None = None,
    *,
    frames: int = 9600,
    rate: int = 48000,
    value: float = 0.5,
) -> bytes:
    import numpy as np
    import soundfile

    file = io.BytesIO()
    soundfile.write(
        file,
        np.full((frames, 1), value, np.float32),
        rate,
        format=form,
        subtype=subtype,
    )
    return file.getvalue()


@cache
def clip(
    form: str = "mp4",
    codec: str = "mpeg4",
    *,
    frames: int = 20,
    with_sound: bool = False,
) -> bytes:
    """Grey pictures at 10 frames a second, each lighter than the one before; silence
    beside them."""
    import av
    import numpy as np

    file = io.BytesIO()
    with av.open(file, "w", format=form) as out:
        # its class depends on the codec's name
        stream: Any = out.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
        track: Any = out.add_stream("aac", rate=16000) if with_sound else None
        for number in range(frames):
            pixels = np.full((16, 32, 3), number * 240 // frames, np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = number
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
        if track is not None:
            _be_silent(out, track)
    return file.getvalue()


def _be_silent(out: Any, track: Any) -> None:
    import av
    import numpy as np

    silence = av.AudioFrame.from_ndarray(
        np.zeros((2, 1024), np.float32), format="fltp", layout="stereo"
    )
    silence.sample_rate = 16000
    out.mux(track.encode(silence))
    out.mux(track.encode())


def sound_clip(form: str = "mp4", **options: str) -> bytes:
    """Silence in a container that could hold pictures too; ``options`` are the
    muxer's."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format=form, options=options) as out:
        _be_silent(out, out.add_stream("aac", rate=16000))
    return file.getvalue()


def glb(**changes: Any) -> bytes:
    """One triangle; ``changes`` replace entries of its JSON, ``blob`` its bytes."""
    blob: bytes = changes.pop("blob", _TRIANGLE)
    words = json.dumps(_gltf_tree(changes)).encode()
    words += b" " * (-len(words) % 4)
    body = (
        struct.pack("<II", len(words), 0x4E4F534A)
        + words
        + struct.pack("<II", len(blob), 0x004E4942)
        + blob
    )
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


def gltf(**changes: Any) -> bytes:
    """As ``glb``, in JSON alone; ``uri`` names its bytes, a data URI by default."""
    blob: bytes = changes.pop("blob", _TRIANGLE)
    uri = f"data:application/octet-stream;base64,{base64.b64encode(blob).decode()}"
    buffer = {"byteLength": len(blob), "uri": changes.pop("uri", uri)}
    return json.dumps(_gltf_tree({"buffers": [buffer], **changes})).encode()


def _gltf_tree(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{"asset": {"version": "2.0"}, "buffers": [{"byteLength": 36}]},
        **{
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "nodes": [{"mesh": 0}],
            "scenes": [{"nodes": [0]}],
        },
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
        ],
        **{
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "scene": 0,
            **changes,
        },
    }


def binary_stl(triangles: int = 1) -> bytes:
    one = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
    return (
        b"made here".ljust(80, b"\0") + struct.pack("<I", triangles) + one * triangles
    )


def pdf(
    text: str = "Hello", *, size: tuple[int, int] = (200, 100), pages: int = 1
) -> bytes:
    return pdf_with(f"10 50 Td ({text}) Tj", size=size, pages=pages, points=12)


def pdf_with(
    drawn: str, *, size: tuple[int, int], pages: int = 1, points: int = 10
) -> bytes:
    words = f"BT /F1 {points} Tf {drawn} ET"
    font = "<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    bodies = (
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{'3 0 R ' * pages}]>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {size[0]} {size[1]}]/Contents 4 0 "
        f"R/Resources{font}>>",
        f"<</Length {len(words)}>>stream\n{words}\nendstream\n",
    )
    objects = "".join(
        f"{number} 0 obj{body}endobj\n" for number, body in enumerate(bodies, 1)
    )
    return f"%PDF-1.4\n{objects}trailer<</Root 1 0 R>>\n%%EOF".encode()


def zipped(*names: str, first: int = 0) -> bytes:
    """A zip with empty entries of these names, behind an entry of ``first``
    incompressible bytes."""
    return packed(
        {"first": "x" * first, **dict.fromkeys(names, "")}, zipfile.ZIP_STORED
    )


def packed(entries: Mapping[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out:
        for name, text in entries.items():
            out.writestr(name, text)
    return file.getvalue()


def related(kind: str, *targets: str) -> str:
    """The relations of an office file's entry to others of one kind: ``r1``, ``r2``,
    ..."""
    schema = "http://schemas.openxmlformats.org"
    kind = f"{schema}/officeDocument/2006/relationships/{kind}"
    rows = "".join(
        f'<Relationship Id="r{at}" Type="{kind}" Target="{to}"/>'
        for at, to in enumerate(targets, 1)
    )
    return (
        "<Relationships "
        f'xmlns="{schema}/package/2006/relationships">{rows}</Relationships>'
    )


def office(kinds: Mapping[str, str], entries: Mapping[str, str]) -> bytes:
    """An office file; ``kinds`` has the content types of entries, the main one
    first."""
    schema = "http://schemas.openxmlformats.org/package/2006"
    vendor = "application/vnd.openxmlformats-"
    types = (
        f'<Default Extension="rels" ContentType="{vendor}package.relationships+xml"/>'
    )
    types += '<Default Extension="xml" ContentType="application/xml"/>'
    for name, kind in kinds.items():
        types += (
            f'<Override PartName="/{name}" '
            f'ContentType="{vendor}officedocument.{kind}+xml"/>'
        )
    head = f'<Types xmlns="{schema}/content-types">{types}</Types>'
    relations = related("officeDocument", next(iter(kinds)))
    return packed({"[Content_Types].xml": head, "_rels/.rels": relations, **entries})


def with_types(content_type: str) -> bytes:
    """A package whose main part has a content type."""
    types = f'<Types><Override PartName="/main" ContentType="{content_type}"/></Types>'
    return packed({"[Content_Types].xml": types, "main": "<main/>"})


def word(*paragraphs: str, xml: str = "", head: str = "") -> bytes:
    """A Word document of some paragraphs, or with any ``xml`` in its body; ``head``
    stands before its root."""
    body = xml or "".join(
        f"<w:p><w:r><w:t>{escape(words)}</w:t></w:r></w:p>" for words in paragraphs
    )
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    text = f'{head}<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    return office(
        {"word/document.xml": "wordprocessingml.document.main"},
        {"word/document.xml": text},
    )


# Small documents for tests: workbooks, presentations, tables, scans.


_BY_NAME = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHOWN = "http://schemas.openxmlformats.org/presentationml/2006/main"

OLD_WORKBOOK = Path(__file__).parents[1] / "fixtures" / "office" / "food.xls"
"""A sheet Food: x and 0.25, the first of May of 2024 and TRUE."""
FRUIT = (
    ("Item", "Energy", "Share"),
    ("Apple", "52.1 kcal", "0.25"),
    ("Pear", "57.25", "7"),
)
"""Rows of a table with numbers of one and of two decimals, and a unit."""
FRUIT_TABLE = (
    "| Item | Energy | Share |\n| --- | --- | --- |\n| Apple | 52.1 kcal | 0.25 |\n| "
    "Pear | 57.25 | 7 |"
)


def workbook(
    sheets: Mapping[str, str], *, strings: Sequence[str] = (), styles: str = ""
) -> bytes:
    """An xlsx file: sheets by name, each as the markup of its rows; ``styles`` is the
    markup inside ``styleSheet``."""
    named = "".join(
        f'<sheet name="{escape(name)}" r:id="r{at}"/>'
        for at, name in enumerate(sheets, 1)
    )
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    entries = {
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" '
        f'xmlns:r="{_BY_NAME}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": related(
            "worksheet", *(f"worksheets/{at}.xml" for at in range(1, len(sheets) + 1))
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{_SHEET}">{shared}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_SHEET}">{styles}</styleSheet>',
    }
    for at, rows in enumerate(sheets.values(), 1):
        entries[f"xl/worksheets/{at}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return office({"xl/workbook.xml": "spreadsheetml.sheet.main"}, entries)


def open_workbook(rows: str) -> bytes:
    """An ods file of one sheet, ``S``, with the markup of its rows."""
    names = "".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" '
        for name in ("office", "table", "text")
    )
    table = f'<table:table table:name="S">{rows}</table:table>'
    body = (
        f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    )
    entries = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": "<office:document-content "
        f"{names}>{body}</office:document-content>",
    }
    return packed(entries, zipfile.ZIP_STORED)


def row(number: int, *cells: str) -> str:
    """A row of a sheet whose cells are the markup of each."""
    return f'<row r="{number}">{"".join(cells)}</row>'


def words_in(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def number_in(place: str, value: float, style: int = 0) -> str:
    return f'<c r="{place}" s="{style}"><v>{value!r}</v></c>'


def slides(*shown: str) -> bytes:
    """A pptx file of slides, each as the markup of its text; the files are numbered
    from the last one."""
    count = len(shown)
    named = "".join(f'<p:sldId id="{at}" r:id="r{at}"/>' for at in range(1, count + 1))
    head = f'xmlns:p="{_SHOWN}" xmlns:r="{_BY_NAME}" xmlns:a="{_DRAWN}"'
    entries = {
        "ppt/presentation.xml": "<p:presentation "
        f"{head}><p:sldIdLst>{named}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": related(
            "slide", *(f"slides/slide{count - at}.xml" for at in range(count))
        ),
    }
    files = {
        f"ppt/slides/slide{count - at}.xml": f"<p:sld {head}>{text}</p:sld>"
        for at, text in enumerate(shown)
    }
    kinds = {
        "ppt/presentation.xml": "presentationml.presentation.main",
        **dict.fromkeys(files, "presentationml.slide"),
    }
    return office(kinds, entries | files)


def drawn_table(rows: Sequence[Sequence[str]]) -> "Image.Image":
    """A picture of a table in columns 200 pixels apart."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new(
        "RGB", (40 + 200 * max(map(len, rows)), 60 + 60 * len(rows)), "white"
    )
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(22)
    for down, cells in enumerate(rows):
        for across, cell in enumerate(cells):
            pen.text((30 + 200 * across, 30 + 60 * down), cell, fill="black", font=font)
    return picture


def as_png(picture: "Image.Image") -> bytes:
    return _saved(picture, "PNG")


def scan(picture: "Image.Image") -> bytes:
    """A PDF whose page is a picture."""
    return _saved(picture, "PDF")


def _saved(picture: "Image.Image", form: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()


def turned(degrees: int) -> bytes:
    """A PDF that says Hello on a page of 200 x 100 points, shown with a turn to the
    right."""
    return pdf("Hello").replace(b"/MediaBox", f"/Rotate {degrees}/MediaBox".encode())


def pdf_of(pieces: Sequence[tuple[float, float, str]]) -> bytes:
    """A PDF of one page of 700 x 800 points with pieces of text: from the left, from
    the bottom, words."""
    placed = " ".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj" for x, y, text in pieces)
    return pdf_with(placed, size=(700, 800))


HAS_OCR = all(map(importlib.util.find_spec, ("rapidocr", "onnxruntime")))
