"""Drawings in SVG, drawn apart by resvg with one bundled font: no script runs, and nothing outside is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mmeval.content.media import Media
from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.guard import decoding
from mmeval.decode.limits import DecodeLimits, within
from mmeval.decode.svg import checked_size
from mmeval.errors import CorruptMediaError
from mmeval.system.extras import need

MAX_SVG_BYTES = 8 * 2**20
FONT = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
"""The only font, so that a drawing looks the same on every machine; all families and styles are drawn with it."""
_FAMILY = "DejaVu Sans"
_UNITS_AN_INCH = 96.0


def drawn(media: Media, data: bytes, limits: DecodeLimits) -> bytes:
    """The drawing as PNG, transparent where nothing is drawn, in the size that it states itself.

    Raises CorruptMediaError for what is no SVG, names anything outside, or holds what is not drawn (``foreignObject``);
    MediaLimitError above a limit.
    """
    need("resvg_py", "svg")
    within(media, "the bytes of an SVG", MAX_SVG_BYTES, len(data), "bytes")
    for step in steps_apart("mmeval.decode.svg_joined:draw_steps", media, data, limits):
        return step.buffers[0]
    raise CorruptMediaError(f"{media.label}: nothing was drawn")


def draw_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """One step: the PNG. Runs apart."""
    resvg = need("resvg_py", "svg")

    def draw() -> Iterator[Step]:
        with decoding(media, "a drawing"):
            size = checked_size(media.read())
            if size is not None:
                within(media, "max_drawn_pixels", limits.max_drawn_pixels, size.width * size.height, "pixels")
        png: bytes = resvg.svg_to_bytes(
            svg_string=media.read().decode("utf-8-sig"),
            dpi=_UNITS_AN_INCH,
            skip_system_fonts=True,
            font_files=[str(FONT)],
            font_family=_FAMILY,
            serif_family=_FAMILY,
            sans_serif_family=_FAMILY,
            cursive_family=_FAMILY,
            fantasy_family=_FAMILY,
            monospace_family=_FAMILY,
        )
        yield Step({}, (bytes(png),))

    return draw()
