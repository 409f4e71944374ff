"""Names the formats in which the tables of layouts can be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mmeval.report.layouts.formats.csv import csv_tables
from mmeval.report.layouts.formats.html import html_tables
from mmeval.report.layouts.formats.latex import latex_tables
from mmeval.report.layouts.formats.markdown import markdown_tables
from mmeval.report.layouts.formats.text import text_tables
from mmeval.report.layouts.tables import PaperTable


class LayoutFormat(NamedTuple):
    """A writer of tables, and the extension of its files."""

    render: Callable[[Sequence[PaperTable]], str]
    extension: str


FORMATS: Mapping[str, LayoutFormat] = {
    "markdown": LayoutFormat(markdown_tables, "md"),
    "text": LayoutFormat(text_tables, "txt"),
    "latex": LayoutFormat(latex_tables, "tex"),
    "csv": LayoutFormat(csv_tables, "csv"),
    "html": LayoutFormat(html_tables, "html"),
}
"""The formats of tables by name. The first is the default."""
