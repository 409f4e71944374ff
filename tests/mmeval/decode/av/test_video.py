from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support import tiny_media as tiny
from tests.support.decoders import every_frame


@pytest.mark.parametrize(("form", "codec"), [("mp4", "mpeg4"), ("webm", "libvpx-vp9"), ("avi", "mpeg4")])
def test_all_frames_of_a_video_come_in_order_with_their_times(form: str, codec: str) -> None:
    frames = list(decode.video(Media.from_bytes(tiny.clip(form, codec))))
    assert [frame.index for frame in frames] == list(range(20))
    assert [frame.time for frame in frames] == pytest.approx([n / 10 for n in range(20)], abs=0.002)
    assert frames[0].rgb.shape == (16, 32, 3)
    assert frames[0].rgb.mean() < frames[19].rgb.mean()


def test_frames_are_found_by_time() -> None:
    frames = list(decode.video(Media.from_bytes(tiny.clip(frames=80)), times=[-1.0, 0.0, 0.55, 0.55, 6.21, 100.0]))
    assert [frame.time for frame in frames] == pytest.approx([0.0, 0.0, 0.5, 0.5, 6.2, 7.9])


def test_a_jump_finds_the_same_frame_as_reading_on() -> None:
    media = Media.from_bytes(tiny.clip(frames=80))
    straight = list(decode.video(media))
    (jumped,) = decode.video(media, times=[5.0])
    assert np.array_equal(jumped.rgb, straight[50].rgb)


def test_frames_are_decoded_only_as_far_as_they_are_asked_for() -> None:
    frames = decode.video(Media.from_bytes(tiny.clip()), limits=DecodeLimits(max_video_frames=3))
    assert [next(frames).index for _ in range(3)] == [0, 1, 2]
    with pytest.raises(MediaLimitError, match="max_video_frames = 3"):
        next(frames)


@pytest.mark.parametrize("limits", [DecodeLimits(max_video_pixels=511), DecodeLimits(max_seconds=0.0)])
def test_a_video_above_a_limit_is_refused(limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit"):
        every_frame(Media.from_bytes(tiny.clip()), limits=limits)


def test_a_video_declares_its_size_rate_and_length() -> None:
    info = decode.video_info(Media.from_bytes(tiny.clip()))
    assert (info.width, info.height, info.rate, info.seconds) == (32, 16, 10.0, 2.0)


def test_a_playlist_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.mp4").write_bytes(tiny.clip())
    playlist = f"#EXTM3U\n#EXTINF:1,\nfile://{tmp_path}/secret.mp4\n#EXT-X-ENDLIST\n".encode()
    with pytest.raises(CorruptMediaError):
        every_frame(Media(data=playlist, mime="video/x-msvideo"))


def test_frames_are_counted_and_found_by_their_place() -> None:
    media = Media.from_bytes(tiny.clip(frames=12))
    every = list(decode.video(media))

    assert decode.frame_count(media) == 12
    found = list(decode.frames_at(media, [7, 2, 99]))

    assert [frame.index for frame in found] == [2, 7]
    assert [np.array_equal(frame.rgb, every[frame.index].rgb) for frame in found] == [True, True]
    assert list(decode.frames_at(media, [])) == []


@pytest.mark.parametrize("limits", [DecodeLimits(max_video_frames=3), DecodeLimits(max_seconds=0.0)])
def test_counting_and_finding_have_the_same_limits(limits: DecodeLimits) -> None:
    media = Media.from_bytes(tiny.clip())
    for work in (
        lambda: decode.frame_count(media, limits=limits),
        lambda: list(decode.frames_at(media, [9], limits=limits)),
    ):
        with pytest.raises(MediaLimitError, match="above the limit"):
            work()


def test_a_sound_alone_has_no_frames_to_count() -> None:
    with pytest.raises(CorruptMediaError):
        decode.frame_count(Media(data=tiny.sound_clip(), mime="video/mp4", size=1))
