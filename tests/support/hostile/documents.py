"""Hostile documents: PDFs, texts, and office files, which are archives."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, named

_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_PAGES = b"<</Type/Pages/Count 1/Kids[3 0 R]>>"
_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 90]/Contents 4 0 R>>"


def cases() -> tuple[Hostile, ...]:
    pdfs: dict[str, Callable[[], bytes]] = {
        "pages that form a loop": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>"),
        "a page that is its own parent": lambda: _pdf(_CATALOG, _PAGES, b"<</Type/Pages/Kids[3 0 R]/Parent 3 0 R>>"),
        "a million pages counted": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 1000000/Kids[3 0 R]>>", _PAGE),
        "four billion pages counted": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 4294967295/Kids[3 0 R]>>", _PAGE),
        "fewer than no pages": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count -1/Kids[3 0 R]>>", _PAGE),
        "four hundred thousand times one page": lambda: tiny.pdf(pages=400_000),
        "a page that is 1e6 x 1e6": lambda: tiny.pdf(size=(1_000_000, 1_000_000)),
        "a page that is 2900 x 2900": lambda: tiny.pdf(size=(2900, 2900)),
        "a page that is 1e38 x 1e38": lambda: _page(box=b"0 0 1e38 1e38"),
        "a page in units of 1e9": lambda: _page(extra=b"/UserUnit 1000000000"),
        "a page turned inside out": lambda: _page(box=b"90 90 -1e9 -1e9"),
        "a bomb of a thousand to one": lambda: _page(_flate(bytes(300_000_000))),
        "a bomb within a bomb": lambda: _page(zlib.compress(zlib.compress(bytes(300_000_000))), b"[/Fl/Fl]"),
        "a bomb of drawing": lambda: _page(_flate(b"0 0 m 90 90 l S\n" * 3_000_000)),
        "a bomb of curves": lambda: _page(_flate(b"0 0 m " + b"9 9 5 5 1 1 c " * 3_000_000 + b"S")),
        "a bomb of words": lambda: _page(_flate(b"BT /F1 9 Tf " + b"(words) Tj " * 2_000_000 + b"ET")),
        "a hundred thousand states kept": lambda: _page(_flate(b"q " * 10_000_000)),
        "a form that draws itself": lambda: _form(b"/X Do", b"/XObject<</X 5 0 R>>"),
        "forms that draw ten forms each": lambda: _forms(9),
        "a picture of 60000 x 60000": lambda: _picture(60_000, 60_000),
        "a picture of 20000 x 20000 in a bomb": lambda: _picture(20_000, 20_000, _flate(bytes(300_000_000))),
        "a picture of a billion by one": lambda: _picture(1_000_000_000, 1),
        "a pattern of a billion tiles": lambda: _pattern(b"0.0001"),
        "a shading without end": _shading,
        "arrays in arrays": lambda: _pdf(_CATALOG, b"<</Type/Pages/Count 1/Kids" + b"[" * 200_000 + b"]" * 200_000),
        "dictionaries in dictionaries": lambda: _pdf(b"<</Type/Catalog/Pages 2 0 R/A" + b"<</A" * 100_000, _PAGES),
        "a table of objects that points to itself": lambda: _trailer(b"/Prev 9"),
        "a table of a billion objects": lambda: _xref(b"0 1000000000"),
        "a table whose objects lie behind its end": lambda: _xref(b"0 2", b"9999999999 00000 n \n" * 2),
        "a trailer of four billion objects": lambda: _trailer(b"/Size 4294967295"),
        "a stream of objects that holds itself": _object_stream,
        "a stream that says four gigabytes": lambda: tiny.pdf().replace(b"/Length ", b"/Length 4294967295"),
        "a stream whose length is itself": lambda: _pdf(
            _CATALOG, _PAGES, _PAGE, b"<</Length 4 0 R>>stream\n0 0 m\nendstream"
        ),
        "a script at its opening": lambda: _action(b"/S/JavaScript/JS(while\\(1\\){})"),
        "a program at its opening": lambda: _action(b"/S/Launch/F(/bin/sh)/Win<</F(calc.exe)>>"),
        "an address at its opening": lambda: _action(b"/S/URI/URI(http://127.0.0.1:9/)"),
        "a file at its opening": lambda: _action(b"/S/GoToR/F(/etc/passwd)"),
        "a page from a file": lambda: _pdf(
            _CATALOG, _PAGES, _PAGE, b"<</Length 0/F(/etc/passwd)/FFilter/FlateDecode>>stream\n\nendstream"
        ),
        "encrypted": lambda: _trailer(b"/Encrypt<</Filter/Standard/V 5/R 6/O(a)/U(a)/P 0/Length 256>>"),
        "a stream of objects that is a bomb": lambda: _trailer_of(
            _stream(_flate(b"1 0 " + b"null " * 30_000_000), b"/Fl", b"/Type/ObjStm/N 100000/First 4")
        ),
        "a table of objects that is a bomb": lambda: _trailer_of(
            _stream(_flate(bytes(100_000_000)), b"/Fl", b"/Type/XRef/Size 40000000/W[1 4 2]/Root 1 0 R")
        ),
        "a list of pages in a bomb": _listed_in_bomb,
        "fifty thousand notes": lambda: _pdf(_CATALOG, _PAGES, _noted(50_000)),
        "a million letters at one place": lambda: _page(
            _flate(b"BT /F1 9 Tf " + b"1 0 0 1 9 9 Tm (a) Tj " * 1_000_000)
        ),
        "three million letters": lambda: _page(_flate(b"BT /F1 9 Tf (" + b"a" * 3_000_000 + b") Tj ET")),
        "a letter that is drawn of itself": _letter,
        "a function of 32 inputs": _function,
        "groups in groups": lambda: _groups(25),
        "a fax of 60000 x 60000": _fax,
        "a filter of two billion columns": lambda: _page(
            _flate(bytes(10_000_000)), b"/Fl/DecodeParms<</Predictor 15/Columns 2000000000/Colors 32>>"
        ),
        "sixty filters": lambda: _page(b"3030" * 100_000, b"[" + b"/AHx " * 60 + b"]"),
        "dashes without end": lambda: _page(_flate(b"[0.00001 0.00001] 0 d 0 0 m 90000 90000 l S " * 10)),
        "only a beginning": lambda: b"%PDF-1.7\n" + bytes(100_000),
        "cut": lambda: tiny.pdf()[:150],
        "a million beginnings": lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 1_000_000,
        "a million ends": lambda: b"%PDF-1.7\n" + b"startxref\n0\n%%EOF\n" * 300_000,
    }
    texts: dict[str, Callable[[], bytes]] = {
        "of 30 million letters": lambda: b"words " * 5_000_000,
        "that is binary": lambda: bytes(range(256)) * 4000,
        "that turns binary": lambda: b"words " * 1000 + bytes(range(128, 256)) * 1000,
        "of half characters": lambda: b"\xff\xfe" + b"\x00\xd8" * 100_000,
        "of json in json": lambda: b"[" * 1_000_000,
        "docx": lambda: tiny.zipped("word/document.xml"),
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


def _shading() -> bytes:
    function = b"<</FunctionType 2/Domain[0 1]/N 1/C0[0]/C1[1]>>"
    for _ in range(2000):
        function = b"<</FunctionType 3/Domain[0 1]/Functions[" + function + b"]/Bounds[]/Encode[0 1]>>"
    shading = b"<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 600 600]/Extend[true true]/Function " + function
    return _drawn(b"/Shading<</S 5 0 R>>", b"/S sh " * 5000, shading + b">>")


def _trailer(extra: bytes) -> bytes:
    return _pdf(_CATALOG, _PAGES, _PAGE, b"<</Length 0>>stream\n\nendstream", trailer=extra)


def _xref(section: bytes, rows: bytes = b"0000000009 00000 n \n") -> bytes:
    body = _pdf(_CATALOG, _PAGES, _PAGE).rpartition(b"trailer")[0]
    table = b"xref\n" + section + b"\n" + rows + b"trailer<</Root 1 0 R/Size 9>>\n"
    return body + table + b"startxref\n%d\n%%%%EOF" % len(body)


def _object_stream() -> bytes:
    inner = b"5 0 <</Type/ObjStm/N 1/First 4>>"
    stream = _stream(_flate(inner), b"/Fl", b"/Type/ObjStm/N 99999999/First 4/Extends 5 0 R")
    return _pdf(_CATALOG, _PAGES, _PAGE, b"<</Length 0>>stream\n\nendstream", stream)


def _trailer_of(stream: bytes) -> bytes:
    """A document whose last object is found where the table of objects should be."""
    body = _pdf(_CATALOG, _PAGES, _PAGE, b"<</Length 0>>stream\n\nendstream").rpartition(b"trailer")[0]
    return body + b"5 0 obj" + stream + b"\nendobj\nstartxref\n%d\n%%%%EOF" % len(body)


def _listed_in_bomb() -> bytes:
    inner = _flate(b"2 0 <</Type/Pages/Count 1/Kids[" + b"3 0 R " * 3_000_000 + b"]>>")
    found = {1: _CATALOG, 3: _PAGE, 5: _stream(inner, b"/Fl", b"/Type/ObjStm/N 1/First 4")}
    body, rows = b"%PDF-1.7\n", {0: (0, 0, 0), 2: (2, 5, 0), 4: (0, 0, 0)}
    for number, text in found.items():
        rows[number] = (1, len(body), 0)
        body += b"%d 0 obj%s\nendobj\n" % (number, text)
    table = _flate(b"".join(struct.pack(">BIH", *rows[number]) for number in range(6)))
    stream = _stream(table, b"/Fl", b"/Type/XRef/Size 6/W[1 4 2]/Root 1 0 R")
    return body + b"6 0 obj" + stream + b"\nendobj\nstartxref\n%d\n%%%%EOF" % len(body)


def _noted(count: int) -> bytes:
    note = b"<</Type/Annot/Subtype/Highlight/Rect[0 0 90 90]/QuadPoints[0 0 9 9 0 9 9 0]/C[1 0 0]>>"
    return b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 90]/Annots[" + note * count + b"]>>"


def _letter() -> bytes:
    font = b"<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 6 0 R>>/FirstChar 97"
    font += b"/LastChar 97/Widths[9]/Encoding<</Differences[97/a]>>/Resources<</Font<</F 5 0 R>>>>>>"
    drawn = _stream(_flate(b"9 0 d0 BT /F 1 Tf (aaaaaaaaaa) Tj ET"), b"/Fl")
    return _drawn(b"/Font<</F 5 0 R>>", b"BT /F 9 Tf (aaaa) Tj ET", font, drawn)


def _function() -> bytes:
    sampled = b"<</FunctionType 0/Domain[" + b"0 1 " * 32 + b"]/Range[0 1]/Size[" + b"2 " * 32
    sampled += b"]/BitsPerSample 8/Length 0>>stream\n\nendstream"
    colours = b"/ColorSpace<</C [/DeviceN[" + b"/a " * 32 + b"]/DeviceGray 5 0 R]>>"
    return _drawn(colours, b"/C cs " + b"0.5 " * 32 + b"scn 0 0 600 600 re f", sampled)


def _groups(depth: int) -> bytes:
    faint = b"/Resources<</ExtGState<</G<</ca 0.5/CA 0.5>>>>/XObject<</X %d 0 R>>>>"
    group = b"/Type/XObject/Subtype/Form/BBox[0 0 2400 2400]/Group<</S/Transparency/I true>>" + faint
    content = _flate(b"/G gs /X Do 0 0 500 500 re f")
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 1600 1600]/Contents 4 0 R" + faint % 5 + b">>"
    layers = [_stream(content, b"/Fl", group % number) for number in range(6, 6 + depth)]
    return _pdf(_CATALOG, _PAGES, page, _stream(content, b"/Fl"), *layers)


def _fax() -> bytes:
    extra = b"/Type/XObject/Subtype/Image/Width 60000/Height 60000/BitsPerComponent 1/ColorSpace/DeviceGray"
    coding = b"/CCITTFaxDecode/DecodeParms<</K -1/Columns 60000/Rows 60000>>"
    picture = _stream(b"\xff" * 200_000, coding, extra)
    return _drawn(b"/XObject<</X 5 0 R>>", b"600 0 0 600 0 0 cm /X Do", picture)


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
