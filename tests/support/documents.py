"""Small documents for tests: workbooks, presentations, tables, scans."""

import importlib.util
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image, ImageDraw, ImageFont

from tests.support import tiny_media
from tests.support.tiny_media import office, related

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
    return tiny_media.packed(entries, zipfile.ZIP_STORED)


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


def drawn_table(rows: Sequence[Sequence[str]]) -> Image.Image:
    """A picture of a table in columns 200 pixels apart."""
    picture = Image.new(
        "RGB", (40 + 200 * max(map(len, rows)), 60 + 60 * len(rows)), "white"
    )
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(22)
    for down, cells in enumerate(rows):
        for across, cell in enumerate(cells):
            pen.text((30 + 200 * across, 30 + 60 * down), cell, fill="black", font=font)
    return picture


def as_png(picture: Image.Image) -> bytes:
    return _saved(picture, "PNG")


def scan(picture: Image.Image) -> bytes:
    """A PDF whose page is a picture."""
    return _saved(picture, "PDF")


def _saved(picture: Image.Image, form: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()


def turned(degrees: int) -> bytes:
    """A PDF that says Hello on a page of 200 x 100 points, shown with a turn to the
    right."""
    return tiny_media.pdf("Hello").replace(
        b"/MediaBox", f"/Rotate {degrees}/MediaBox".encode()
    )


def pdf_of(pieces: Sequence[tuple[float, float, str]]) -> bytes:
    """A PDF of one page of 700 x 800 points with pieces of text: from the left, from
    the bottom, words."""
    placed = " ".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj" for x, y, text in pieces)
    return tiny_media.pdf_with(placed, size=(700, 800))


HAS_OCR = all(map(importlib.util.find_spec, ("rapidocr", "onnxruntime")))
