"""Decodes videos as a stream of frames."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from mmeval.errors import CorruptMediaError
from mmeval.media.decode.av.container import decoded, opened, require_codec
from mmeval.media.decode.guard import decoding, quiet, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.media.media import Media
from mmeval.system.extras import need

if TYPE_CHECKING:
    import numpy as np

    Grey: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    """Grey levels of the shape (height, width)."""
    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    """RGB pixels of the shape (height, width, 3)."""

T = TypeVar("T")

_SEEK_SECONDS = 2.0
"""Minimum distance in seconds for a seek. For a shorter distance, it is faster to
decode the frames in between."""
_FIRST_PACKETS = 100
"""The maximum number of packets that are read to find the first frame and its
orientation."""
_BRIGHTNESS_FIRST = frozenset(
    f"yuv{full}{layout}p" for full in ("", "j") for layout in ("420", "422", "444")
) | {"nv12"}
"""Pixel formats whose first plane is the brightness, with one byte per pixel.

Frames in these formats are compared without conversion.
"""
_FULL_RANGE = 2
"""PyAV's code for frames with brightness from 0 to 255. In other frames, brightness is
from 16 to 235."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A frame of a video.

    ``index`` is its position in decoding order, ``time`` is in seconds, and ``rgb`` are
    pixels (height, width, 3) in uint8. The frame is upright: it is rotated and mirrored
    as the container or the stream states.
    """

    index: int
    time: float
    rgb: Pixels


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """The declared properties of a video.

    ``width`` and ``height`` are the size of the upright frame in pixels. ``rate`` is
    the number of frames per second. ``seconds`` is 0 if no length is declared.
    """

    width: int
    height: int
    rate: float
    seconds: float


def video(
    media: Media,
    *,
    times: Sequence[float] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> Iterator[Frame]:
    """Returns the frames of a video, lazily.

    Without ``times``, all frames are returned. With ``times`` (in seconds, ascending),
    the frames shown at these times are returned.

    A time before the first frame yields the first frame, and a time after the last
    frame yields the last frame. With ``times``, the ``index`` of a frame is its
    position in the result. Raises the errors of this package when the iteration reaches
    a damaged frame.
    """
    return _checked(media, limits, _video_frames(media, limits, times))


def frames_at(
    media: Media, indices: Collection[int], *, limits: DecodeLimits = DEFAULT_LIMITS
) -> Iterator[Frame]:
    """Yields the frames with these indices in decoding order.

    Only frames up to the highest index are decoded. Indices after the last frame are
    ignored. Raises the errors of this package.
    """
    requested = frozenset(indices)
    with contextlib.closing(_checked(media, limits, _passed(media, limits))) as frames:
        first = islice(frames, max(requested, default=-1) + 1)
        for index, (moment, frame) in enumerate(first):
            if index in requested:
                with decoding(media, "video"), warnings.catch_warnings(action="ignore"):
                    rgb = _upright(frame)
                yield Frame(index, moment, rgb)


def frames_by_change(
    media: Media,
    is_chosen: Callable[[int, float], bool],
    *,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> Iterator[Frame]:
    """Yields the frames for which ``is_chosen(index, change)`` is true.

    ``is_chosen`` is called for each frame in order. ``change`` is the mean absolute
    difference of grey levels (0 to 255) to the previous frame. It is 0 for the first
    frame, and 255 for a frame of another size. Only chosen frames are converted to
    colour. Raises the errors of this package, also for a video without frames.
    """
    changes = _Changes()
    index = -1
    with contextlib.closing(_checked(media, limits, _passed(media, limits))) as frames:
        for index, (moment, frame) in enumerate(frames):
            with decoding(media, "video"), warnings.catch_warnings(action="ignore"):
                is_kept = is_chosen(index, changes.of(frame))
                rgb = _upright(frame) if is_kept else None
            if rgb is not None:
                yield Frame(index, moment, rgb)
    if index < 0:
        raise CorruptMediaError(f"{media.label}: none of its frames can be decoded")


class _Changes:
    """Computes how much each frame differs from the previous one.

    Two buffers are reused as long as frames have the same size.
    """

    def __init__(self) -> None:
        self._before: Grey | None = None
        self._buffers: list[Grey] = []

    def of(self, frame: Any) -> float:
        """Returns the mean absolute difference of grey levels."""
        import numpy as np

        before = self._before
        plane = frame.planes[0]
        name = frame.format.name
        scale = 1.0
        if name not in _BRIGHTNESS_FIRST or plane.line_size < frame.width:
            shades = frame.to_ndarray(format="gray")
        else:
            rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
            shades = rows[: frame.height, : frame.width]
            if "yuvj" not in name and frame.color_range != _FULL_RANGE:
                scale = 255 / 219
        self._before = shades
        if before is None:
            return 0.0
        if before.shape != shades.shape:
            return 255.0
        if not self._buffers or self._buffers[0].shape != shades.shape:
            self._buffers = [np.empty_like(shades), np.empty_like(shades)]
        more, less = self._buffers
        np.maximum(shades, before, out=more)
        np.minimum(shades, before, out=less)
        more -= less
        return float(more.sum(dtype=np.uint32)) / more.size * scale


class _Turn(NamedTuple):
    """The steps that make stored pixels upright.

    For a quarter turn, rows and columns are swapped first. Then they are mirrored.
    """

    is_quarter: bool
    mirrors_columns: bool
    mirrors_rows: bool


def _turn_of(frame: Any) -> _Turn:
    """Returns the orientation of a frame, rounded to a quarter turn.

    The orientation is computed from the display matrix of the frame.
    """
    import numpy as np

    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return _Turn(False, False, False)
    # (a b u, c d v, x y w): a pixel (column, row) is shown at (a*column + c*row,
    # b*column + d*row)
    numbers = np.frombuffer(matrix, np.int32).tolist()
    a, b, _, c, d = numbers[:5]
    if abs(b) > abs(a):
        return _Turn(True, c < 0, b < 0)
    return _Turn(False, a < 0, d < 0)


def _upright(frame: Any) -> Pixels:
    """Returns the pixels of a frame as shown."""
    import numpy as np

    pixels: Pixels = frame.to_ndarray(format="rgb24")
    turn = _turn_of(frame)
    if turn.is_quarter:
        pixels = pixels.swapaxes(0, 1)
    if turn.mirrors_columns:
        pixels = pixels[:, ::-1]
    if turn.mirrors_rows:
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def frame_count(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    """Returns the number of frames.

    All frames are decoded and counted, because the number in a container may be wrong.

    Raises the errors of this package.
    """
    count = sum(1 for _ in _checked(media, limits, _passed(media, limits)))
    if not count:
        raise CorruptMediaError(f"{media.label}: none of its frames can be decoded")
    return count


def _checked(
    media: Media, limits: DecodeLimits, frames: Generator[T, None, None]
) -> Generator[T, None, None]:
    """Yields the frames, and checks the time limit for each.

    Exceptions of the decoder become errors of this package.
    """
    need("av", "video")
    clock = Clock(media, limits)
    with contextlib.closing(frames):
        while True:
            # ``quiet`` is not used here: Pillow is not called, and setting its log
            # level for each frame would take a third more time.
            with decoding(media, "video"), warnings.catch_warnings(action="ignore"):
                clock.check()
                frame = next(frames, None)
            if frame is None:
                return
            yield frame


def _passed(
    media: Media, limits: DecodeLimits
) -> Generator[tuple[float, Any], None, None]:
    """Yields the frames of a video as PyAV objects, with times but without pixels."""
    data = whole_bytes(media, limits)
    with opened(media, data, limits) as container:
        stream = _video_stream(media, data, container, limits)
        yield from _Track(media, container, stream, limits).frames()


def video_info(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> VideoInfo:
    """Returns the properties that the container declares.

    Raises this package's errors.

    The first frame is decoded to find its orientation. If this frame is damaged, the
    video is treated as upright.
    """
    need("av", "video")
    data = whole_bytes(media, limits)
    with decoding(media, "video"), quiet(), opened(media, data, limits) as container:
        stream = _video_stream(media, data, container, limits)
        seconds = (container.duration or 0) / 1e6
        if stream.duration:
            seconds = float(stream.duration * stream.time_base)
        width, height = stream.width, stream.height
        if _is_on_its_side(container, stream):
            width, height = height, width
        rate = float(stream.average_rate or 0)
        return VideoInfo(width, height, rate, max(0.0, seconds))


def _is_on_its_side(container: Any, stream: Any) -> bool:
    """Returns True if the first frame has a quarter turn.

    PyAV knows the orientation only of frames, not of streams.
    """
    import av

    try:
        for packet in islice(container.demux(stream), _FIRST_PACKETS):
            for frame in packet.decode():
                return _turn_of(frame).is_quarter
    except av.FFmpegError:
        return False
    return False


def _video_stream(
    media: Media, data: bytes, container: Any, limits: DecodeLimits
) -> Any:
    if not container.streams.video:
        raise CorruptMediaError(f"{media.label}: it has no pictures")
    stream = container.streams.video[0]
    require_codec(stream, media, data)
    within(
        media,
        "max_video_pixels",
        limits.max_video_pixels,
        stream.width * stream.height,
        "pixels a frame",
    )
    return stream


def _video_frames(
    media: Media, limits: DecodeLimits, times: Sequence[float] | None
) -> Generator[Frame, None, None]:
    data = whole_bytes(media, limits)
    with opened(media, data, limits) as container:
        stream = _video_stream(media, data, container, limits)
        track = _Track(media, container, stream, limits)
        frames = track.frames() if times is None else _at_times(track, times)
        index = -1
        for index, (moment, frame) in enumerate(frames):
            yield Frame(index, moment, _upright(frame))
        if index < 0 and times is None:
            raise CorruptMediaError(f"{media.label}: none of its frames can be decoded")


class _Track:
    """The frames of an opened video, with times in seconds from the first frame."""

    def __init__(
        self, media: Media, container: Any, stream: Any, limits: DecodeLimits
    ) -> None:
        self._media = media
        self._container = container
        self._stream = stream
        self._limits = limits
        self._start = stream.start_time or 0
        self._decoded = 0

    def frames(self) -> Iterator[tuple[float, Any]]:
        """Yields the frames from the current position."""
        media = self._media
        stream = self._stream
        frames = decoded(self._container, stream, has_begun=self._decoded > 0)
        most_frames = self._limits.max_video_frames
        most_pixels = self._limits.max_video_pixels
        for frame in frames:
            self._decoded += 1
            pixels = frame.width * frame.height
            within(media, "max_video_frames", most_frames, self._decoded, "frames")
            within(media, "max_video_pixels", most_pixels, pixels, "pixels a frame")
            if frame.pts is not None:
                unit = frame.time_base or stream.time_base
                yield float((frame.pts - self._start) * unit), frame
            else:
                yield (self._decoded - 1) / float(stream.average_rate or 25), frame

    def jump(self, moment: float) -> Iterator[tuple[float, Any]]:
        """Returns the frames, starting at the last key frame before a given time."""
        place = self._start + int(moment / self._stream.time_base)
        self._container.seek(place, stream=self._stream)
        return self.frames()


def _at_times(
    track: _Track,
    times: Sequence[float],
) -> Iterator[tuple[float, Any]]:
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError("the times of frames must be in ascending order")
    frames = track.frames()
    current = ahead = next(frames, None)
    for moment in times:
        if ahead is not None and moment - ahead[0] > _SEEK_SECONDS:
            frames = track.jump(moment)
            first = next(frames, None)
            # The jump went backwards or too far, so decode from the start.
            if first is None or not ahead[0] <= first[0] <= moment:
                frames = track.jump(0.0)
                first = next(frames, ahead)
            ahead = first
        while ahead is not None and ahead[0] <= moment:
            current = ahead
            ahead = next(frames, None)
        if current is None:
            raise ValueError("none of its frames can be decoded")
        yield current
