"""Pictures of an answer, its input and its references, as RGB pixels for metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.media.decode import (
    DEFAULT_LIMITS,
    DecodeLimits,
    decoded_once,
    image,
    stored_image,
)
from mmeval.metrics.produced import decoded, media_of, the_only_medium, wrong
from mmeval.metrics.sides import sides_of
from mmeval.records import Sample, Score, Trial

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
    """Of shape (height, width, 3)."""
    Measure: TypeAlias = Callable[[Pixels, Pixels], float | Score]
    """A number for a picture of the answer and one of the reference, or a score that
    says why there is none."""


def _size(pixels: Pixels) -> int:
    return pixels.nbytes


@decoded_once(size=_size)
def rgb(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Pixels:
    """The pixels of a picture, 8 bits a channel, read-only, kept with the medium.

    Transparency is dropped, and the stored colours count. Raises the errors of
    ``mmeval.media.decode``.
    """
    return _read_only(image(media, limits=limits))


@decoded_once(size=_size)
def stored_rgb(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Pixels:
    """``rgb`` of the stored picture, without the orientation in the file."""
    return _read_only(stored_image(media, limits=limits))


def _read_only(picture: Image) -> Pixels:
    import numpy

    pixels = numpy.asarray(picture.convert("RGB"))
    pixels.flags.writeable = False
    return pixels


def the_only(trial: Trial) -> Pixels | Score:
    """Returns the pixels of an answer's only picture, or its score.

    The scores are those of ``the_only_medium`` and of ``produced``.
    """
    media = the_only_medium(trial, "image", "pictures")
    if isinstance(media, Score):
        return media
    return produced(media)


def produced(media: Media) -> Pixels | Score:
    """Returns the pixels of a picture of the answer, or its score.

    A damaged picture is a wrong answer: 0. One above the limits is unscored, since it
    is not decoded.
    """
    return decoded(media, rgb)


def data_pixels(media: Media) -> Pixels | Score:
    """The pixels of a data set's picture, or unscored, since it is not the model's."""
    try:
        return rgb(media)
    except ContentError as error:
        return Score.unscored(str(error))


def input_picture(sample: Sample) -> Media | Score:
    """Returns the first picture of the sample's input."""
    for message in sample.input:
        for media in media_of(message.content, "image"):
            return media
    return Score.unscored("the sample's input has no picture to compare with")


def reference_picture(sample: Sample) -> Media | Score:
    """Returns the first picture of the first reference."""
    if not sample.references:
        return Score.unscored("the sample has no reference to compare with")
    for media in media_of(sample.references[0], "image"):
        return media
    return Score.unscored("the reference has no picture to compare with")


def compared(
    trial: Trial,
    name: str,
    measure: Measure,
    smallest: int,
) -> Score:
    """The mean of a measure over the pictures of an answer and its first reference.

    Pictures are paired in order. Another number of them, or a damaged one, is 0, with
    the reason. Unscored without a picture in the reference, or with one that is damaged
    or has a side under ``smallest`` pixels. Evidence: the values, under ``name``.
    """
    pairs = pairs_of(trial)
    if isinstance(pairs, Score):
        return pairs
    values: list[float] = []
    for number, (media, reference_media) in enumerate(pairs, 1):
        reference = data_pixels(reference_media)
        if isinstance(reference, Score):
            return reference
        height, width = reference.shape[:2]
        if min(height, width) < smallest:
            return Score.unscored(
                f"reference picture {number} is {width} x {height}: no side may be "
                f"under {smallest}"
            )
        answer = produced(media)
        if isinstance(answer, Score):
            return answer
        value = measure(answer, reference)
        if isinstance(value, Score):
            return value
        values.append(value)
    return Score(sum(values) / len(values), evidence={name: values})


def pairs_of(trial: Trial) -> list[tuple[Media, Media]] | Score:
    """Returns the pictures of the answer and of the first reference, paired in order.

    Or a score: 0 for another number of pictures, unscored without a reference's.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    reference_pictures = media_of(sides.references[0], "image")
    answer_pictures = media_of(sides.answer, "image")
    if not reference_pictures:
        return Score.unscored("the reference has no picture to compare with")
    if len(answer_pictures) != len(reference_pictures):
        return wrong(
            f"the answer has {len(answer_pictures)} pictures, the reference "
            f"{len(reference_pictures)}"
        )
    return list(zip(answer_pictures, reference_pictures, strict=True))


def resized(
    pixels: Pixels,
    size: tuple[int, ...],
    filter: str,
) -> Pixels:
    """Returns a picture in another height and width.

    ``filter`` is Pillow's: ``LANCZOS``, ``BICUBIC`` or ``BILINEAR``.
    """
    if pixels.shape[:2] == size:
        return pixels
    import numpy
    from PIL import Image

    height, width = size
    resampling = Image.Resampling[filter]
    return numpy.asarray(picture(pixels).resize((width, height), resampling))


def picture(pixels: Pixels) -> Image:
    """Pixels as a picture of Pillow, in memory of its own."""
    from PIL import Image

    return Image.fromarray(pixels)
