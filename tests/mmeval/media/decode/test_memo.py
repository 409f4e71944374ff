import weakref
from importlib import import_module
from typing import Any

import pytest
import soundfile
from PIL import Image

from mmeval.errors import CorruptMediaError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits, memo
from mmeval.media.media import Media
from tests.support import tiny_media as tiny
from tests.support.decoders import every_frame, every_page

WHOLE = {
    "image": (decode.image, tiny.picture(), Image, "open"),
    "audio": (decode.audio, tiny.wav(), soundfile, "SoundFile"),
    "mesh": (
        decode.raw_mesh_arrays,
        tiny.PLAIN_OFF,
        import_module("mmeval.media.decode.mesh"),
        "steps_apart",
    ),
    "document_text": (
        decode.document_text,
        tiny.pdf(),
        import_module("mmeval.media.decode.document"),
        "steps_apart",
    ),
}


def counted(monkeypatch: pytest.MonkeyPatch, library: Any, name: str) -> list[Any]:
    """Record the calls of a library function, which still runs."""
    calls: list[Any] = []
    real = getattr(library, name)

    def noted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return real(*args, **options)

    monkeypatch.setattr(library, name, noted)
    return calls


@pytest.mark.parametrize("name", WHOLE)
def test_a_medium_is_decoded_once_for_its_limits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder, data, library, function = WHOLE[name]
    calls, media = counted(monkeypatch, library, function), Media.from_bytes(data)
    for limits in (
        DecodeLimits(),
        DecodeLimits(),
        DecodeLimits(max_bytes=10_000),
        DecodeLimits(),
    ):
        decoder(media, limits=limits)
    assert len(calls) == 2
    monkeypatch.setattr(memo, "MAX_KEPT_BYTES", 5)
    large = Media.from_bytes(data)
    assert decoder(large) is not decoder(large)
    assert large.memo == {}


def test_errors_and_streams_are_not_kept_and_results_go_with_their_medium(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_calls = counted(monkeypatch, Image, "open")
    media = Media.from_bytes(tiny.picture(size=(64, 64))[:60])
    for _ in range(2):
        with pytest.raises(CorruptMediaError):
            decode.image(media)
    assert (len(open_calls), media.memo) == (2, {})
    film, book, sound = map(Media.from_bytes, (tiny.clip(), tiny.pdf(), tiny.wav()))
    assert (every_frame(film), every_page(book)) == (20, 1)
    assert (film.memo, book.memo) == ({}, {})
    samples = weakref.ref(decode.audio(sound).samples)
    assert samples() is not None
    del sound
    assert samples() is None


def test_a_picture_that_one_metric_changes_is_whole_for_the_next() -> None:
    media = Media.from_bytes(tiny.picture(colour=(9, 9, 9)))
    decode.image(media).putpixel((0, 0), (1, 2, 3))
    decode.image(media).thumbnail((2, 2))
    assert (decode.image(media).size, decode.image(media).getpixel((0, 0))) == (
        (8, 4),
        (9, 9, 9),
    )
