import io

import pytest
import soundfile

from mmeval.media.decode.av.unread_sound import is_unread
from tests.support import tiny_media as tiny
from tests.support.unread_media import deep_flac, deep_wav, patched


def refused(data: bytes, mime: str) -> bool:
    """True if libsndfile rejects a sound that ``is_unread`` calls unsupported."""
    with pytest.raises(soundfile.LibsndfileError) as caught:
        soundfile.SoundFile(io.BytesIO(data))
    return is_unread(data, mime, caught.value.code)


@pytest.mark.parametrize("codec", [b"\x61\1", b"\x42\0"], ids=bytes.hex)
def test_a_wav_of_a_codec_that_is_not_read_is_not_damaged(codec: bytes) -> None:
    assert refused(patched(tiny.wav(), 20, codec), "audio/wav")


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (deep_wav(), "audio/wav"),
        (patched(tiny.wav(), 34, b"\x40"), "audio/wav"),
        (deep_flac(), "audio/flac"),
        (tiny.sound("AIFF", "ULAW").replace(b"ulaw", b"QDM2"), "audio/aiff"),
    ],
    ids=["short floats", "long integers", "twenty bits", "an unknown codec"],
)
def test_a_depth_or_a_codec_that_is_not_read_is_not_damaged(
    data: bytes, mime: str
) -> None:
    assert refused(data, mime)


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (tiny.wav()[:30], "audio/wav"),
        (patched(tiny.wav(), 12, b"junk"), "audio/wav"),
        (tiny.sound("FLAC")[:40], "audio/flac"),
        (tiny.sound("FLAC")[:10], "audio/flac"),
        (tiny.sound("OGG", "VORBIS")[:40], "audio/ogg"),
    ],
    ids=["cut WAV", "no format", "cut FLAC", "marks alone", "cut OGG"],
)
def test_a_sound_whose_header_is_damaged_is_damaged(data: bytes, mime: str) -> None:
    assert not refused(data, mime)


def test_an_ogg_of_another_codec_is_not_damaged() -> None:
    speex = b"OggS" + bytes(24) + b"Speex   1.2" + bytes(40)
    assert is_unread(speex, "audio/ogg", 3)
