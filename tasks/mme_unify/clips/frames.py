"""Selects frames of clips for comparison: key frames, or evenly spaced frames."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from mmeval.media import Media
from mmeval.media.decode import frames_at, frames_by_change, video_info
from mmeval.metric import remembered_all
from mmeval.metrics.image.pictures import picture
from mmeval.tasks.mme_unify.video import even_indices

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

MAX_KEY_FRAMES = 16
"""Maximum number of key frames of a clip."""
CHANGE = 20.0
"""A frame is a key frame if its grey values differ from those of the previous frame by
more than this, on average."""
_QUALITY = 95
"""The JPEG quality of a key frame. The scripts use OpenCV's default."""
_MAX_STORED = 4 * MAX_KEY_FRAMES
"""Maximum number of candidates that are stored while a clip is decoded. If a clip has
more candidates, some frames are decoded again."""

T = TypeVar("T")


def key_frames(clip: Media) -> list[bytes]:
    """Returns up to 16 key frames of a clip in order, as JPEG files.

    Candidates are the first frame and all frames that differ from the previous frame.
    If there are fewer than 16 candidates, 16 evenly spaced frames replace them. If
    there are more, 16 of them are chosen evenly. For a clip with fewer than 16 frames
    all frames are returned. The result is cached for all metrics of a trial. Raises the
    errors of ``mmeval.media.decode``.
    """
    key_frames_of_clips = remembered_all(
        [clip], "mme_unify key frames", lambda clips: [_key_frames(clips[0])]
    )
    return key_frames_of_clips[0]


def even_frames(
    clip: Media,
    count: int,
    make: Callable[[Pixels], T],
) -> list[T]:
    """Returns the results of ``make`` for ``count`` evenly spaced frames of a clip.

    A frame may occur twice if the clip has fewer frames.
    """
    return _chosen(
        clip,
        even_indices(_declared(clip), count),
        lambda _, __: False,
        lambda frames: even_indices(frames, count),
        make,
    )


def pixels_of(jpeg: bytes) -> Pixels:
    """Decodes the JPEG file of a key frame."""
    import numpy
    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(jpeg)))


def key_frame_indices(changed: Sequence[int], count: int) -> list[int]:
    """Returns the indices of the key frames in a clip with ``count`` frames.

    ``changed`` contains the indices of the candidates.
    """
    if len(changed) < MAX_KEY_FRAMES:
        return sorted(set(even_indices(count, MAX_KEY_FRAMES)))
    return [changed[number] for number in even_indices(len(changed), MAX_KEY_FRAMES)]


def _key_frames(clip: Media) -> list[bytes]:
    changed: list[int] = []

    def as_jpeg(pixels: Pixels) -> bytes:
        file = io.BytesIO()
        picture(pixels).save(file, "JPEG", quality=_QUALITY)
        return file.getvalue()

    def is_key(index: int, change: float) -> bool:
        if index > 0 and change <= CHANGE:
            return False
        changed.append(index)
        return len(changed) <= _MAX_STORED

    return _chosen(
        clip,
        even_indices(_declared(clip), MAX_KEY_FRAMES),
        is_key,
        lambda count: key_frame_indices(changed, count),
        as_jpeg,
    )


def _chosen(
    clip: Media,
    likely: Sequence[int],
    is_candidate: Callable[[int, float], bool],
    choose: Callable[[int], Sequence[int]],
    make: Callable[[Pixels], T],
) -> list[T]:
    """Returns the results of ``make`` for chosen frames of a clip.

    ``choose`` returns their indices, given the number of frames. Before this number is
    known, likely frames and candidates are kept, so that most clips are decoded only
    once.
    """
    likely_indices, count = frozenset(likely), 0

    def is_kept(index: int, change: float) -> bool:
        nonlocal count
        count = index + 1
        return is_candidate(index, change) or index in likely_indices

    results = {
        frame.index: make(frame.rgb) for frame in frames_by_change(clip, is_kept)
    }
    indices = choose(count)
    for frame in frames_at(clip, set(indices) - results.keys()):
        results[frame.index] = make(frame.rgb)
    return [results[index] for index in indices]


def _declared(clip: Media) -> int:
    """Computes the number of frames from the clip's frame rate and duration."""
    info = video_info(clip)
    return round(info.rate * info.seconds)
