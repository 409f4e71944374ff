"""The frames of clips that are compared: key frames of the answer, even ones of the
reference."""

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

MOST = 16
"""Key frames of a clip."""
CHANGE = 20.0
"""A frame is a key frame where its shades of grey differ by more than this, in the
mean, from the frame before."""
_QUALITY = 95
"""Of the JPEG that the scripts store a key frame as; theirs is the default of
OpenCV."""
_HELD = 4 * MOST
"""Key frames that are held until their number is known; of a clip with more some are
decoded again."""

T = TypeVar("T")


def key_frames(clip: Media) -> list[bytes]:
    """Up to 16 frames of a clip in order, as JPEG files; found once for all metrics of
    a trial.

    These are the first frame and those that differ from the one before; of fewer than
    16 such frames none counts, and 16 evenly spaced ones take their place; more are
    thinned evenly. A clip of fewer frames gives all. Raises the errors of
    ``mmeval.media.decode``.
    """
    found = remembered_all(
        [clip], "mme_unify key frames", lambda clips: [_key_frames(clips[0])]
    )
    return found[0]


def even_frames(
    clip: Media,
    wanted: int,
    make: Callable[[Pixels], T],
) -> list[T]:
    """What ``make`` gives for evenly spaced frames of a clip; of a clip with fewer
    frames some twice."""
    return _chosen(
        clip,
        even_indices(_declared(clip), wanted),
        lambda _, __: False,
        lambda n: even_indices(n, wanted),
        make,
    )


def pixels_of(jpeg: bytes) -> Pixels:
    """A key frame as pixels."""
    import numpy
    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(jpeg)))


def chosen_places(changed: Sequence[int], count: int) -> list[int]:
    """The places of the key frames of a clip of ``count`` frames, of which some have
    ``changed``."""
    if len(changed) < MOST:
        return sorted(set(even_indices(count, MOST)))
    return [changed[at] for at in even_indices(len(changed), MOST)]


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
        return len(changed) <= _HELD

    return _chosen(
        clip,
        even_indices(_declared(clip), MOST),
        is_key,
        lambda count: chosen_places(changed, count),
        as_jpeg,
    )


def _chosen(
    clip: Media,
    likely: Sequence[int],
    candidate: Callable[[int, float], bool],
    places: Callable[[int], Sequence[int]],
    make: Callable[[Pixels], T],
) -> list[T]:
    """What is made of the frames at some ``places``, which are known when the clip has
    been decoded.

    Those that are ``likely``, or a ``candidate``, are held meanwhile, so that the clip
    is mostly decoded once.
    """
    guessed, count = frozenset(likely), 0

    def wanted(index: int, change: float) -> bool:
        nonlocal count
        count = index + 1
        return candidate(index, change) or index in guessed

    held = {frame.index: make(frame.rgb) for frame in frames_by_change(clip, wanted)}
    chosen = places(count)
    for frame in frames_at(clip, set(chosen) - held.keys()):
        held[frame.index] = make(frame.rgb)
    return [held[index] for index in chosen]


def _declared(clip: Media) -> int:
    """How many frames the clip says that it has."""
    info = video_info(clip)
    return round(info.rate * info.seconds)
