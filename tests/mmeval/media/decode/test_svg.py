import base64

import pytest

from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    UnsupportedMediaError,
)
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits
from mmeval.media.decode.svg import checked_size
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

RED = '<rect width="9" height="9" fill="red"/>'
OUTSIDE = (
    '<image href="/tmp/a.png"/>',
    '<rect fill="url(other.svg#a)"/>',
    '<filter id="a"><feImage href="/etc/passwd"/></filter>',
    "<style>rect { fill: url(other.svg#a) }</style>",
)


def data(inner: str, attributes: str = 'width="9" height="6"') -> bytes:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{inner}</svg>'.encode()
    )


def svg(inner: str, attributes: str = 'width="9" height="6"') -> Media:
    return Media.from_bytes(data(inner, attributes))


def test_a_drawing_is_transparent_where_nothing_is_drawn_and_text_has_one_font() -> (
    None
):
    picture = decode.image(svg('<rect width="4" height="6" fill="red"/>'))
    assert (picture.mode, picture.size) == ("RGBA", (9, 6))
    assert (picture.getpixel((1, 1)), picture.getpixel((8, 1))) == (
        (255, 0, 0, 255),
        (0, 0, 0, 0),
    )
    assert decode.image(svg(RED, "")).size == (9, 9), "as large as what it shows"
    within = decode.image(
        svg(picture_of(tiny.picture(size=(9, 9), colour=(0, 0, 255))))
    )
    assert within.getpixel((4, 4)) == (0, 0, 255, 255)
    ours = decode.image(svg('<text y="6" font-size="6">A</text>'))
    assert ours.getbbox() is not None
    for family in ("DejaVu Sans", "serif", "monospace", "unknown"):
        assert (
            decode.image(
                svg(f'<text y="6" font-size="6" font-family="{family}">A</text>')
            ).tobytes()
            == ours.tobytes()
        )


def test_a_drawing_has_the_size_that_it_states() -> None:
    sizes = {
        'width="1in" height="48px"': (96, 48),
        'width="25.4mm" height="3pc"': (96, 48),
        'width="2.54cm" height="36pt"': (96, 48),
        'width="2em" height="2ex"': (32, 16),
        'viewBox="0 0 30 20"': (30, 20),
        'width="60" viewBox="0 0 30 20"': (60, 40),
        'height="60" viewBox="0 0 30 20"': (90, 60),
        'width="100%" height="50%" viewBox="0 0 30 20"': (30, 10),
    }
    actual = {attributes: checked_size(data(RED, attributes)) for attributes in sizes}
    assert {
        attributes: tuple(map(round, size))
        for attributes, size in actual.items()
        if size
    } == sizes
    for attributes in ("", 'width="3"', 'width="nan" height="inf" viewBox="a b c d"'):
        assert checked_size(data(RED, attributes)) is None


def picture_of(pixels: bytes) -> str:
    return (
        '<image width="9" height="9" '
        f'href="data:image/png;base64,{base64.b64encode(pixels).decode()}"/>'
    )


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        *((inner, "something outside") for inner in OUTSIDE),
        ('<style>@import "other.css";</style>', "@import"),
        (r'<rect style="fill: \75rl(other.svg#a)"/>', "backslash"),
        ("<foreignObject><p>words</p></foreignObject>", "foreignObject"),
        *(
            (picture_of(pixels), "not PNG")
            for pixels in (data(""), b"", b"\x89PNX\r\n")
        ),
        ("<g>", "mismatched tag"),
    ],
    ids=lambda text: text[:30],
)
def test_a_drawing_that_cannot_be_drawn_by_itself_is_refused(
    inner: str, words: str
) -> None:
    with pytest.raises(Exception, match=words):
        checked_size(data(inner))


@pytest.mark.parametrize(
    "inner",
    [
        '<use href="#nothing"/>',
        picture_of(tiny.picture()),
        '<a href="https://a.example"/><script>x()</script>',
        "<switch><foreignObject/></switch>",
    ],
    ids=lambda text: text[:30],
)
def test_a_drawing_that_names_nothing_outside_is_accepted(inner: str) -> None:
    assert checked_size(data(inner)) == (9, 6)


@pytest.mark.parametrize(
    "inner",
    [
        "".join(
            f'<g id="a{at}">' + f'<use href="#a{at + 1}"/>' * 10 + "</g>"
            for at in range(12)
        )
        + '<g id="a12"/>',
        '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g><use href="#a"/>',
    ],
    ids=("repeated", "in a circle"),
)
def test_a_drawing_without_end_ends_the_drawing_process_at_most(inner: str) -> None:
    with pytest.raises(ContentError):
        decode.image(svg(inner))
    assert decode.image(svg(RED)).size == (9, 6)


def test_a_drawing_with_a_page_inside_is_not_damaged() -> None:
    with pytest.raises(UnsupportedMediaError):
        decode.image(svg("<foreignObject><p>words</p></foreignObject>"))


def test_a_drawing_that_is_damaged_or_above_a_limit_is_a_typed_error() -> None:
    damaged = b"<html/>"
    with pytest.raises(CorruptMediaError, match="not svg"):
        decode.image(Media(data=damaged, mime="image/svg+xml", size=len(damaged)))
    wide = svg(RED, 'width="1e30in" height="9"')
    long = svg("<!--" + "x" * 8 * 2**20 + "-->")
    large = [
        (wide, DecodeLimits(), "max_drawn_pixels = 12000000"),
        (long, DecodeLimits(), "= 8388608"),
    ]
    for medium, limits, limit in (
        *large,
        (svg(RED), DecodeLimits(max_pixels=53), "max_pixels = 53"),
    ):
        with pytest.raises(MediaLimitError, match=limit):
            decode.image(medium, limits=limits)
