r"""Writes the tables of layouts for LaTeX with booktabs rules, to ``\input``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mmeval.report.layouts.formats.lines import (
    Heading,
    PrintedBand,
    bands_of,
    header_rows,
)
from mmeval.report.layouts.tables import PaperTable, ShownCell, TableColumn
from mmeval.report.table_formats.latex import latex_text
from mmeval.report.table_formats.markdown import MAX_NOTE
from mmeval.system.wording import printable

_SYMBOLS = {"†": r"\textdagger{}", "‡": r"\textdaggerdbl{}", "±": r"$\pm$"}


def latex_tables(tables: Iterable[PaperTable]) -> str:
    """Returns LaTeX tables with booktabs rules, one after the other. Nested headers
    span their columns; titles of blocks and groups span the table."""
    texts = []
    for table in tables:
        lines = [f"% {printable(table.title, limit=MAX_NOTE)}"]
        lines.append(r"% \usepackage{booktabs}")
        for band in bands_of(table):
            lines += _band_lines(band)
        for note in table.notes:
            lines.append(rf"\par{{\footnotesize {_text(note)}\par}}")
        texts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(texts)


def _band_lines(band: PrintedBand) -> Iterator[str]:
    columns = "l"
    for is_number in band.are_numbers:
        columns += "r" if is_number else "l"
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield r"\toprule"
    yield from _header_lines(band.corner, band.columns)
    yield r"\midrule"
    count = len(band.columns) + 1
    is_first = True
    for line in band.lines:
        if isinstance(line, Heading):
            if not is_first and line.is_block:
                yield r"\midrule"
            title = rf"\textit{{{_text(line.title.marked)}}}"
            yield rf"\multicolumn{{{count}}}{{l}}{{{title}}} \\"
        else:
            cells = [_first(line.title.marked), *map(_cell, line.cells)]
            yield rf"{' & '.join(cells)} \\"
        is_first = False
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _header_lines(corner: str, columns: Sequence[TableColumn]) -> Iterator[str]:
    rows = header_rows(columns)
    for level, spans in enumerate(rows):
        is_last = level == len(rows) - 1
        cells = [_first(corner) if is_last else ""]
        rules = []
        first = 2
        for text, count in spans:
            if count == 1:
                cells.append(_text(text))
            else:
                cells.append(rf"\multicolumn{{{count}}}{{c}}{{{_text(text)}}}")
            if text and not is_last:
                rules.append(rf"\cmidrule(lr){{{first}-{first + count - 1}}}")
            first += count
        yield rf"{' & '.join(cells)} \\"
        if rules:
            yield " ".join(rules)


def _cell(cell: ShownCell) -> str:
    text = _text(cell.shown)
    return rf"\textbf{{{text}}}" if cell.is_bold else text


def _first(text: str) -> str:
    r"""Returns the first cell of a row.

    A bracket or star behind ``\\`` would be read as its argument.
    """
    escaped = _text(text)
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def _text(text: str) -> str:
    escaped = latex_text(text)
    for symbol, command in _SYMBOLS.items():
        escaped = escaped.replace(symbol, command)
    return escaped
