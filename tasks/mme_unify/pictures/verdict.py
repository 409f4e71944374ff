"""Which of several candidates is nearest, and whether that is the right one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media, Part
from mmeval.metrics.image.networks.clip import CLIP, Embedder, Shown, cosines
from mmeval.records import Sample

if TYPE_CHECKING:
    from mmeval.metrics.image.networks.vector_memory import Vector

Model = Annotated[str | Mapping[str, Any], CLIP]
Tie: TypeAlias = Literal["wrong", "first"]
"""A switch: where the right candidate and another are the nearest, that is wrong, or
the first of them wins."""
Seen: TypeAlias = "Vector | ContentError"


def wins(similarities: Sequence[float], right: int, tie: Tie) -> bool:
    """Whether the right candidate is the nearest one."""
    top = max(similarities)
    return similarities.index(top) == right and (
        tie == "first" or similarities.count(top) == 1
    )


def pictures_in(parts: Sequence[Part]) -> list[Part]:
    """The parts that are pictures, those among them whose file is missing too."""
    return [part for part in parts if part.kind == "image"]


def candidates_of(sample: Sample) -> list[Media | None]:
    """The picture of each candidate; None where its file is missing."""
    first = (pictures_in(content.parts)[:1] for content in sample.candidates)
    return [parts[0].media if parts else None for parts in first]


def seen_together(
    embed: Embedder, groups: Sequence[Sequence[Media]]
) -> list[list[Seen]]:
    """The embeddings of groups of pictures, computed in one go."""
    found = iter(embed.pictures([Shown.of(one) for group in groups for one in group]))
    return [[next(found) for _ in group] for group in groups]


def first_unknown(seen: Iterable[Seen], *, damaged: bool) -> ContentError | None:
    """Why the first picture that was not seen is unknown: it is not read here, or is
    above the limits; with ``damaged`` also where it is damaged."""
    for one in seen:
        if isinstance(one, CorruptMediaError) and not damaged:
            continue
        if isinstance(one, ContentError):
            return one
    return None


def similarities(answer: Seen, candidates: Sequence[Seen]) -> list[float]:
    """The cosine with each candidate; 0 where one of both is damaged, as in the
    released scripts."""
    return [
        0.0
        if isinstance(answer, ContentError) or isinstance(one, ContentError)
        else cosines(answer, [one])[0]
        for one in candidates
    ]
