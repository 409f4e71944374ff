from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.backend.handshake import media
from mmeval.broker.checks.unread_media import MAX_CHARS, unread_media
from mmeval.media.media import Media
from mmeval.media.parts import PartKind
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage
from tests.support import toy
from tests.support.handshakes import counted, failed

PICTURE = media.picture(["red", "blue"])
SOUND = media.beeps([1, 2, 3, 4])
TEXT = "What is on the picture?"


def unread(
    *shown: Media, tokens: int, text: str = TEXT, response: Response | None = None
) -> Sequence[PartKind]:
    request: Request = toy.request(text, *shown)
    return unread_media(request, response or counted("a cat", tokens))


def test_a_picture_that_adds_no_tokens_was_not_read() -> None:
    assert unread(PICTURE, tokens=12) == ("image",)


def test_a_sound_that_adds_no_tokens_was_not_read() -> None:
    assert unread(SOUND, tokens=12) == ("audio",)


def test_each_kind_is_named_once() -> None:
    assert unread(PICTURE, SOUND, PICTURE, tokens=12) == ("image", "audio")


def test_a_picture_that_adds_tokens_was_read() -> None:
    assert unread(PICTURE, tokens=12 + 64) == ()


def test_a_server_that_counts_no_tokens_shows_nothing() -> None:
    assert unread(PICTURE, tokens=0) == ()


def test_a_text_without_media_has_nothing_unread() -> None:
    assert unread(tokens=12) == ()


def test_a_long_text_varies_more_than_a_picture_adds() -> None:
    assert unread(PICTURE, tokens=12, text="a" * (MAX_CHARS + 1)) == ()


def test_a_small_picture_may_add_few_tokens() -> None:
    assert unread(toy.picture(), tokens=12) == ()


def test_a_document_may_be_sent_as_text() -> None:
    assert unread(media.page("PLATE"), tokens=12) == ()


def test_a_failed_call_shows_nothing() -> None:
    response = replace(failed(), usage=Usage(12, 0))

    assert unread(PICTURE, tokens=12, response=response) == ()


@pytest.mark.parametrize("chars", [0, 200, 800])
def test_a_text_with_the_smallest_picture_is_not_reported(chars: int) -> None:
    # English has about four characters a token
    assert unread(PICTURE, tokens=chars // 4 + 64, text="a" * chars) == ()
