"""Writes SVG drawings with escaped texts and attributes, and converts them to PNG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape

_NO_XML = re.compile(
    "[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
FONT_SIZE = 13
"""The font size in units. The page shows a drawing at 0.85 of its size or more, so text
is at least 11 pixels high."""
CHAR_WIDTH = 7.4
"""The approximate width of a character of a label, in units."""
LINE_HEIGHT = 18.0
"""The height of a line of the texts above and below a drawing, in units."""
_WIDER = {"Lu": 9.2, "Sm": 11.0}
"""The widths of a capital and of a mathematical sign (``+``, ``>``) in common fonts."""

ZOOM = 2
"""The number of pixels in a PNG per unit of the drawing."""
COLOURS = ("#3b6fb6", "#d9822b", "#3a9a6b", "#b0476a", "#7a5ea8", "#6b7280")
FAMILY = "DejaVu Sans"
"""The family of the font that PNGs are drawn with."""
_STYLE = (
    "<style>"
    f"svg{{color:#1f2933;font-family:'{FAMILY}',Helvetica,Arial,sans-serif}}"
    ".grid{stroke:#d3d9e0;stroke-width:1}.axis{fill:#5b6773}"
    ".whisker{stroke:#1f2933;stroke-width:1.2}"
    ".line{stroke-width:2;fill:none}.interval{stroke-width:1.2}"
    ".reach{stroke:#5b6773;stroke-width:2.5}.point{fill:#5b6773}"
    ".point.dashed{fill:#ffffff;stroke:#5b6773;stroke-dasharray:3 2}"
    + "".join(
        f".series-{number}{{fill:{colour};stroke:none}}"
        f".line.series-{number}{{stroke:{colour};fill:none}}"
        f".hollow.series-{number}{{stroke:{colour};fill:none}}"
        f".dashed.series-{number}{{stroke:{colour}}}"
        for number, colour in enumerate(COLOURS)
    )
    + ".bar.dashed{fill-opacity:.25}.area.dashed{stroke:none}"
    "rect.dashed,.line.dashed{stroke-dasharray:5 3}</style>"
)


class Drawing:
    """A drawing with a size in units and a title for screen readers."""

    def __init__(
        self,
        width: float,
        height: float,
        title: str,
    ) -> None:
        self.width, self.height, self.title = width, height, title
        self._items: list[str] = []

    def add(
        self, element: str, classes: str, text: str = "", **attributes: float | str
    ) -> None:
        """Add an element. Underscores in attributes become hyphens; numbers are
        rounded."""
        start = f'{element} class="{escape(xml_text(classes))}"'
        for name, value in attributes.items():
            written = escape(xml_text(_plain(value)))
            start += f' {name.replace("_", "-")}="{written}"'
        content = escape(xml_text(text), quote=False)
        self._items.append(f"<{start}>{content}</{element}>")

    def text(
        self, classes: str, text: str, x: float, y: float, anchor: str = "start"
    ) -> None:
        self.add(
            "text", classes, text, x=x, y=y, text_anchor=anchor, font_size=FONT_SIZE
        )

    def line(
        self,
        classes: str,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
    ) -> None:
        self.add("line", classes, x1=x1, y1=y1, x2=x2, y2=y2)

    def captioned(self, heading: Sequence[str], notes: Sequence[str]) -> Drawing:
        """Returns a drawing with lines of text above and below this one."""
        above = LINE_HEIGHT * len(heading)
        below = LINE_HEIGHT * len(notes) + LINE_HEIGHT / 2 if notes else 0.0
        whole = Drawing(self.width, above + self.height + below, self.title)
        for number, line in enumerate(heading):
            whole.text("label", line, 4, LINE_HEIGHT * number + FONT_SIZE)
        whole._items.append(f'<g transform="translate(0 {_plain(above)})">')
        whole._items += [*self._items, "</g>"]
        first = above + self.height + LINE_HEIGHT / 2
        for number, line in enumerate(notes):
            whole.text("axis", line, 4, first + LINE_HEIGHT * number)
        return whole

    def markup(self, *, head: str = "") -> str:
        """Returns the drawing as one SVG element; ``head`` is inserted after its
        title."""
        width, height = _plain(self.width), _plain(self.height)
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        start = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size} '
            'fill="currentColor">'
        )
        title = f"<title>{escape(xml_text(self.title), quote=False)}</title>"
        return "".join([start, title, head, *self._items, "</svg>"])


def written(drawing: Drawing, form: str) -> bytes:
    """Returns the drawing as the content of an ``svg`` or ``png`` file."""
    return png(drawing) if form == "png" else standalone(drawing).encode()


def standalone(drawing: Drawing) -> str:
    """Returns the drawing as the content of an SVG file."""
    ground = (
        f'<rect x="0" y="0" width="{drawing.width:.2f}" height="{drawing.height:.2f}" '
        'style="fill:#ffffff"/>'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"{drawing.markup(head=_STYLE + ground)}\n"
    )


def png(drawing: Drawing) -> bytes:
    """Returns the drawing as a PNG."""
    import resvg_py

    from mmeval.media.decode.svg import FONT

    drawn: bytes | list[int] = resvg_py.svg_to_bytes(
        svg_string=standalone(drawing),
        font_files=[str(FONT)],
        font_family=FAMILY,
        sans_serif_family=FAMILY,
        skip_system_fonts=True,
        zoom=ZOOM,
    )
    return bytes(drawn)


def xml_text(text: str) -> str:
    """Replaces characters that XML cannot contain or that change the writing
    direction."""
    clean = _NO_XML.sub("�", text)
    for char in set(clean):
        if unicodedata.category(char) == "Cf":
            clean = clean.replace(char, "�")
    return clean


def fitted(text: str, chars: int) -> str:
    """Returns a label on one line, cut after ``chars`` characters."""
    words = " ".join(text.split())
    return words if len(words) <= chars else words[: chars - 1] + "…"


def text_width(text: str) -> float:
    """Returns a label's width in units. The width is an overestimate, because the
    reader's font is unknown."""
    width = 0.0
    for char in text:
        if unicodedata.east_asian_width(char) in "WF":
            width += FONT_SIZE
        else:
            width += _WIDER.get(unicodedata.category(char), CHAR_WIDTH)
    return width


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
