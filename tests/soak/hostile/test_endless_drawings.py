"""Drawings of many nested elements or attributes end the drawing process at most."""

import pytest

from mmeval.errors import ContentError
from mmeval.media import decode
from tests.mmeval.media.decode.test_svg import RED, svg


@pytest.mark.parametrize(
    "inner",
    [
        "<g>" * 100_000 + "</g>" * 100_000,
        "<g " + " ".join(f'a{number}=""' for number in range(50_000)) + "/>",
    ],
    ids=("nested", "attributes"),
)
def test_the_next_drawing_is_drawn(inner: str) -> None:
    with pytest.raises(ContentError):
        decode.image(svg(inner))
    assert decode.image(svg(RED)).size == (9, 6)
