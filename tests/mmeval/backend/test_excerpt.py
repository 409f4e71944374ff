import io
import re

import numpy as np
import pytest
import soundfile

from mmeval.backend import excerpt
from mmeval.backend.excerpt import (
    document_excerpt,
    is_large,
    is_long,
    smaller,
    sound_excerpt,
)
from mmeval.errors import CorruptMediaError, UnsupportedMediaError
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits, audio, image
from mmeval.media.media import Media
from mmeval.media.parts import Part
from tests.support.tiny_media import pdf, picture, sound, word
from tests.support.unread_media import UNREAD


def tone(seconds: float, rate: int = 8000, channels: int = 1) -> Media:
    """A tone that is louder on the left."""
    wave = np.sin(np.arange(int(seconds * rate)) * 440 * 2 * np.pi / rate)
    file = io.BytesIO()
    soundfile.write(
        file, np.stack([wave * 0.8, wave * 0.4][:channels], axis=1), rate, format="WAV"
    )
    return Media.from_bytes(file.getvalue())


def numbers(about: str) -> list[str]:
    return re.findall(r"[\d,]+", about)


def the_only(made: tuple[list[Part], str]) -> Media:
    ((part,), _) = made
    assert part.media is not None
    return part.media


def test_a_sound_that_is_too_long_becomes_its_beginning_in_one_channel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excerpt, "MAX_AUDIO_SECONDS", 2)
    long = tone(3.5, rate=44100, channels=2)
    assert [is_long(one, DEFAULT_LIMITS) for one in (long, tone(2.0), tone(2.01))] == [
        True,
        False,
        True,
    ]
    made = sound_excerpt(long, DEFAULT_LIMITS)
    heard = audio(the_only(made))
    assert ("2 seconds" in made[1], "16,000 Hz" in made[1]) == (True, True)
    assert (the_only(made).mime, heard.rate, heard.samples.shape) == (
        "audio/wav",
        16000,
        (32000, 1),
    )
    assert np.abs(heard.samples).max() == pytest.approx(0.6, abs=0.02)
    limits = DecodeLimits(max_audio_seconds=2.5)
    assert audio(the_only(sound_excerpt(tone(4), limits))).seconds == 2, (
        "though it is not decoded whole"
    )


def test_a_short_sound_in_a_form_that_servers_do_not_name_becomes_wav() -> None:
    flac = Media.from_bytes(sound("FLAC"))
    made = sound_excerpt(flac, DEFAULT_LIMITS)
    assert is_long(flac, DEFAULT_LIMITS)
    assert (the_only(made).mime, "16,000" in made[1]) == ("audio/wav", True)


def test_a_large_picture_is_made_smaller_and_keeps_its_proportions() -> None:
    large, usual = (
        Media.from_bytes(picture(size=size)) for size in ((4100, 2050), (4096, 8))
    )
    made = smaller(large, DEFAULT_LIMITS)
    assert (is_large(large, DEFAULT_LIMITS), is_large(usual, DEFAULT_LIMITS)) == (
        True,
        False,
    )
    assert (image(the_only(made)).size, numbers(made[1])) == (
        (4096, 2048),
        ["4096", "2048"],
    )
    # Only forms that are not taken everywhere are changed.
    png, tiff = (Media.from_bytes(picture(form)) for form in ("PNG", "TIFF"))
    assert (is_large(png, DEFAULT_LIMITS), is_large(tiff, DEFAULT_LIMITS)) == (
        False,
        True,
    )
    assert image(the_only(smaller(tiff, DEFAULT_LIMITS))).size == (8, 4)


@pytest.mark.parametrize(
    ("document", "text", "about"),
    [
        (Media.from_bytes("ä".encode() * 25_000, "a.txt"), "ä" * 20_000, "20,000"),
        (Media.from_bytes(b"a,b\n1,2\n", "a.csv"), "a,b\n1,2\n", "8"),
        (
            Media.from_bytes(word("Dear guest,", "welcome.")),
            "Dear guest,\nwelcome.\n",
            "21",
        ),
    ],
    ids=["a long text", "a short text", "a word document"],
)
def test_the_words_of_a_document_are_read_up_to_a_limit(
    document: Media, text: str, about: str
) -> None:
    ((part,), found) = document_excerpt(document, DEFAULT_LIMITS)
    assert (part.kind, part.text, numbers(found)) == ("text", f"\n{text}\n", [about])
    assert (
        excerpt.MAX_AUDIO_SECONDS,
        excerpt.MAX_SIDE,
        excerpt.MAX_DOCUMENT_CHARS,
    ) == (300, 4096, 20_000)


def test_a_pdf_of_many_pages_has_a_beginning_and_one_without_words_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excerpt, "MAX_DOCUMENT_CHARS", 30)
    monkeypatch.setattr(excerpt, "MAX_DOCUMENT_PAGES", 2)
    words = "Hello there\n"
    ((part,), about) = document_excerpt(
        Media.from_bytes(pdf("Hello there", pages=5)), DecodeLimits(max_pages=2)
    )
    assert (part.text, numbers(about)) == (f"\n{2 * words}Hello \n", ["30"])
    parts, about = document_excerpt(Media.from_bytes(pdf("", pages=3)), DEFAULT_LIMITS)
    assert ([part.kind for part in parts], numbers(about)[0]) == (
        ["image", "image"],
        "2",
    )


@pytest.mark.parametrize("name", ["old word", "zip"])
def test_a_format_that_nothing_here_reads_is_not_damaged(name: str) -> None:
    with pytest.raises(UnsupportedMediaError):
        document_excerpt(UNREAD[name].media, DEFAULT_LIMITS)


def test_noise_is_a_damaged_document() -> None:
    with pytest.raises(CorruptMediaError):
        document_excerpt(Media.from_bytes(bytes(range(256))), DEFAULT_LIMITS)
