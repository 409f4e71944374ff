"""Hostile drawings (SVG)."""

from __future__ import annotations

import base64
from collections.abc import Callable

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, named

_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def cases() -> tuple[Hostile, ...]:
    makers: dict[str, Callable[[], bytes]] = {
        "a billion laughs": lambda: _laughs(inside=False),
        "a billion laughs behind a drawing": lambda: _laughs(inside=True),
        "an entity of its own": lambda: _entity('<!ENTITY a "a">'),
        "an entity that is a file": lambda: _entity('<!ENTITY a SYSTEM "file:///etc/passwd">'),
        "an entity that is a page": lambda: _entity('<!ENTITY a SYSTEM "http://127.0.0.1:9/">'),
        "an entity of the declaration": lambda: _entity('<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;'),
        "a declaration elsewhere": lambda: b'<!DOCTYPE svg SYSTEM "http://127.0.0.1:9/a.dtd">' + _svg("<rect/>"),
        **{f"a picture at {where}": _pictured(where) for where in _OUTSIDE},
        "a filter's picture at a file": lambda: _svg(
            '<filter id="a"><feImage href="/etc/passwd"/></filter><rect width="9" height="9" filter="url(#a)"/>'
        ),
        "a part of another file": lambda: _svg('<use xlink:href="/etc/passwd#a"/>'),
        "paint of another file": lambda: _svg('<rect width="9" height="9" fill="url(http://127.0.0.1:9/a#b)"/>'),
        "a sheet of styles elsewhere": lambda: b'<?xml-stylesheet href="http://127.0.0.1:9/a.css"?>' + _svg("<rect/>"),
        "styles that import": lambda: _svg("<style>@import url(http://127.0.0.1:9/a.css);</style><rect/>"),
        "a script": lambda: _svg('<script>while(1){}</script><rect width="9" height="9" onload="alert(1)"/>'),
        "a foreign object": lambda: _svg('<foreignObject width="9" height="9"><p>words</p></foreignObject>'),
        "a drawing within as data": lambda: _svg(_data("image/svg+xml", _svg("<rect/>"))),
        "a drawing within by the name of png": lambda: _svg(_data("image/png", _svg("<rect/>"))),
        "a picture of 65535 x 65535 within": lambda: _svg(_data("image/png", tiny.declared_png(65535, 65535))),
        "a picture of 12000 x 12000 within": lambda: _svg(_data("image/png", tiny.declared_png(12000, 12000))),
        "parts that repeat ten to the nine times": lambda: _uses(9),
        "parts that repeat ten to the four times": lambda: _uses(4),
        "a part that repeats itself": lambda: _svg('<g id="a"><use href="#a"/></g>'),
        "two parts that repeat each other": lambda: _svg(
            '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'
        ),
        "a thousand parts in a chain": lambda: _svg(
            "".join(f'<g id="a{i}"><use href="#a{i + 1}"/></g>' for i in range(1000))
        ),
        "patterns in patterns": lambda: _svg(_patterns(30)),
        "masks in masks": lambda: _svg(_masks(35), 'width="2000" height="2000"'),
        "a filter of a huge region": lambda: _filtered("-5000%", "10000%", '<feGaussianBlur stdDeviation="9999"/>'),
        "a filter of a thousand steps": lambda: _filtered("0", "100%", '<feGaussianBlur stdDeviation="50"/>' * 1000),
        "noise in a thousand octaves": lambda: _filtered("0", "100%", '<feTurbulence numOctaves="999999"/>'),
        "a filter that looks far": lambda: _filtered("0", "100%", '<feMorphology operator="dilate" radius="900"/>'),
        "two hundred layers": lambda: _svg('<g opacity="0.9">' * 190 + "<rect/>" + "</g>" * 190, _LARGE),
        "a million elements": lambda: _svg("<g/>" * 1_000_000),
        "a hundred thousand deep": lambda: _svg("<g>" * 100_000 + "</g>" * 100_000),
        "an element with a million attributes": lambda: _svg(
            "<g " + " ".join(f'a{i}=""' for i in range(1_000_000)) + "/>"
        ),
        "styles for everything": lambda: _svg(
            "<style>" + "".join(f"g g g g .a{i}>rect:first-child{{fill:red}}" for i in range(3000)) + "</style>"
            "<g><g><g><g><g>" + '<rect class="b"/>' * 20_000 + "</g></g></g></g></g>"
        ),
        "styles that import, in disguise": lambda: _svg(
            '<style>@\\69mport "http://127.0.0.1:9/a"; rect{fill:\\75rl(http://127.0.0.1:9/a)}</style><rect/>'
        ),
        "another base for its names": lambda: _svg(
            '<image width="9" height="9" href="passwd"/>', 'xml:base="file:///etc/"'
        ),
        "a mark on each of a hundred thousand corners": lambda: _svg(
            '<marker id="m">'
            + '<rect width="9" height="9"/>' * 500
            + '</marker><path marker-mid="url(#m)" d="M0 0'
            + "l1 1" * 100_000
            + '"/>'
        ),
        "a million letters": lambda: _svg(f'<text y="9">{"a" * 1_000_000}</text>'),
        "letters that are each placed": lambda: _svg(f'<text x="{"1 " * 300_000}" y="9">{"a" * 300_000}</text>'),
        "dashes without end": lambda: _svg('<path stroke="red" stroke-dasharray="0.00001" d="M0 0L1e9 1e9"/>'),
        "a drawing in drawings in drawings": _drawings,
        "large pictures within, fifty times": lambda: _svg(_data("image/png", tiny.picture(size=(3400, 3400))) * 50),
        "clips in clips": lambda: _svg(
            "".join(f'<clipPath id="c{i}" clip-path="url(#c{i + 1})"><rect/></clipPath>' for i in range(38))
            + '<rect width="2000" height="2000" clip-path="url(#c0)"/>',
            _LARGE,
        ),
        "a filter of forty thousand weights": lambda: _filtered(
            "0", "100%", f'<feConvolveMatrix order="200" kernelMatrix="{"1 " * 40_000}"/>'
        ),
        "a filter of tiny tiles": lambda: _filtered("0", "100%", '<feFlood width="0.01" height="0.01"/><feTile/>'),
        "a name of a million letters": lambda: _svg(f'<use href="#{"%61" * 1_000_000}"/>'),
        "a path of a million curves": lambda: _svg(f'<path stroke="red" d="M0 0{"c9 9 5 5 1 1" * 300_000}"/>'),
        "a line of a billion dashes": lambda: _svg('<path d="M0 0H1e9" stroke="red" stroke-dasharray="0.001"/>'),
        "a size of 1e9 x 1e9": lambda: _svg("", 'width="1e9" height="1e9"'),
        "a size of 5000 x 5000": lambda: _svg("", 'width="5000" height="5000"'),
        "a size of 4000 x 4000": lambda: _svg('<rect width="9" height="9"/>', 'width="4000" height="4000"'),
        "a size of 1e308 inches": lambda: _svg("", 'width="1e308in" height="9"'),
        "no size": lambda: _svg("", 'width="0" height="0"'),
        "a negative size": lambda: _svg("", 'width="-9" height="-9"'),
        "a size that is no number": lambda: _svg("", 'width="nan" height="inf" viewBox="a b c d"'),
        "the size of what is drawn, which is huge": lambda: _svg('<rect width="1e7" height="1e7"/>', ""),
        "a view of nothing": lambda: _svg("<rect/>", 'width="9" height="9" viewBox="0 0 1e-30 1e-30"'),
        "a text of a million letters": lambda: _svg(f"<text>{'x' * 1_000_000}</text>"),
        "not closed": lambda: _svg("<g>"),
        "two drawings": lambda: _svg("") * 2,
        "bytes that are no text": lambda: _svg("<text>\0\xff</text>".replace("\0", "")).replace(b"\xc3", b""),
    }
    return named("drawing", ("image",), makers)


_LARGE = 'width="3000" height="3000"'
_OUTSIDE = (
    "/etc/passwd",
    "../a.png",
    "file:///etc/passwd",
    "http://127.0.0.1:9/a.png",
    "//127.0.0.1/a.png",
    "\\\\server\\share\\a.png",
    "C:\\a.png",
    "ftp://127.0.0.1/a",
)


def _svg(inner: str, attributes: str = 'width="90" height="90"') -> bytes:
    return f"{_HEAD} {attributes}>{inner}</svg>".encode()


def _pictured(where: str) -> Callable[[], bytes]:
    return lambda: _svg(f'<image width="9" height="9" xlink:href="{where}"/>')


def _data(mime: str, data: bytes) -> str:
    return f'<image width="90" height="90" href="data:{mime};base64,{base64.b64encode(data).decode()}"/>'


def _drawings() -> bytes:
    inner = _svg("<rect/>")
    for _ in range(8):
        inner = _svg(_data("image/svg+xml", inner))
    return inner


def _laughs(*, inside: bool) -> bytes:
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    start = "<!-- drawn -->" if inside else ""
    return f"{start}<!DOCTYPE svg [{entities}]>".encode() + _svg("<text>&a9;</text>")


def _entity(declared: str) -> bytes:
    return f"<!DOCTYPE svg [{declared}]>".encode() + _svg("<text>&a;</text>")


def _uses(powers: int) -> bytes:
    parts = '<rect id="a0" width="9" height="9"/>' + "".join(
        f'<g id="a{i}">' + f'<use href="#a{i - 1}"/>' * 10 + "</g>" for i in range(1, powers + 1)
    )
    return _svg(parts)


def _patterns(count: int) -> str:
    inner = "".join(
        f'<pattern id="p{i}" width="0.01" height="0.01"><rect width="99" height="99" fill="url(#p{i + 1})"/></pattern>'
        for i in range(count)
    )
    return inner + '<rect width="90" height="90" fill="url(#p0)"/>'


def _masks(count: int) -> str:
    inner = "".join(
        f'<mask id="m{i}"><rect width="2000" height="2000" fill="white" mask="url(#m{i + 1})"/></mask>'
        for i in range(count)
    )
    return inner + '<rect width="2000" height="2000" mask="url(#m0)"/>'


def _filtered(start: str, size: str, steps: str) -> bytes:
    region = f'x="{start}" y="{start}" width="{size}" height="{size}"'
    shape = '<rect width="3000" height="3000" filter="url(#a)"/>'
    return _svg(f'<filter id="a" {region}>{steps}</filter>{shape}', _LARGE)
