from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits, VideoInfo
from mmeval.media.decode.av.container import decoded
from mmeval.media.decode.guard import decoding
from mmeval.media.media import Media
from tests.support import tiny_media as tiny
from tests.support.decoders import every_frame
from tests.support.pictures import clip_of, greys

FRAMES: dict[str, Callable[..., Any]] = {
    "every frame": every_frame,
    "count": decode.frame_count,
    "by place": lambda media, limits: list(
        decode.frames_at(media, [19], limits=limits)
    ),
    "by time": lambda media, limits: list(
        decode.video(media, times=[1.9], limits=limits)
    ),
}


@pytest.mark.parametrize(
    ("form", "codec"), [("mp4", "mpeg4"), ("webm", "libvpx-vp9"), ("avi", "mpeg4")]
)
def test_all_frames_of_a_video_come_in_order_with_their_times(
    form: str, codec: str
) -> None:
    frames = list(decode.video(Media.from_bytes(tiny.clip(form, codec))))
    assert [frame.index for frame in frames] == list(range(20))
    assert [frame.time for frame in frames] == pytest.approx(
        [n / 10 for n in range(20)], abs=0.002
    )
    assert frames[0].rgb.shape == (16, 32, 3)
    assert frames[0].rgb.mean() < frames[19].rgb.mean()


def test_frames_are_counted_found_by_their_place_and_decoded_only_as_far_as_they_are_asked_for() -> (
    None
):
    media = Media.from_bytes(tiny.clip(frames=12))
    every = list(decode.video(media))
    chosen = list(decode.frames_at(media, [7, 2, 99]))
    assert decode.frame_count(media) == 12
    assert [(frame.index, frame.time) for frame in chosen] == [(2, 0.2), (7, 0.7)]
    assert [np.array_equal(frame.rgb, every[frame.index].rgb) for frame in chosen] == [
        True,
        True,
    ]
    assert list(decode.frames_at(media, [])) == []
    frames = decode.video(media, limits=DecodeLimits(max_video_frames=3))
    assert [next(frames).index for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("work", FRAMES.values(), ids=FRAMES)
def test_a_video_above_a_limit_is_refused(work: Callable[..., Any]) -> None:
    media = Media.from_bytes(tiny.clip())
    assert work(media, limits=DecodeLimits(max_video_frames=20))
    for limits in (
        DecodeLimits(max_video_frames=19),
        DecodeLimits(max_video_pixels=511),
        DecodeLimits(max_seconds=0),
    ):
        with pytest.raises(MediaLimitError, match="above the limit"):
            work(media, limits=limits)


def test_a_video_declares_its_size_and_a_jump_finds_the_same_frames_as_reading_on() -> (
    None
):
    media = Media.from_bytes(tiny.clip())
    assert decode.video_info(
        media, limits=DecodeLimits(max_video_pixels=512)
    ) == VideoInfo(32, 16, 10.0, 2.0)
    with pytest.raises(MediaLimitError, match="max_video_pixels = 511"):
        decode.video_info(media, limits=DecodeLimits(max_video_pixels=511))
    media = Media.from_bytes(tiny.clip(frames=80))
    straight = list(decode.video(media))
    frames = list(decode.video(media, times=[-1.0, 0.0, 0.55, 0.55, 6.21, 100.0]))
    assert [frame.time for frame in frames] == pytest.approx(
        [0.0, 0.0, 0.5, 0.5, 6.2, 7.9]
    )
    assert np.array_equal(frames[4].rgb, straight[62].rgb) and np.array_equal(
        frames[5].rgb, straight[79].rgb
    )
    with pytest.raises(CorruptMediaError, match="ascend"):
        list(decode.video(media, times=[1.0, 0.5]))


@pytest.mark.parametrize("work", [every_frame, decode.frame_count, decode.video_info])
def test_a_sound_alone_and_a_playlist_are_no_video(
    work: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "secret.mp4").write_bytes(tiny.clip())
    playlist = (
        f"#EXTM3U\n#EXTINF:1,\nfile://{tmp_path}/secret.mp4\n#EXT-X-ENDLIST\n".encode()
    )
    for data, mime in (
        (tiny.sound_clip(), "video/mp4"),
        (playlist, "video/x-msvideo"),
        (tiny.wav(), "audio/wav"),
    ):
        with pytest.raises(CorruptMediaError):
            work(Media(data=data, mime=mime))


@pytest.mark.parametrize(
    ("form", "codec", "pixels"),
    [
        ("matroska", "ffv1", "yuv420p"),
        ("avi", "mjpeg", "yuvj420p"),
        ("matroska", "ffv1", "gray"),
        ("mov", "png", "rgb24"),
    ],
)
def test_frames_are_chosen_by_their_place_and_how_much_they_change(
    form: str, codec: str, pixels: str
) -> None:
    clip = clip_of(
        greys(0, 10, 40, 41, 200, 200), form=form, codec=codec, pixels=pixels
    )
    changes: list[float] = []

    def is_chosen(index: int, change: float) -> bool:
        assert index == len(changes)
        changes.append(change)
        return index == 1 or change > 20

    frames = [
        (frame.index, round(frame.time, 3), frame.rgb.shape)
        for frame in decode.frames_by_change(clip, is_chosen)
    ]
    assert changes == pytest.approx([0, 10, 30, 1, 159, 0], abs=1.3)
    assert frames == [
        (1, 0.1, (32, 32, 3)),
        (2, 0.2, (32, 32, 3)),
        (4, 0.4, (32, 32, 3)),
    ]


def test_a_change_is_the_mean_over_pixels() -> None:
    before = np.full((32, 48, 3), 100, np.uint8)
    after = np.full((32, 48, 3), 100, np.uint8)
    after[:16] = 140
    (frame,) = decode.frames_by_change(
        clip_of([before, after]), lambda _, change: 19.5 < change < 20.5
    )
    assert frame.index == 1


RED_CORNER = np.zeros((32, 48, 3), np.uint8)
RED_CORNER[:16, :24, 0] = 255
READINGS: dict[str, Callable[[Media], Any]] = {
    "all": decode.video,
    "by time": lambda media: decode.video(media, times=[0.1]),
    "by place": lambda media: decode.frames_at(media, [1]),
    "by change": lambda media: decode.frames_by_change(media, lambda at, _: at == 1),
}


def red_corner(pixels: Any) -> str:
    """The corner of a picture that is red."""
    height, width = pixels.shape[0] // 2, pixels.shape[1] // 2
    reds = {
        "top left": pixels[:height, :width, 0].mean(),
        "top right": pixels[:height, width:, 0].mean(),
        "bottom left": pixels[height:, :width, 0].mean(),
        "bottom right": pixels[height:, width:, 0].mean(),
    }
    return max(reds, key=lambda corner: float(reds[corner]))


@pytest.mark.parametrize(
    ("turned", "mirrored", "corner", "size"),
    [
        (0, False, "top left", (48, 32)),
        (90, False, "bottom left", (32, 48)),
        (180, False, "bottom right", (48, 32)),
        (-90, False, "top right", (32, 48)),
        (0, True, "top right", (48, 32)),
        (180, True, "bottom left", (48, 32)),
        (90, True, "bottom right", (32, 48)),
        (-90, True, "top left", (32, 48)),
    ],
)
def test_frames_are_turned_and_mirrored_as_the_container_says(
    turned: int, mirrored: bool, corner: str, size: tuple[int, int]
) -> None:
    clip = clip_of(
        [RED_CORNER] * 2, form="mp4", codec="mpeg4", turned=turned, mirrored=mirrored
    )
    frame = next(decode.video(clip))
    assert red_corner(frame.rgb) == corner
    assert frame.rgb.shape == (size[1], size[0], 3)
    info = decode.video_info(clip)
    assert (info.width, info.height) == size


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_every_reading_of_frames_turns_them(read: Callable[[Media], Any]) -> None:
    clip = clip_of([RED_CORNER] * 2, form="mp4", codec="mpeg4", turned=-90)
    for frame in read(clip):
        assert red_corner(frame.rgb) == "top right"
        assert frame.rgb.flags.c_contiguous


def test_a_transport_stream_is_read_as_a_video() -> None:
    plain = tiny.clip("mpegts", "mpeg2video")
    packets = [plain[start : start + 188] for start in range(0, len(plain), 188)]
    timed = b"".join(bytes(4) + packet for packet in packets)
    for data in (plain, timed):
        media = Media.from_bytes(data)
        assert media.mime == "video/mp2t"
        assert decode.frame_count(media) == 20


def test_a_codec_without_a_decoder_is_unsupported() -> None:
    film = tiny.clip("matroska", "ffv1").replace(b"FFV1", b"zzzz")
    silent = Media.from_bytes(film)
    with pytest.raises(UnsupportedMediaError, match="codec"):
        decode.video_info(silent)
    with pytest.raises(UnsupportedMediaError, match="codec"):
        decode.frame_count(silent)
    sound = tiny.sound_clip("matroska").replace(b"A_AAC", b"A_ZZZ")
    media = Media.from_bytes(sound)
    with pytest.raises(UnsupportedMediaError, match="codec"):
        decode.audio(media)


@pytest.mark.parametrize("place", [-65, -8, 0, 16])
def test_a_damaged_description_of_a_track_is_not_an_unknown_codec(place: int) -> None:
    """Positions in the boxes minf, stbl and stsd, and in the size of the entry."""
    clip = bytearray(tiny.clip("mp4", "libx264"))
    clip[clip.index(b"stsd") + place] ^= 0xFF
    with pytest.raises(CorruptMediaError):
        decode.frame_count(Media.from_bytes(bytes(clip)))


class StandInContainer:
    """Returns some frames, then raises PyAV's error for an unimplemented feature."""

    def __init__(self, frames: int) -> None:
        self.frames = frames

    def decode(self, _stream: None) -> Iterator[int]:
        import av

        yield from range(self.frames)
        raise av.error.PatchWelcomeError(1, "not yet implemented")


@pytest.mark.parametrize(
    ("frames", "kind"), [(0, UnsupportedMediaError), (2, CorruptMediaError)]
)
def test_what_is_not_implemented_behind_a_first_frame_is_damage(
    frames: int, kind: type[Exception]
) -> None:
    media = Media.from_bytes(b"x")
    with pytest.raises(kind), decoding(media, "a video"):
        list(decoded(StandInContainer(frames), None))


def test_a_clip_without_a_frame_has_no_picture() -> None:
    for form, codec in (("matroska", "ffv1"), ("mp4", "mpeg4"), ("avi", "mpeg4")):
        with pytest.raises(CorruptMediaError):
            list(
                decode.frames_by_change(
                    clip_of([], form=form, codec=codec), lambda _, __: True
                )
            )
