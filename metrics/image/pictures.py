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
    """Pixels of shape (height, width, 3)."""
    Measure: TypeAlias = Callable[[Pixels, Pixels], float | Score]
    """Compares a picture of the answer with a picture of the reference. Returns a
    number, or a score with the reason if they cannot be compared."""


def _size(pixels: Pixels) -> int:
    return pixels.nbytes


@decoded_once(size=_size)
def rgb(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Pixels:
    """Returns the pixels of a picture with 8 bits per channel.

    The pixels are read-only and are kept with the medium. Transparency is dropped, and
    the stored colours are used unchanged. Raises the errors of ``mmeval.media.decode``.
    """
    return _read_only(image(media, limits=limits))


@decoded_once(size=_size)
def stored_rgb(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Pixels:
    """Returns the pixels as ``rgb`` does, but ignores the file's orientation."""
    return _read_only(stored_image(media, limits=limits))


def _read_only(picture: Image) -> Pixels:
    import numpy

    pixels = numpy.asarray(picture.convert("RGB"))
    pixels.flags.writeable = False
    return pixels


def the_only(trial: Trial) -> Pixels | Score:
    """Returns the pixels of an answer's only picture, or the answer's score.

    The scores are those of ``the_only_medium`` and ``produced``.
    """
    media = the_only_medium(trial, "image", "pictures")
    if isinstance(media, Score):
        return media
    return produced(media)


def produced(media: Media) -> Pixels | Score:
    """Returns the pixels of a picture in the answer, or the answer's score.

    A damaged picture scores 0, as a wrong answer does. A picture above the limits of
    decoding is unscored.
    """
    return decoded(media, rgb)


def data_pixels(media: Media) -> Pixels | Score:
    """Returns the pixels of a picture in the data set, or an unscored score.

    A damaged picture of the data set is not the model's fault.
    """
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
    """Averages a measure over the pictures of an answer and its first reference.

    Pictures are paired in order. An answer with another number of pictures, or with a
    damaged picture, scores 0, with the reason as evidence. Unscored if the reference
    has no picture, or a picture that is damaged or has a side below ``smallest``
    pixels. The evidence contains the values under ``name``.
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
                f"reference picture {number} is {width} x {height}, but each side must "
                f"have at least {smallest} pixels"
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

    Returns the score 0 if their numbers differ, and an unscored score if the reference
    has no picture.
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
            f"the answer has {len(answer_pictures)} pictures, but the reference has "
            f"{len(reference_pictures)}"
        )
    return list(zip(answer_pictures, reference_pictures, strict=True))


def resized(
    pixels: Pixels,
    size: tuple[int, ...],
    filter: str,
) -> Pixels:
    """Resizes a picture to another height and width.

    ``filter`` is one of Pillow's: ``LANCZOS``, ``BICUBIC`` or ``BILINEAR``.
    """
    if pixels.shape[:2] == size:
        return pixels
    import numpy
    from PIL import Image

    height, width = size
    resampling = Image.Resampling[filter]
    return numpy.asarray(picture(pixels).resize((width, height), resampling))


def picture(pixels: Pixels) -> Image:
    """Copies pixels into a picture object of Pillow."""
    from PIL import Image

    return Image.fromarray(pixels)
