"""The two views of a video for DOVER's branches, as configured for LSVQ-1080p.

The technical view consists of fragments in full resolution, and the aesthetic view
consists of small frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits, frame_count, frames_at

if TYPE_CHECKING:
    import numpy as np

    Pixels = np.ndarray[Any, np.dtype[np.uint8]]
    Numbers = np.ndarray[Any, np.dtype[np.float32]]
    Places = np.ndarray[Any, np.dtype[np.int64]]

GRID, FRAGMENT = 7, 32
"""Number of fragments along each side, and pixels per side of a fragment."""
SIDE = GRID * FRAGMENT
"""Pixels per side of both views."""
CLIP_FRAMES, CLIPS = 32, 3
"""Number of frames per clip, and of clips, in the technical view. The fragments of a
clip have the same positions in all its frames."""
AESTHETIC_FRAMES = 32
"""Number of frames of the aesthetic view. Each is taken from its own part of the video,
and the parts are equally long."""
INTERVAL = 2
"""The distance between two used frames of a clip."""
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Mean and spread of red, green and blue. Both views are normalised with these
values."""


class Views(NamedTuple):
    """Normalised pixels as float32, with the axes (clips, 3, frames, height, width)."""

    technical: Numbers
    aesthetic: Numbers


def views_of(
    media: Media, *, seed: int = 0, limits: DecodeLimits = DEFAULT_LIMITS
) -> Views:
    """Returns both views of a video.

    The video's bytes and ``seed`` decide all random choices.

    The video is decoded twice, since its number of frames is only known after the first
    pass. Only used frames are kept in memory. Raises the errors of
    ``mmeval.media.decode``.
    """
    import numpy as np

    count = frame_count(media, limits=limits)
    rng = np.random.default_rng([seed, int(media.sha256[:16], 16)])
    technical = frame_numbers(count, stretches=CLIPS, length=CLIP_FRAMES, rng=rng)
    aesthetic = frame_numbers(count, stretches=AESTHETIC_FRAMES, length=1, rng=rng)
    places = rng.random((2, CLIPS, GRID, GRID))
    pieces, wholes = _used_frames(media, technical, aesthetic, places, limits)
    return Views(
        normalised(pieces.reshape(CLIPS, CLIP_FRAMES, SIDE, SIDE, 3)),
        normalised(wholes.reshape(1, AESTHETIC_FRAMES, SIDE, SIDE, 3)),
    )


def frame_numbers(
    count: int, *, stretches: int, length: int, rng: np.random.Generator
) -> Places:
    """Selects ``length`` frames, ``INTERVAL`` apart, from each equal part of a video.

    If a part has more frames than needed, the first frame is chosen at random. A short
    video is repeated from its first frame.
    """
    import numpy as np

    stretch_length = count // stretches
    free = stretch_length - length * INTERVAL
    starts = stretch_length * np.arange(stretches)
    if free > 0:
        starts += rng.integers(0, free, stretches)
    numbers: Places = starts[:, None] + INTERVAL * np.arange(length)
    return numbers.reshape(-1) % count


def _used_frames(
    media: Media,
    technical: Sequence[int] | Places,
    aesthetic: Places,
    places: Any,
    limits: DecodeLimits,
) -> tuple[Pixels, Pixels]:
    """Returns the technical view in fragments, and the aesthetic view in frames."""
    import numpy as np

    pieces = np.zeros((len(technical), SIDE, SIDE, 3), np.uint8)
    wholes = np.zeros((len(aesthetic), SIDE, SIDE, 3), np.uint8)
    # The uses of each frame by number: its clip (None: aesthetic view) and index there.
    uses: dict[int, list[tuple[int | None, int]]] = {}
    for place, number in enumerate(technical):
        uses.setdefault(int(number), []).append((place // CLIP_FRAMES, place))
    for place, number in enumerate(aesthetic):
        uses.setdefault(int(number), []).append((None, place))
    size: tuple[int, int] | None = None
    for frame in frames_at(media, sorted(uses), limits=limits):
        size = size or (frame.rgb.shape[0], frame.rgb.shape[1])
        pixels = resized(frame.rgb, *size)  # the size may change within a stream
        for clip, place in uses[frame.index]:
            if clip is None:
                wholes[place] = resized(pixels, SIDE, SIDE)
            else:
                pieces[place] = fragments(pixels, places[:, clip])
    return pieces, wholes


def fragments(pixels: Pixels, places: Any) -> Pixels:
    """Cuts squares from the cells of a grid over the picture, and puts them together.

    ``places`` (2, grid, grid) are the squares' positions within the cells, from 0 to 1.
    A picture with a short side is enlarged first. Upstream computes the grid from the
    size before enlarging, so its grid covers only a corner of a small video. Here the
    grid fits the enlarged picture.
    """
    import numpy as np

    height, width = pixels.shape[:2]
    ratio = min(height / SIDE, width / SIDE)
    if ratio < 1:
        height = max(SIDE, round(height / ratio))
        width = max(SIDE, round(width / ratio))
        pixels = resized(pixels, height, width)
    fragmented = np.zeros((SIDE, SIDE, 3), np.uint8)
    for row in range(GRID):
        for column in range(GRID):
            top = _start(height, row, places[0, row, column])
            left = _start(width, column, places[1, row, column])
            cell = fragmented[row * FRAGMENT :, column * FRAGMENT :]
            fragment = pixels[top : top + FRAGMENT, left : left + FRAGMENT]
            cell[:FRAGMENT, :FRAGMENT] = fragment
    return fragmented


def _start(
    length: int,
    number: int,
    place: float,
) -> int:
    """Returns the start of a fragment.

    As upstream, the fragment never reaches the last pixel.
    """
    cell = length // GRID
    free = max(0, cell - FRAGMENT)
    return min(cell * number, length - FRAGMENT) + int(place * free)


def resized(
    pixels: Pixels,
    height: int,
    width: int,
) -> Pixels:
    """Resizes a picture with bilinear interpolation, as upstream.

    Only the nearest pixels are used, so the noise is kept in a much smaller picture.
    """
    if pixels.shape[:2] == (height, width):
        return pixels
    import numpy as np
    import torch

    channels_last = torch.from_numpy(np.ascontiguousarray(pixels))
    planes = channels_last.permute(2, 0, 1)[None].float()
    interpolated = torch.nn.functional.interpolate(
        planes, size=(height, width), mode="bilinear", align_corners=False
    )
    rounded = interpolated[0].round().clamp(0, 255).byte()
    pixels_out: Pixels = rounded.permute(1, 2, 0).contiguous().numpy()
    return pixels_out


def normalised(pixels: Pixels) -> Numbers:
    """Normalises pixels, and moves the colour axis before the frame axis.

    The shape (clips, frames, height, width, 3) becomes (clips, 3, frames, height,
    width).
    """
    import numpy as np

    numbers = pixels.astype(np.float32) - np.asarray(MEAN, np.float32)
    numbers /= np.asarray(STD, np.float32)
    result: Numbers = np.ascontiguousarray(numbers.transpose(0, 4, 1, 2, 3))
    return result
