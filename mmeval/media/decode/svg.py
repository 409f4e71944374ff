"""Draws SVG pictures in the decoding process, after a check of their XML.

The check is one pass: no entity may be declared and nothing outside named. What is
nested or repeated without end is stopped by the library, or by the limits of the
process.
"""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from mmeval.errors import CorruptMediaError
from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.guard import decoding
from mmeval.media.decode.limits import DecodeLimits, within
from mmeval.media.media import Media

FONT = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
"""The only font, so that a drawing looks the same on every machine; all families and
styles are drawn with it."""
_FAMILY = "DejaVu Sans"
_UNITS_AN_INCH = 96.0

MAX_SVG_BYTES = 8 * 2**20

_LOCAL_URL = re.compile(r"url\(\s*[\"']?\s*([^\"')]*)", re.IGNORECASE)
_LENGTH = re.compile(
    r"\s*([+]?(?:[0-9]++(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"\s*+(px|in|cm|mm|pt|pc|em|ex|%)?\s*"
)
_PIXELS: Mapping[str, float] = {
    "px": 1.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 9.6 / 2.54,
    "pt": 4 / 3,
    "pc": 16.0,
    "em": 16.0,
    "ex": 8.0,
}
_RASTER_MAGIC = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_PICTURES = ("image", "feImage")
_STYLED = ("style", "fill", "stroke", "filter", "mask", "clip-path", "cursor")


class Size(NamedTuple):
    """In pixels, not rounded."""

    width: float
    height: float


def drawn(
    media: Media,
    data: bytes,
    limits: DecodeLimits,
) -> bytes:
    """The drawing as PNG, transparent where nothing is drawn, in its stated size.

    Raises UnsupportedMediaError for one that names anything outside, declares entities
    or holds what is not drawn (``foreignObject``), CorruptMediaError for what is not an
    SVG, and MediaLimitError above a limit.
    """
    within(media, "the bytes of an SVG", MAX_SVG_BYTES, len(data), "bytes")
    for step in steps_apart("mmeval.media.decode.svg:draw_steps", media, data, limits):
        return step.buffers[0]
    raise CorruptMediaError(f"{media.label}: nothing was drawn")


def draw_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """One step: the PNG. Runs in the decoding process."""
    import resvg_py

    def draw() -> Iterator[Step]:
        with decoding(media, "a drawing"):
            size = checked_size(media.read())
            if size is not None:
                pixels = size.width * size.height
                most = limits.max_drawn_pixels
                within(media, "max_drawn_pixels", most, pixels, "pixels")
        png: bytes = resvg_py.svg_to_bytes(
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


def checked_size(data: bytes) -> Size | None:
    """The size that a drawing states; None where it follows from what is drawn.

    Raises NotImplementedError with the reason for a drawing that is not drawn here,
    ValueError for another document, and expat's error for what is not XML.
    """
    check = _Check()

    def refuse_entity(*_: object) -> NoReturn:
        raise NotImplementedError("it declares an entity")

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = False
    parser.StartElementHandler = check.start
    parser.EndElementHandler = check.end
    parser.CharacterDataHandler = check.words
    parser.EntityDeclHandler = refuse_entity
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.Parse(data, True)
    return check.size


class _Check:
    """Follows a drawing's elements."""

    def __init__(self) -> None:
        self.size: Size | None = None
        self._open: list[str] = []
        self._sheet: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(":")[2]
        if not self._open:
            if element != "svg":
                raise ValueError(f"its first element is {element[:40]!r}, not svg")
            self.size = _stated_size(attributes)
        if element == "foreignObject" and "switch" not in self._open:
            raise NotImplementedError("it holds a foreignObject, which is not drawn")
        self._open.append(element)
        for full_name, value in attributes.items():
            attribute = full_name.rpartition(":")[2]
            if attribute == "href":
                if element != "a":  # a link is drawn and never followed
                    self._note_target(element, value.strip())
            elif attribute in _STYLED or "url(" in value.lower():
                self._note_style(element, value)

    def end(self, _name: str) -> None:
        element = self._open.pop()
        if element == "style":
            self._note_style(element, "".join(self._sheet))
            self._sheet.clear()

    def words(self, text: str) -> None:
        """Note the text between elements; only a style sheet can name anything
        there."""
        if self._open and self._open[-1] == "style":
            self._sheet.append(text)

    def _note_style(self, element: str, style: str) -> None:
        if "\\" in style or "@import" in style.lower():
            raise NotImplementedError(
                "its styles hold a backslash or an @import, behind which anything can "
                "be named"
            )
        for target in _LOCAL_URL.findall(style):
            self._note_target(element, target.strip())

    def _note_target(self, element: str, target: str) -> None:
        if target.startswith("#"):
            return
        if element in _PICTURES and target[:5].lower() == "data:":
            if not _is_raster(target):
                raise NotImplementedError(
                    "a picture within it is neither PNG, JPEG, GIF nor WEBP"
                )
        elif target:
            raise NotImplementedError(
                f"it names something outside of itself ({target[:60]!r})"
            )


def _is_raster(uri: str) -> bool:
    head, _, body = uri[:4096].partition(",")
    try:
        text = urllib.parse.unquote_to_bytes(body)
        if head.strip().lower().endswith(";base64"):
            text = re.sub(rb"\s", b"", text)[:64]
            text = base64.b64decode(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    return text.startswith(_RASTER_MAGIC)


def _stated_size(attributes: Mapping[str, str]) -> Size | None:
    whole_width: float | None = None
    whole_height: float | None = None
    try:
        words = re.split(r"[\s,]+", attributes.get("viewBox", "").strip())
        _x, _y, whole_width, whole_height = map(float, words)
    except ValueError:  # there is no box
        pass
    width = _pixels(attributes.get("width"), whole_width)
    height = _pixels(attributes.get("height"), whole_height)
    if whole_width and whole_height:
        if width is None and height is None:
            return Size(whole_width, whole_height)
        if width is None and height is not None:
            return Size(height * whole_width / whole_height, height)
        if height is None and width is not None:
            return Size(width, width * whole_height / whole_width)
    return None if width is None or height is None else Size(width, height)


def _pixels(written: str | None, whole: float | None) -> float | None:
    found = _LENGTH.fullmatch(written or "")
    if found is None:
        return None
    number = float(found[1])
    unit = found[2] or "px"
    if unit == "%":
        return None if whole is None else number / 100 * whole
    return number * _PIXELS[unit]
