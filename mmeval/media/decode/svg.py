"""Draws SVG pictures in the decoding process, after a check of their XML.

The check reads the SVG once. The SVG must not declare entities or refer to other files
or addresses. Endless nesting or repetition is stopped by the library or by the limits
of the process.
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
"""The only font. It is used for all families and styles.

A drawing therefore looks the same on every machine.
"""
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
    """The width and height in pixels, not rounded."""

    width: float
    height: float


def drawn(
    media: Media,
    data: bytes,
    limits: DecodeLimits,
) -> bytes:
    """Returns the drawing as a PNG in the size that the SVG states.

    The PNG is transparent where nothing is drawn.

    Raises UnsupportedMediaError if the SVG refers to other files or addresses, declares
    entities or contains unsupported elements (``foreignObject``). Raises
    CorruptMediaError if it is not an SVG, and MediaLimitError if it exceeds a limit.
    """
    within(media, "the bytes of an SVG", MAX_SVG_BYTES, len(data), "bytes")
    for step in steps_apart("mmeval.media.decode.svg:draw_steps", media, data, limits):
        return step.buffers[0]
    raise CorruptMediaError(f"{media.label}: nothing was drawn")


def draw_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """Yields one step with the PNG. Runs in the decoding process."""
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
    """Returns the size that a drawing states, or None if its content defines it.

    Raises NotImplementedError with the reason for an unsupported drawing, ValueError
    for a document that is not an SVG, and expat's error for invalid XML.
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
    """Checks the elements of a drawing."""

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
            raise NotImplementedError("it has a foreignObject, which is not supported")
        self._open.append(element)
        for full_name, value in attributes.items():
            attribute = full_name.rpartition(":")[2]
            if attribute == "href":
                if element != "a":  # Links are not followed.
                    self._note_target(element, value.strip())
            elif attribute in _STYLED or "url(" in value.lower():
                self._note_style(element, value)

    def end(self, _name: str) -> None:
        element = self._open.pop()
        if element == "style":
            self._note_style(element, "".join(self._sheet))
            self._sheet.clear()

    def words(self, text: str) -> None:
        """Collects the text of style sheets. Only such text can refer to files."""
        if self._open and self._open[-1] == "style":
            self._sheet.append(text)

    def _note_style(self, element: str, style: str) -> None:
        if "\\" in style or "@import" in style.lower():
            raise NotImplementedError(
                "its styles contain a backslash or an @import, which could refer to "
                "any file or address"
            )
        for target in _LOCAL_URL.findall(style):
            self._note_target(element, target.strip())

    def _note_target(self, element: str, target: str) -> None:
        if target.startswith("#"):
            return
        if element in _PICTURES and target[:5].lower() == "data:":
            if not _is_raster(target):
                raise NotImplementedError(
                    "a picture in it is not PNG, JPEG, GIF or WEBP"
                )
        elif target:
            raise NotImplementedError(
                f"it refers to something outside ({target[:60]!r})"
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
    box_width: float | None = None
    box_height: float | None = None
    try:
        words = re.split(r"[\s,]+", attributes.get("viewBox", "").strip())
        _x, _y, box_width, box_height = map(float, words)
    except ValueError:  # There is no valid view box.
        pass
    width = _pixels(attributes.get("width"), box_width)
    height = _pixels(attributes.get("height"), box_height)
    if box_width and box_height:
        if width is None and height is None:
            return Size(box_width, box_height)
        if width is None and height is not None:
            return Size(height * box_width / box_height, height)
        if height is None and width is not None:
            return Size(width, width * box_height / box_width)
    return None if width is None or height is None else Size(width, height)


def _pixels(length: str | None, box_length: float | None) -> float | None:
    match = _LENGTH.fullmatch(length or "")
    if match is None:
        return None
    number = float(match[1])
    unit = match[2] or "px"
    if unit == "%":
        return None if box_length is None else number / 100 * box_length
    return number * _PIXELS[unit]
