"""The site: the Markdown pages of this checkout as they are, built by Sphinx (``make
docs``).

The source folder is the root of the checkout, so that a link which leads somewhere on a
code host leads there on the site too. The order of the pages is that of the lists in
``index.md`` and ``design/index.md``: each heading above a list of links becomes a part
of the navigation.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""The pages outside of ``docs``."""

project = "mmeval"
author = "the authors of mmeval"
copyright = "the authors of mmeval; Apache-2.0"

extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = [*PAGES, "docs/*.md", "docs/**/*.md"]
exclude_patterns = [
    path.name for path in ROOT.iterdir() if path.name not in (*PAGES, "docs")
]
# outputs and templates in fences need not parse
suppress_warnings = ["misc.highlighting_failure"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "mmeval"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_additional_pages = {"index": "forward.html"}
templates_path = ["templates"]

_LINK = re.compile(r"^- \[([^\]]+)\]\(([^)#\s]+\.md)\)", re.MULTILINE)


def navigation(text: str, folder: str) -> Iterator[str]:
    """A hidden table of contents for each second-level heading of an index with a list
    of links below it."""
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        pages = [
            f"{title} <{_document(link, folder)}>"
            for title, link in _LINK.findall(part)
        ]
        caption = (
            part.partition("\n")[0].removeprefix("## ").strip()
            if part.startswith("## ")
            else ""
        )
        if pages:
            yield "\n".join(
                ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            )


def _document(link: str, folder: str) -> str:
    """A link of an index as the name of a document, from the root."""
    steps: list[str] = []
    for step in PurePosixPath(folder, link).with_suffix("").parts:
        steps = steps[:-1] if step == ".." else [*steps, step]
    return "/" + "/".join(steps)


def _add_navigation(_app: Sphinx, document: str, source: list[str]) -> None:
    if document in ("docs/index", "docs/design/index"):
        source[0] = "\n\n".join(
            [source[0], *navigation(source[0], str(PurePosixPath(document).parent))]
        )


def setup(app: Sphinx) -> dict[str, bool]:
    from pygments.lexers.data import JsonLexer

    app.connect("source-read", _add_navigation)
    app.add_lexer("jsonl", JsonLexer)
    return {"parallel_read_safe": True}
