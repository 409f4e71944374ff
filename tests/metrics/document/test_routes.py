from itertools import product
from typing import get_args

import pytest

from mmeval.errors import CorruptMediaError
from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS
from mmeval.metrics.document import routes
from mmeval.metrics.document.hints import INCONSISTENT_DECIMALS, NO_UNITS
from mmeval.metrics.document.reading import Ocr
from mmeval.metrics.document.routes import NO_WORDS, Extraction, markdown_route


def gone(data: bytes, name: str = "", *, hints: bool = True) -> tuple[str, str]:
    """What a judge is sent of a document, and what is said about it."""
    (part,), about = markdown_route("by_type", "none", hints=hints).convert(
        Media.from_bytes(data, name), DEFAULT_LIMITS
    )
    assert part.text is not None
    return part.text, about


def test_the_words_go_with_their_hints_and_of_a_long_document_the_beginning() -> None:
    text, about = gone(b"a,b\n1.5,2.25\n", "a.csv")
    assert (
        text == "| a | b |\n| --- | --- |\n| 1.5 | 2.25 |\n\nHints: "
        f"{INCONSISTENT_DECIMALS}; {NO_UNITS}"
    )
    assert [
        word in about for word in ("38 characters", "hints: ", "| 1.5 | 2.25 |';")
    ] == [True] * 3
    text, about = gone(b"1.5 and 2.25", hints=False)
    assert text == "1.5 and 2.25"
    assert "hints" not in about
    assert about[:13] == "12 characters"
    text, about = gone(b"long words " * 5000, hints=False)
    assert len(text) == 40_000
    assert "40,000 characters" in about[:40]
    assert len(about) < 400
    assert gone(b"x" * 40_000, hints=False)[1].startswith("40,000 characters")
    with pytest.raises(CorruptMediaError, match=NO_WORDS):
        gone(b" \n ")


def test_a_document_is_read_once_and_in_the_release_only_pictures_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = iter(["words"])
    monkeypatch.setattr(
        routes, "document_markdown", lambda media, limits, *, ocr: next(words)
    )
    medium = Media.from_bytes(b"anything")
    ways = product(get_args(Extraction), get_args(Ocr), (True, False))
    assert (
        len(
            {
                markdown_route(extraction, ocr, hints=hints).name
                for extraction, ocr, hints in ways
            }
        )
        == 8
    )
    for hints in (True, False, True):
        markdown_route("by_type", "none", hints=hints).convert(medium, DEFAULT_LIMITS)
    monkeypatch.setattr(routes, "picture_markdown", lambda media, limits: "")
    route = markdown_route("pictures", "rapidocr", hints=False)
    (part,), about = route.convert(Media.from_bytes(b"x"), DEFAULT_LIMITS)
    assert part.text == ""
    assert about == "0 characters of Markdown;"
