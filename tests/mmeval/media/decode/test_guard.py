import sys
from pathlib import Path

import numpy as np
import pytest

from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    MissingDataError,
    MissingExtraError,
    UnsupportedMediaError,
)
from mmeval.media import decode
from mmeval.media.decode.guard import decoding
from mmeval.media.media import Media
from tests.support import tiny_media as tiny
from tests.support.decoders import DECODERS
from tests.support.unread_media import DAMAGED, UNREAD

OF_KIND = {
    "image": DECODERS["image"],
    "audio": DECODERS["audio"],
    "video": DECODERS["video"],
    "3d": DECODERS["mesh"],
    "document": decode.document_text,
}

WHOLE = {
    "png": ("image", tiny.picture("PNG", size=(64, 64))),
    "jpeg": ("image", tiny.picture("JPEG")),
    **{
        form: ("audio", tiny.sound(form))
        for form in ("WAV", "FLAC", "OGG", "AIFF", "MP3")
    },
    "mp4": ("video", tiny.clip()),
    "webm": ("video", tiny.clip("webm", "libvpx-vp9")),
    "avi": ("video", tiny.clip("avi")),
    "off": ("mesh", tiny.PLAIN_OFF),
    "ply": ("mesh", tiny.PLAIN_PLY),
    "binary stl": ("mesh", tiny.binary_stl(2)),
    "glb": ("mesh", tiny.glb()),
    "pdf": ("pages", tiny.pdf()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_cut_short_is_corrupt_and_noise_a_typed_error(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    decoder, complete = WHOLE[name]
    mime = Media.from_bytes(complete).mime
    noise = np.random.default_rng(7).bytes(len(complete))
    for share in (0.1, 0.5):
        with pytest.raises(CorruptMediaError, match=r"^half: it "):
            DECODERS[decoder](
                Media(
                    data=complete[: int(len(complete) * share)], mime=mime, name="half"
                )
            )
    assert capfd.readouterr() == ("", "")
    for cut in (12, len(complete) // 4, len(complete) // 2):
        try:
            DECODERS[decoder](Media(data=complete[:cut] + noise[cut:], mime=mime))
        except ContentError as error:
            assert " at 0x" not in str(error)


@pytest.mark.parametrize("name", UNREAD)
def test_a_medium_that_is_not_read_here_is_not_damaged(name: str) -> None:
    kind, _ = UNREAD[name]
    with pytest.raises(UnsupportedMediaError):
        OF_KIND[kind](UNREAD[name].media)


@pytest.mark.parametrize("name", DAMAGED)
def test_noise_half_a_file_and_another_kind_are_damaged(name: str) -> None:
    kind, _ = DAMAGED[name]
    with pytest.raises(CorruptMediaError):
        OF_KIND[kind](DAMAGED[name].media)


def test_nothing_content_of_another_kind_and_too_many_bytes_are_named(
    tmp_path: Path,
) -> None:
    for decoder in DECODERS.values():
        with pytest.raises(CorruptMediaError, match="empty"):
            decoder(Media.from_bytes(b"", "a.bin"))
        with pytest.raises(CorruptMediaError, match="text/plain"):
            decoder(Media.from_bytes(b"plain words", "photo.png"))
    with (tmp_path / "big.png").open("wb") as file:
        file.truncate(2**31)  # of nothing: it takes no room on the disk
    with pytest.raises(
        MediaLimitError, match=r"big\.png: 2147483648 .* max_bytes = 536870912"
    ):
        decode.image(Media.from_path(tmp_path / "big.png"))


def test_a_missing_package_has_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError) as caught:
        DECODERS["video"](Media.from_bytes(tiny.picture()))
    assert (caught.value.package, caught.value.extra) == ("av", "video")


def test_an_error_of_a_library_has_a_short_reason() -> None:
    object_at = ValueError(
        "cannot identify image file <_io.BytesIO object at 0x7f>\nmore"
    )
    corrupt = {
        object_at: "the file)",
        KeyError(): "(KeyError)",
        ValueError("x" * 400): f"({'x' * 300})",
    }
    errors: list[tuple[Exception, type[Exception], str]]
    errors = [(error, CorruptMediaError, reason) for error, reason in corrupt.items()]
    errors += [
        (MemoryError(), MediaLimitError, "memory"),
        (NotImplementedError("later"), UnsupportedMediaError, "(later)"),
        (OSError("Unsupported BMP bits"), UnsupportedMediaError, "BMP"),
        (MissingDataError("gone"), MissingDataError, "gone"),
    ]
    for error, kind, reason in errors:
        with (
            pytest.raises(kind) as caught,
            decoding(Media.from_bytes(b"x", "noise"), "a picture"),
        ):
            raise error
        assert reason in str(caught.value)
