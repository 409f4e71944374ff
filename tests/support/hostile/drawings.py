"""Hostile drawings (SVG): what a check of their XML cannot refuse, as it costs time or memory in drawing, and the rest.

The check itself has unit tests in ``tests/mmeval/decode/test_svg.py``."""

from __future__ import annotations

import base64

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named

_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
_LARGE = 'width="3000" height="3000"'


def cases() -> tuple[Hostile, ...]:
    return named("drawing", ("image",), _MAKERS)


def _svg(inner: str, attributes: str = 'width="90" height="90"') -> bytes:
    return f"{_HEAD} {attributes}>{inner}</svg>".encode()


def _data(mime: str, data: bytes) -> str:
    return f'<image width="90" height="90" href="data:{mime};base64,{base64.b64encode(data).decode()}"/>'


def _laughs(start: str) -> bytes:
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    return f"{start}<!DOCTYPE svg [{entities}]>".encode() + _svg("<text>&a9;</text>")


def _uses(powers: int) -> bytes:
    groups = (f'<g id="a{i}">' + f'<use href="#a{i - 1}"/>' * 10 + "</g>" for i in range(1, powers + 1))
    return _svg('<rect id="a0" width="9" height="9"/>' + "".join(groups))


def _nested(count: int, tag: str, attributes: str, fill: str) -> bytes:
    """Patterns, masks or clips, each drawn by means of the next one."""
    shape = '<rect width="2000" height="2000"'
    layers = (f'<{tag} id="p{i}" {attributes}>{shape} {fill}="url(#p{i + 1})"/></{tag}>' for i in range(count))
    return _svg("".join(layers) + f'{shape} {fill}="url(#p0)"/>', _LARGE)


def _filtered(steps: str, start: str = "0", size: str = "100%") -> bytes:
    region = f'x="{start}" y="{start}" width="{size}" height="{size}"'
    shape = '<rect width="3000" height="3000" filter="url(#a)"/>'
    return _svg(f'<filter id="a" {region}>{steps}</filter>{shape}', _LARGE)


_MAKERS: Makers = {
    "a billion laughs": lambda: _laughs(""),
    "a billion laughs behind a comment": lambda: _laughs("<!-- drawn -->"),
    "a declaration elsewhere": lambda: b'<!DOCTYPE svg SYSTEM "http://127.0.0.1:9/a.dtd">' + _svg("<rect/>"),
    "a sheet of styles elsewhere": lambda: b'<?xml-stylesheet href="http://127.0.0.1:9/a.css"?>' + _svg("<rect/>"),
    "another base for its names": lambda: _svg('<image href="passwd"/>', 'xml:base="file:///etc/"'),
    "a script": lambda: _svg('<script>while(1){}</script><rect width="9" height="9" onload="alert(1)"/>'),
    "a drawing within as data": lambda: _svg(_data("image/svg+xml", _svg("<rect/>"))),
    "a picture of 65535 x 65535 within": lambda: _svg(_data("image/png", tiny.declared_png(65535, 65535))),
    "a picture of 12000 x 12000 within": lambda: _svg(_data("image/png", tiny.declared_png(12000, 12000))),
    "large pictures within, fifty times": lambda: _svg(_data("image/png", tiny.picture(size=(3400, 3400))) * 50),
    "parts that repeat ten to the nine times": lambda: _uses(9),
    "parts that repeat ten to the four times": lambda: _uses(4),
    "patterns in patterns": lambda: _nested(30, "pattern", 'width="0.01" height="0.01"', "fill"),
    "masks in masks": lambda: _nested(35, "mask", "", "mask"),
    "clips in clips": lambda: _nested(38, "clipPath", "", "clip-path"),
    "a filter of a huge region": lambda: _filtered('<feGaussianBlur stdDeviation="9999"/>', "-5000%", "10000%"),
    "a filter of a thousand steps": lambda: _filtered('<feGaussianBlur stdDeviation="50"/>' * 1000),
    "noise in a million octaves": lambda: _filtered('<feTurbulence numOctaves="999999"/>'),
    "a filter that looks far": lambda: _filtered('<feMorphology operator="dilate" radius="900"/>'),
    "a filter of forty thousand weights": lambda: _filtered(
        f'<feConvolveMatrix order="200" kernelMatrix="{"1 " * 40_000}"/>'
    ),
    "a filter of tiny tiles": lambda: _filtered('<feFlood width="0.01" height="0.01"/><feTile/>'),
    "two hundred layers": lambda: _svg('<g opacity="0.9">' * 190 + "<rect/>" + "</g>" * 190, _LARGE),
    "a million elements": lambda: _svg("<g/>" * 1_000_000),
    "a hundred thousand deep": lambda: _svg("<g>" * 100_000 + "</g>" * 100_000),
    "a million attributes": lambda: _svg("<g " + " ".join(f'a{i}=""' for i in range(1_000_000)) + "/>"),
    "styles for everything": lambda: _svg(
        "<style>" + "".join(f"g g g g .a{i}>rect:first-child{{fill:red}}" for i in range(3000)) + "</style>"
        "<g><g><g><g><g>" + '<rect class="b"/>' * 20_000 + "</g></g></g></g></g>"
    ),
    "a mark on each of a hundred thousand corners": lambda: _svg(
        f'<marker id="m">{"<rect/>" * 500}</marker><path marker-mid="url(#m)" d="M0 0{"l1 1" * 100_000}"/>'
    ),
    "a million letters": lambda: _svg(f'<text y="9">{"a" * 1_000_000}</text>'),
    "letters that are each placed": lambda: _svg(f'<text x="{"1 " * 300_000}" y="9">{"a" * 300_000}</text>'),
    "dashes without end": lambda: _svg('<path stroke="red" stroke-dasharray="0.00001" d="M0 0L1e9 1e9"/>'),
    "a name of a million letters": lambda: _svg(f'<use href="#{"%61" * 1_000_000}"/>'),
    "a path of a million curves": lambda: _svg(f'<path stroke="red" d="M0 0{"c9 9 5 5 1 1" * 300_000}"/>'),
    "a size of 1e308 inches": lambda: _svg("", 'width="1e308in" height="9"'),
    "a negative size": lambda: _svg("", 'width="-9" height="-9"'),
    "the size of what is drawn, which is huge": lambda: _svg('<rect width="1e7" height="1e7"/>', ""),
    "a view of nothing": lambda: _svg("<rect/>", 'width="9" height="9" viewBox="0 0 1e-30 1e-30"'),
    "two drawings": lambda: _svg("") * 2,
}
