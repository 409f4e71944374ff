from __future__ import annotations

import base64

import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support import tiny_media as tiny

RED = '<rect width="9" height="9" fill="red"/>'


def svg(inner: str, attributes: str = 'width="9" height="6"') -> Media:
    return Media.from_bytes(f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{inner}</svg>'.encode())


def test_a_drawing_becomes_a_picture_that_is_transparent_where_nothing_is_drawn() -> None:
    picture = decode.image(svg('<rect width="4" height="6" fill="red"/>'))
    assert (picture.mode, picture.size) == ("RGBA", (9, 6))
    assert (picture.getpixel((1, 1)), picture.getpixel((8, 1))) == ((255, 0, 0, 255), (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="1in" height="48px"', (96, 48)),
        ('width="25.4mm" height="3pc"', (96, 48)),
        ('viewBox="0 0 30 20"', (30, 20)),
        ('width="60" viewBox="0 0 30 20"', (60, 40)),
        ('width="100%" height="50%" viewBox="0 0 30 20"', (30, 10)),
        ("", (9, 9)),
    ],
)
def test_a_drawing_has_the_size_that_it_states(attributes: str, size: tuple[int, int]) -> None:
    assert decode.image(svg(RED, attributes)).size == size


@pytest.mark.parametrize("family", ["DejaVu Sans", "Arial", "serif", "monospace", "nobody's"])
def test_text_is_drawn_whatever_font_it_asks_for(family: str) -> None:
    asked = decode.image(svg(f'<text y="6" font-size="6" font-family="{family}">A</text>'))
    ours = decode.image(svg('<text y="6" font-size="6">A</text>'))
    assert asked.tobytes() == ours.tobytes()
    assert asked.getbbox() is not None


def test_a_picture_within_a_drawing_is_drawn() -> None:
    data = base64.b64encode(tiny.picture(size=(9, 9), colour=(0, 0, 255))).decode()
    picture = decode.image(svg(f'<image width="9" height="9" href="data:image/png;base64,{data}"/>'))
    assert picture.getpixel((4, 4)) == (0, 0, 255, 255)


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ('<image href="/tmp/a.png"/>', "names something outside of itself"),
        ('<image href="https://a.example/b.png"/>', "names something outside of itself"),
        ('<use href="other.svg#a"/>', "names something outside of itself"),
        ('<rect fill="url(other.svg#a)"/>', "names something outside of itself"),
        ("<style>rect { fill: url(other.svg#a) }</style>", "names something outside of itself"),
        ('<style>@import "other.css";</style>', "a backslash or an @import"),
        (r'<rect style="fill: \75rl(other.svg#a)"/>', "a backslash or an @import"),
        ("<foreignObject><p>words</p></foreignObject>", "foreignObject, which is not drawn"),
        ('<g id="a"><use href="#a"/></g>', "in a circle"),
        ("<g>", "mismatched tag"),
    ],
)
def test_a_drawing_that_cannot_be_drawn_by_itself_is_refused(inner: str, words: str) -> None:
    with pytest.raises(CorruptMediaError, match=words):
        decode.image(svg(inner))


def test_an_entity_is_refused() -> None:
    data = b'<!DOCTYPE svg SYSTEM "a" [<!ENTITY a "b">]>' + svg("&a;").read()
    with pytest.raises(CorruptMediaError, match="declares an entity"):
        decode.image(Media(data=data, mime="image/svg+xml", size=len(data)))


def test_links_scripts_and_a_foreign_object_with_another_way_out_do_no_harm() -> None:
    inner = f'<a href="https://a.example">{RED}</a><script>x()</script><switch><foreignObject/>{RED}</switch>'
    assert decode.image(svg(inner)).getpixel((4, 4)) == (255, 0, 0, 255)


@pytest.mark.parametrize(
    "attributes", ['width="5000" height="5000"', 'viewBox="0 0 5000 5000"', 'width="1e30in" height="9"']
)
def test_a_drawing_that_is_too_large_is_refused(attributes: str) -> None:
    with pytest.raises(MediaLimitError, match="above the limit max_drawn_pixels = 12000000"):
        decode.image(svg(RED, attributes))


def test_a_drawing_is_held_to_the_limits_of_pictures() -> None:
    with pytest.raises(MediaLimitError, match="max_pixels = 53"):
        decode.image(svg(RED), limits=DecodeLimits(max_pixels=53))
