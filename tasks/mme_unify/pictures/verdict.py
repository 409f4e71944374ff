"""Decides whether the right candidate is the nearest of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media, Part
from mmeval.metrics.image.networks.clip import CLIP, Embedder, PictureToEmbed, cosines
from mmeval.records import Sample

if TYPE_CHECKING:
    from mmeval.metrics.image.networks.vector_memory import Vector

Model = Annotated[str | Mapping[str, Any], CLIP]
Tie: TypeAlias = Literal["wrong", "first"]
"""A switch for a tie between the right candidate and another: the answer is wrong, or
the first candidate wins."""
VectorOrError: TypeAlias = "Vector | ContentError"


def wins(
    similarities: Sequence[float],
    right: int,
    tie: Tie,
) -> bool:
    """Returns True if the right candidate is the nearest."""
    top = max(similarities)
    if tie == "wrong" and similarities.count(top) > 1:
        return False
    return similarities.index(top) == right


def pictures_in(parts: Sequence[Part]) -> list[Part]:
    """Returns the picture parts, including parts with a missing file."""
    return [part for part in parts if part.kind == "image"]


def candidates_of(sample: Sample) -> list[Media | None]:
    """Returns the picture of each candidate, or None if its file is missing."""
    media = []
    for content in sample.candidates:
        pictures = pictures_in(content.parts)
        media.append(pictures[0].media if pictures else None)
    return media


def embedded_together(
    embed: Embedder, groups: Sequence[Sequence[Media]]
) -> list[list[VectorOrError]]:
    """Computes the embeddings of several groups of pictures together."""
    shown: list[PictureToEmbed] = []
    for group in groups:
        shown += map(PictureToEmbed.of, group)
    embeddings = iter(embed.pictures(shown))
    return [list(islice(embeddings, len(group))) for group in groups]


def first_unknown(
    items: Iterable[VectorOrError], *, damaged: bool
) -> ContentError | None:
    """Returns the first error that makes the score unknown, or None.

    Such an error belongs to a picture that is unsupported or above the limits of
    decoding or, with ``damaged``, to a damaged picture.
    """
    for item in items:
        if isinstance(item, CorruptMediaError) and not damaged:
            continue
        if isinstance(item, ContentError):
            return item
    return None


def similarities(
    answer: VectorOrError, candidates: Sequence[VectorOrError]
) -> list[float]:
    """Returns the cosine of the answer with each candidate.

    The cosine is 0 if either is damaged, as in the released scripts.
    """
    values = []
    for candidate in candidates:
        cosine = 0.0
        if not isinstance(answer, ContentError) and not isinstance(
            candidate, ContentError
        ):
            cosine = cosines(answer, [candidate])[0]
        values.append(cosine)
    return values
