from html.parser import HTMLParser
from pathlib import Path

from mmeval.report.layouts.formats.html import html_tables
from tests.support.layouts import layout_of, model, tables_of

LAYOUT = """
layout: plain
axes: {rows: models, columns: tasks}
number: m
best: {}
keys: {tasks: [{header: Both, columns: [{header: A, task: a}, {header: B, task: b}]}]}
tables: [{name: "1"}]
"""
HOSTILE = "<script>alert(1)</script>&\u202e\"'"


class _Tags(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(folder: Path, *names: str) -> _Tags:
    models = [
        model(name, {"a": float(place), "b": 1.0}, HOSTILE)
        for place, name in enumerate(names)
    ]
    return _Tags(html_tables(tables_of(layout_of(folder, LAYOUT), models)))


def test_a_page_has_headers_over_headers(tmp_path: Path) -> None:
    found = page(tmp_path, "x")
    headers = [text for text in found.texts if text in ("Both", "Model", "A", "B")]
    assert headers == ["Both", "Model", "A", "B"]


def test_the_best_cell_is_bold(tmp_path: Path) -> None:
    assert page(tmp_path, "x", "y").tags.count("b") == 3


def test_foreign_text_is_text(tmp_path: Path) -> None:
    found = page(tmp_path, HOSTILE)
    assert "script" not in found.tags
    assert "<script>alert(1)</script>& \"'†" in found.texts
