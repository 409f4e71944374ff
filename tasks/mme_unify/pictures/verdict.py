"""Which of several candidates is nearest, and whether that is the right one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
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


def wins(
    similarities: Sequence[float],
    right: int,
    tie: Tie,
) -> bool:
    """Whether the right candidate is the nearest one."""
    top = max(similarities)
    if tie == "wrong" and similarities.count(top) > 1:
        return False
    return similarities.index(top) == right


def pictures_in(parts: Sequence[Part]) -> list[Part]:
    """The parts that are pictures, those among them whose file is missing too."""
    return [part for part in parts if part.kind == "image"]


def candidates_of(sample: Sample) -> list[Media | None]:
    """The picture of each candidate; None where its file is missing."""
    media = []
    for content in sample.candidates:
        pictures = pictures_in(content.parts)
        media.append(pictures[0].media if pictures else None)
    return media


def seen_together(
    embed: Embedder, groups: Sequence[Sequence[Media]]
) -> list[list[Seen]]:
    """The embeddings of groups of pictures, computed in one go."""
    shown: list[Shown] = []
    for group in groups:
        shown += map(Shown.of, group)
    seen = iter(embed.pictures(shown))
    return [list(islice(seen, len(group))) for group in groups]


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
    found = []
    for candidate in candidates:
        cosine = 0.0
        if not isinstance(answer, ContentError) and not isinstance(
            candidate, ContentError
        ):
            cosine = cosines(answer, [candidate])[0]
        found.append(cosine)
    return found
