"""Hostile documents: PDFs, texts, and office files, which are archives."""

from __future__ import annotations

import zlib

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named

_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_PAGES = b"<</Type/Pages/Count 1/Kids[3 0 R]>>"
_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 90]/Contents 4 0 R>>"


def cases() -> tuple[Hostile, ...]:
    pdfs: Makers = {
        "pages that form a loop": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>"),
        "a million pages counted": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 1000000/Kids[3 0 R]>>", _PAGE),
        "fewer than no pages": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count -1/Kids[3 0 R]>>", _PAGE),
        "four hundred thousand times one page": lambda: tiny.pdf(pages=400_000),
        "a page that is 1e6 x 1e6": lambda: tiny.pdf(size=(1_000_000, 1_000_000)),
        "a bomb of a thousand to one": lambda: _page(_flate(bytes(300_000_000))),
        "a bomb of curves": lambda: _page(_flate(b"0 0 m " + b"9 9 5 5 1 1 c " * 3_000_000 + b"S")),
        "a bomb of words": lambda: _page(_flate(b"BT /F1 9 Tf " + b"(words) Tj " * 2_000_000 + b"ET")),
        "a form that draws itself": lambda: _form(b"/X Do", b"/XObject<</X 5 0 R>>"),
        "forms that draw ten forms each": lambda: _forms(9),
        "a picture of 60000 x 60000": lambda: _picture(60_000, 60_000),
        "a pattern of a billion tiles": lambda: _pattern(b"0.0001"),
        "arrays in arrays": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 1/Kids" + b"[" * 200_000 + b"]" * 200_000),
        "a script at its opening": lambda: _action(b"/S/JavaScript/JS(while\\(1\\){})"),
        "a file at its opening": lambda: _action(b"/S/GoToR/F(/etc/passwd)"),
        "a page from a file": lambda: _pdf(
            _CATALOG, _PAGES, _PAGE, b"<</Length 0/F(/etc/passwd)/FFilter/FlateDecode>>stream\n\nendstream"
        ),
        "a stream of objects that is a bomb": lambda: _trailer_of(
            _stream(_flate(b"1 0 " + b"null " * 30_000_000), b"/Fl", b"/Type/ObjStm/N 100000/First 4")
        ),
        "groups in groups": lambda: _groups(25),
        "a filter of two billion columns": lambda: _page(
            _flate(bytes(10_000_000)), b"/Fl/DecodeParms<</Predictor 15/Columns 2000000000/Colors 32>>"
        ),
        "dashes without end": lambda: _page(_flate(b"[0.00001 0.00001] 0 d 0 0 m 90000 90000 l S " * 10)),
        "a million beginnings": lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 1_000_000,
    }
    texts: Makers = {
        "of 30 million letters": lambda: b"words " * 5_000_000,
        "that turns binary": lambda: b"words " * 1000 + bytes(range(128, 256)) * 1000,
        "of half characters": lambda: b"\xff\xfe" + b"\x00\xd8" * 100_000,
        "of json in json": lambda: b"[" * 1_000_000,
        "xlsx with a bomb": lambda: _office("xl/workbook.xml"),
        "pptx with a bomb": lambda: _office("ppt/presentation.xml"),
    }
    return named("pdf", ("pages", "document_text"), pdfs) + named("text", ("document_text", "pages", "image"), texts)


def _pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%d 0 obj%s\nendobj\n" % (number, text) for number, text in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R" + trailer + b">>\n%%EOF"


def _flate(data: bytes) -> bytes:
    return zlib.compress(data, 9)


def _stream(data: bytes, coding: bytes, extra: bytes = b"") -> bytes:
    return b"<</Length %d/Filter %s%s>>stream\n" % (len(data), coding, extra) + data + b"\nendstream"


def _page(content: bytes = b"", coding: bytes = b"/Fl", *, box: bytes = b"0 0 90 90", extra: bytes = b"") -> bytes:
    font = b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[" + box + b"]/Contents 4 0 R" + font + extra + b">>"
    return _pdf(_CATALOG, _PAGES, page, _stream(content or _flate(b""), coding))


def _drawn(resources: bytes, content: bytes, *objects: bytes) -> bytes:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents 4 0 R/Resources<<" + resources + b">>>>"
    return _pdf(_CATALOG, _PAGES, page, _stream(_flate(content), b"/Fl"), *objects)


def _form(content: bytes, resources: bytes) -> bytes:
    extra = b"/Type/XObject/Subtype/Form/BBox[0 0 600 600]/Resources<<" + resources + b">>"
    return _drawn(b"/XObject<</X 5 0 R>>", b"/X Do", _stream(_flate(content), b"/Fl", extra))


def _forms(powers: int) -> bytes:
    def one(number: int) -> bytes:
        extra = b"/Type/XObject/Subtype/Form/BBox[0 0 600 600]/Resources<</XObject<</X %d 0 R>>>>" % (number + 1)
        return _stream(_flate(b"/X Do " * 10 + b"0 0 500 500 re f "), b"/Fl", extra)

    return _drawn(b"/XObject<</X 5 0 R>>", b"/X Do", *map(one, range(5, 5 + powers)))


def _picture(width: int, height: int, data: bytes = b"") -> bytes:
    extra = b"/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceRGB"
    picture = _stream(data or _flate(bytes(1000)), b"/Fl", extra % (width, height))
    return _drawn(b"/XObject<</X 5 0 R>>", b"600 0 0 600 0 0 cm /X Do", picture)


def _pattern(step: bytes) -> bytes:
    extra = b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep %s/YStep %s/Resources<<>>"
    pattern = _stream(_flate(b"0 0 9 9 re f"), b"/Fl", extra % (step, step))
    return _drawn(b"/Pattern<</P 5 0 R>>", b"/Pattern cs /P scn 0 0 600 600 re f", pattern)


def _trailer_of(stream: bytes) -> bytes:
    """A document whose last object is found where the table of objects should be."""
    body = _pdf(_CATALOG, _PAGES, _PAGE, b"<</Length 0>>stream\n\nendstream").rpartition(b"trailer")[0]
    return body + b"5 0 obj" + stream + b"\nendobj\nstartxref\n%d\n%%%%EOF" % len(body)


def _groups(depth: int) -> bytes:
    faint = b"/Resources<</ExtGState<</G<</ca 0.5/CA 0.5>>>>/XObject<</X %d 0 R>>>>"
    group = b"/Type/XObject/Subtype/Form/BBox[0 0 2400 2400]/Group<</S/Transparency/I true>>" + faint
    content = _flate(b"/G gs /X Do 0 0 500 500 re f")
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 1600 1600]/Contents 4 0 R" + faint % 5 + b">>"
    layers = [_stream(content, b"/Fl", group % number) for number in range(6, 6 + depth)]
    return _pdf(_CATALOG, _PAGES, page, _stream(content, b"/Fl"), *layers)


def _action(action: bytes) -> bytes:
    catalog = b"<</Type/Catalog/Pages 2 0 R/OpenAction<<" + action + b">>>>"
    return _pdf(catalog, _PAGES, _PAGE, b"<</Length 0>>stream\n\nendstream")


def _office(name: str) -> bytes:
    import io
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(name, bytes(100_000_000))
    return file.getvalue()
