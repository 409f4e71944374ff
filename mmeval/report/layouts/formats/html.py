"""Writes the tables of layouts as a page that opens from disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from mmeval.report.layouts.formats.lines import (
    Heading,
    PrintedBand,
    bands_of,
    header_rows,
)
from mmeval.report.layouts.tables import PaperTable, ShownCell
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem}"
    "table{border-collapse:collapse;margin:0 0 1rem}"
    "td,th{padding:.15rem .6rem;text-align:right}"
    "th[scope=row],th[scope=rowgroup]{text-align:left;font-weight:normal}"
    "th[scope=rowgroup]{font-style:italic}"
    "thead,tbody{border-top:1px solid;border-bottom:1px solid}"
    "caption{text-align:left;font-weight:bold}"
)


def html_tables(tables: Iterable[PaperTable]) -> str:
    """Returns a page with all tables, without scripts and without requests."""
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>Tables of papers</title><style>{_STYLE}</style></head><body>",
    ]
    for table in tables:
        for band in bands_of(table):
            lines += _band_lines(band, table.title)
        for note in table.notes:
            lines.append(f"<p>{_text(note)}</p>")
    lines.append("</body></html>")
    return "".join(f"{line}\n" for line in lines)


def _band_lines(band: PrintedBand, title: str) -> Iterator[str]:
    yield f"<table><caption>{_text(title)}</caption><thead>"
    rows = header_rows(band.columns)
    for level, spans in enumerate(rows):
        corner = _text(band.corner) if level == len(rows) - 1 else ""
        cells = [f'<th scope="col">{corner}</th>']
        for text, count in spans:
            scope = "colgroup" if count > 1 else "col"
            cells.append(f'<th scope="{scope}" colspan="{count}">{_text(text)}</th>')
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</thead><tbody>"
    count = len(band.columns) + 1
    for line in band.lines:
        title = _text(line.title.marked)
        if isinstance(line, Heading):
            yield f'<tr><th scope="rowgroup" colspan="{count}">{title}</th></tr>'
        else:
            texts = "".join(map(_cell, line.cells))
            yield f'<tr><th scope="row">{title}</th>{texts}</tr>'
    yield "</tbody></table>"


def _cell(cell: ShownCell) -> str:
    text = _text(cell.shown)
    return f"<td><b>{text}</b></td>" if cell.is_bold else f"<td>{text}</td>"


def _text(text: str) -> str:
    return escape(printable(text, limit=MAX_NOTE))
