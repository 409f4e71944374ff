"""Charts as files for papers and slides: SVG with style and white ground, PNG."""

from __future__ import annotations

from pathlib import Path

from mmeval.report.charts.svg import Drawing

FONT = Path(__file__).parents[2] / "decode" / "fonts" / "DejaVuSans.ttf"
FAMILY = "DejaVu Sans"
ZOOM = 2
"""Pixels of a PNG for each unit of the drawing."""
COLOURS = ("#3b6fb6", "#d9822b", "#3a9a6b", "#b0476a", "#7a5ea8", "#6b7280")
_STYLE = (
    "<style>"
    f"svg{{color:#1f2933;font-family:'{FAMILY}',Helvetica,Arial,sans-serif}}"
    ".grid{stroke:#d3d9e0;stroke-width:1}.axis{fill:#5b6773}"
    ".whisker{stroke:#1f2933;stroke-width:1.2}"
    ".line{stroke-width:2;fill:none}"
    + "".join(
        f".series-{at}{{fill:{c};stroke:none}}.line.series-{at}{{stroke:{c};fill:none}}" for at, c in enumerate(COLOURS)
    )
    + "</style>"
)


def standalone(drawing: Drawing) -> str:
    """The drawing as the content of an SVG file."""
    ground = f'<rect x="0" y="0" width="{drawing.width:.2f}" height="{drawing.height:.2f}" style="fill:#ffffff"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing.markup(head=_STYLE + ground)}\n'


def png(drawing: Drawing) -> bytes:
    """The drawing as a PNG."""
    import resvg_py

    drawn: bytes | list[int] = resvg_py.svg_to_bytes(
        svg_string=standalone(drawing),
        font_files=[str(FONT)],
        font_family=FAMILY,
        sans_serif_family=FAMILY,
        skip_system_fonts=True,
        zoom=ZOOM,
    )
    return bytes(drawn)
