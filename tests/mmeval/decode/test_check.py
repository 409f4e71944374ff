from __future__ import annotations

import re

import pytest

from mmeval.content.media import Media
from mmeval.decode import check
from mmeval.decode.check import MediaLook
from mmeval.errors import MissingExtraError
from tests.support import tiny_media


def test_a_sound_medium_has_no_fault_and_one_that_is_cut_short_has() -> None:
    look = MediaLook()

    assert look.fault(Media.from_bytes(tiny_media.picture())) == ""
    assert look.fault(Media.from_bytes(tiny_media.wav())) == ""
    assert "cut short" in look.fault(Media.from_bytes(tiny_media.wav()[:-10], "cut.wav"))
    assert (look.looked_at, look.warnings(), look.remark()) == (3, [], "")


def test_when_the_seconds_are_over_the_rest_is_counted() -> None:
    look = MediaLook(seconds=1e-9)

    assert [look.fault(Media.from_bytes(data)) for data in (tiny_media.picture(), b"\x89PNG\r\n\x1a\n broken")] == [
        "",
        "",
    ]
    assert re.fullmatch(
        r"1 of 2 media were decoded, which took \d+ seconds; whether the others are damaged is not known", look.remark()
    )


def test_what_is_not_installed_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_media: Media) -> None:
        raise MissingExtraError("PIL", "image")

    monkeypatch.setattr(check, "_DECODERS", {"image": absent})
    look = MediaLook()

    assert [look.fault(Media.from_bytes(tiny_media.picture())) for _ in range(2)] == ["", ""]
    (said,) = look.warnings()
    assert said.startswith("image: not decoded")
    assert "PIL is not installed; run: " in said
