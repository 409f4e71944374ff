"""CLIP similarity of two pictures, or of a picture and a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import (
    CLIP,
    CLIP_L14,
    PictureToEmbed,
    clip_needs,
    cosines,
    embedder,
)
from mmeval.metrics.image.pictures import pairs_of, rgb
from mmeval.metrics.image.smaller import Size, at_smaller_size, smaller_size
from mmeval.metrics.produced import Missing, counted, media_of, undecodable, wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import PathOrName

if TYPE_CHECKING:
    from mmeval.metrics.image.networks.vector_memory import Vector
    from mmeval.metrics.image.pictures import Pixels

Model = Annotated[str | Mapping[str, Any], CLIP]
_SOURCE = "Radford et al., CLIP, 2021; MME-Unify, image generation and editing"


@metric(range=(-1, 1), version="2", source=_SOURCE, needs=clip_needs, batch=16)
def clip_image_similarity(
    trials: Sequence[Trial],
    *,
    model: Model = CLIP_L14,
    size: Size = "own",
    missing: Missing = "zero",
    vectors: PathOrName = "",
) -> list[Score]:
    """Cosine of the CLIP embeddings of the answer's and reference's pictures, in order.

    Range -1 to 1, higher is better. The value is the mean over pairs. It is 1 for the
    same picture, and well above 0 for any two pictures. An answer with another number
    of pictures, or with a damaged picture, scores 0, with the ``reason`` as evidence.
    Only the first reference is used. Unscored if it has no picture, or if one cannot be
    decoded.

    Not measured: quality and details. Counts, positions and small text hardly
    count.

    Switches:

    - ``model``: a CLIP model, by its name on the hub (about 1.7 GB) or as a folder.
    - ``size``: if two pictures differ in size, they keep their sizes (``own``), or both
      are resized to the smaller height and width (``smaller``), as in
      ``image_similarity``, and then converted to bytes.
    - ``missing``: an answer without the right pictures scores 0 (``zero``) or is
      inapplicable (``dropped``).
    - ``vectors``: a file of embeddings that replaces the model. Each line contains
      ``sha256`` (of a picture's file) or ``text``, and ``vector``.

    Evidence: the cosine of each pair.
    """
    embed = embedder(model, vectors)
    pairs_of_trials = [pairs_of(trial) for trial in trials]
    inputs: list[PictureToEmbed] = []
    for pairs in pairs_of_trials:
        if not isinstance(pairs, Score):
            for answer, reference in pairs:
                if size == "smaller":
                    inputs += _resized(answer, reference)
                else:
                    inputs += [PictureToEmbed.of(answer), PictureToEmbed.of(reference)]
    vectors_of_inputs = iter(embed.pictures(inputs))
    scores: list[Score] = []
    for pairs in pairs_of_trials:
        if isinstance(pairs, Score):
            scores.append(pairs)
        else:
            values = [
                _cosine(answer, next(vectors_of_inputs), next(vectors_of_inputs))
                for answer, _ in pairs
            ]
            scores.append(_mean(values))
    return [counted(score, missing) for score in scores]


@metric(
    range=(-1, 1),
    version="2",
    source=_SOURCE,
    needs=clip_needs,
    batch=16,
    check=lambda sample, switches: _text_fault(sample, switches["text_key"]),
)
def clip_text_similarity(
    trials: Sequence[Trial],
    *,
    model: Model = CLIP_L14,
    text_key: str = "",
    size: Size = "own",
    missing: Missing = "zero",
    vectors: PathOrName = "",
) -> list[Score]:
    """Cosine between the CLIP embeddings of the answer's pictures and a requested text.

    Range -1 to 1, higher is better. The value is the mean over pictures. Even a good
    match is seldom above 0.35. CLIP reads the first 77 tokens of a text. An answer
    without a picture, or with a damaged picture, scores 0, with the ``reason`` as
    evidence. Unscored without a text.

    Not measured: quality and details. Counts, positions and written words in the
    picture hardly count.

    Labels, for example: ``{"Text_Prompt": "a hare in the snow"}``.

    Switches:

    - ``text_key``: the label with the text. If empty, the text of the input is used.
    - ``model``, ``missing``, ``vectors``: as in ``clip_image_similarity``.
    - ``size``: as in ``clip_image_similarity``. It only applies if the reference has
      the same number of pictures as the answer.

    Evidence: the cosine of each picture.
    """
    embed = embedder(model, vectors)
    requests = [_pictures_and_text(trial, text_key) for trial in trials]
    inputs: list[PictureToEmbed] = []
    texts: list[str] = []
    for trial, pair in zip(trials, requests, strict=True):
        if not isinstance(pair, Score):
            pictures, text = pair
            texts.append(text)
            pairs = pairs_of(trial) if size == "smaller" else None
            if isinstance(pairs, list):
                inputs += [
                    _resized(answer, reference)[0] for answer, reference in pairs
                ]
            else:
                inputs += map(PictureToEmbed.of, pictures)
    picture_vectors = iter(embed.pictures(inputs))
    text_vectors = iter(embed.texts(texts))
    scores: list[Score] = []
    for pair in requests:
        if isinstance(pair, Score):
            scores.append(pair)
        else:
            pictures, _ = pair
            vector = next(text_vectors)
            values = [
                _cosine(picture, next(picture_vectors), vector) for picture in pictures
            ]
            scores.append(_mean(values))
    return [counted(score, missing) for score in scores]


def text_of(sample: Sample, key: str) -> str:
    """Returns the text in a label, or without a key the text of the input.

    Returns an empty string if there is no text.
    """
    if not key:
        texts = [message.content.words.strip() for message in sample.input]
        return " ".join(filter(None, texts))
    label = sample.metadata.get(key)
    if isinstance(label, str):
        return label
    return ""


def _text_fault(sample: Sample, key: str) -> str:
    if text_of(sample, key):
        return ""
    if key:
        return f"the row's label {key!r} must be a string with text"
    return "the sample's input has no text"


def _pictures_and_text(trial: Trial, key: str) -> tuple[Sequence[Media], str] | Score:
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if fault := _text_fault(trial.sample, key):
        return Score.unscored(fault)
    pictures = media_of(trial.output, "image")
    if not pictures:
        return wrong("the answer has no picture")
    return pictures, text_of(trial.sample, key)


def _resized(answer: Media, reference: Media) -> list[PictureToEmbed]:
    """Resizes both pictures to the smaller height and width, if their sizes differ."""
    try:
        answer_pixels, reference_pixels = rgb(answer), rgb(reference)
    except ContentError:  # reported when the pictures are embedded
        return [PictureToEmbed.of(answer), PictureToEmbed.of(reference)]
    if answer_pixels.shape == reference_pixels.shape:
        return [PictureToEmbed.of(answer), PictureToEmbed.of(reference)]
    size = smaller_size(answer_pixels, reference_pixels)

    def pixels(side: int) -> Pixels:
        sides = at_smaller_size(answer_pixels, reference_pixels)
        return (sides[side] * 255).astype("uint8")

    return [
        PictureToEmbed(answer, size, partial(pixels, 0)),
        PictureToEmbed(reference, size, partial(pixels, 1)),
    ]


def _cosine(
    media: Media, answer: Vector | ContentError, other: Vector | ContentError
) -> float | Score:
    """Returns the cosine of two embeddings, or the score if there is no embedding."""
    if isinstance(other, ContentError):
        return Score.unscored(str(other))
    if isinstance(answer, ContentError):
        return undecodable(media, answer)
    return cosines(answer, [other])[0]


def _mean(values: Sequence[float | Score]) -> Score:
    numbers: list[float] = []
    for value in values:
        if isinstance(value, Score):
            return value
        numbers.append(value)
    return Score(sum(numbers) / len(numbers), evidence={"cosines": numbers})
