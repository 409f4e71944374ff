"""Pictures for tests of metrics: pixels by formula, painted parts, and trials that hold
them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from mmeval.media.encode import png
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, media_part
from mmeval.records.sample import Sample, user
from mmeval.records.trial import Trial

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels


def noise(height: int, width: int, seed: int = 1) -> Pixels:
    """Waves with noise on them, the same for the same seed."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        127 + 100 * np.sin(x / 9 + seed),
        127 + 100 * np.cos(y / 7),
        (x + y) * 255 / (height + width),
    ]
    return np.clip(
        np.stack(waves, -1) + rng.randint(-20, 21, (height, width, 3)), 0, 255
    ).astype(np.uint8)


def even(height: int, width: int, color: tuple[int, int, int]) -> Pixels:
    return np.full((height, width, 3), color, np.uint8)


def painted(
    pixels: Pixels, rows: slice, columns: slice, color: tuple[int, int, int]
) -> Pixels:
    done = pixels.copy()
    done[rows, columns] = color
    return done


def framed(
    pixels: Pixels, across: int, down: int, color: tuple[int, int, int]
) -> Pixels:
    """With a border: ``across`` pixels on the left and right, ``down`` above and
    below."""
    height, width = pixels.shape[:2]
    done = even(height, width, color)
    done[down : height - down, across : width - across] = pixels[
        down : height - down, across : width - across
    ]
    return done


def medium(pixels: Pixels) -> Media:
    return png(Image.fromarray(pixels))


def shown(*pictures: Pixels | Media) -> Interleaved:
    return Interleaved(
        tuple(
            media_part(one if isinstance(one, Media) else medium(one))
            for one in pictures
        )
    )


def picture_trial(
    *answer: Pixels | Media,
    given: tuple[Pixels | Media, ...] = (),
    reference: tuple[Pixels | Media, ...] | None = None,
    **labels: Any,
) -> Trial:
    """A trial whose answer is pictures; ``given`` are those of its input, ``reference``
    those of its reference."""
    asked = (user("draw", *shown(*given).parts),)
    references = () if reference is None else (shown(*reference),)
    return Trial(Sample("s", asked, references, labels), output=shown(*answer))


DAMAGED = Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
"""Begins as a picture does, and is none."""


def by_scikit_image(one: Pixels, other: Pixels) -> float:
    """The structural similarity that ours is held against."""
    import skimage.metrics

    return float(
        skimage.metrics.structural_similarity(
            one, other, channel_axis=-1, data_range=255
        )
    )
