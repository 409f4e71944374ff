from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.errors import CorruptMediaError, MediaLimitError, MissingDataError, MissingExtraError
from mmeval.installation import install_command
from tests.support import tiny_media as tiny
from tests.support.decoders import DECODERS

SOUND_FILES = [("WAV", None), ("FLAC", None), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("AIFF", None), ("MP3", None)]
WHOLE = {
    "png": ("image", tiny.picture("PNG", size=(64, 64))),
    "jpeg": ("image", tiny.picture("JPEG")),
    "webp": ("image", tiny.picture("WEBP")),
    **{f"{form} {subtype}": ("audio", tiny.sound(form, subtype)) for form, subtype in SOUND_FILES},
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
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_file_cut_short_is_corrupt_and_no_library_chatters(
    name: str, share: float, capfd: pytest.CaptureFixture[str]
) -> None:
    what, whole = WHOLE[name]
    half = Media(data=whole[: int(len(whole) * share)], mime=Media.from_bytes(whole).mime, name="half")
    with pytest.raises(CorruptMediaError, match=r"^half: it "):
        DECODERS[what](half)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", WHOLE)
def test_noise_behind_a_whole_header_ends_quickly_in_a_typed_error_or_a_result(name: str) -> None:
    what, whole = WHOLE[name]
    noise = np.random.default_rng(7).bytes(len(whole))
    start = time.monotonic()
    for cut in (12, len(whole) // 4, len(whole) // 2):
        try:
            DECODERS[what](Media(data=whole[:cut] + noise[cut:], mime=Media.from_bytes(whole).mime))
        except (CorruptMediaError, MediaLimitError) as error:
            assert " at 0x" not in str(error)
    assert time.monotonic() - start < 5.0


@pytest.mark.parametrize("what", DECODERS)
def test_an_empty_file_is_corrupt(what: str) -> None:
    with pytest.raises(CorruptMediaError, match="empty"):
        DECODERS[what](Media.from_bytes(b"", "a.bin"))


@pytest.mark.parametrize("what", DECODERS)
def test_content_of_another_kind_is_named(what: str) -> None:
    with pytest.raises(CorruptMediaError, match="it is text/plain"):
        DECODERS[what](Media.from_bytes(b"plain words", "photo.png"))


def test_a_file_above_the_byte_limit_is_not_read(tmp_path: Path) -> None:
    big = tmp_path / "big.png"
    with big.open("wb") as file:
        file.truncate(2**31)  # of nothing: it takes no room on the disk
    with pytest.raises(MediaLimitError, match=r"big\.png: 2147483648 bytes found, above the limit max_bytes"):
        decode.image(Media.from_path(big))


def test_a_file_that_has_gone_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").unlink()
    with pytest.raises(MissingDataError, match="gone"):
        decode.image(media)


@pytest.mark.parametrize(
    ("what", "package", "extra"),
    [("image", "PIL", "image"), ("video", "av", "video"), ("mesh", "trimesh", "3d"), ("pages", "pypdfium2", "doc")],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    what: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.import_module", _without(package))
    with pytest.raises(MissingExtraError, match=re.escape(install_command(extra))):
        DECODERS[what](Media.from_bytes(tiny.picture()))


def _without(package: str) -> Callable[[str], object]:
    def find(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    return find


def test_a_picture_that_no_library_knows_is_named_once() -> None:
    with pytest.raises(CorruptMediaError, match=r"\(cannot identify the file\)"):
        DECODERS["image"](Media(data=b"noise" * 20, mime="image/png", name="noise"))
