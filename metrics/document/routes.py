"""Converts documents for a judge to Markdown in a thread before the call is sent."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal, cast

from mmeval.errors import CorruptMediaError
from mmeval.media import Media, Part, text_part
from mmeval.media.decode import DecodeLimits
from mmeval.metrics.document.hints import hints_of
from mmeval.metrics.document.reading import (
    MAX_CHARS,
    Ocr,
    document_markdown,
    picture_markdown,
)
from mmeval.program import Route

Extraction = Literal["by_type", "pictures"]
"""How a document becomes Markdown: ``by_type``, or as a picture, as the release treats
every file."""
NOTHING_SAID = "it says nothing that could be read"
_MOST_NOTED_CHARS = 300
_VERSION = 2
"""The version of the Markdown, raised whenever a verdict could change."""


@lru_cache(maxsize=16)
def markdown_route(extraction: Extraction, ocr: Ocr, *, hints: bool) -> Route:
    """The route from documents to words, also for a judge that takes documents."""
    chosen = [
        extraction,
        *([] if ocr == "none" else [ocr]),
        *(["hints"] if hints else []),
    ]
    return Route(
        "document",
        "text",
        partial(_markdown, extraction=extraction, ocr=ocr, hints=hints),
        version=_VERSION,
        due=lambda _media, _limits: True,
        items=MAX_CHARS,
        name=f"document->markdown({', '.join(chosen)})",
    )


def _markdown(
    media: Media, limits: DecodeLimits, *, extraction: Extraction, ocr: Ocr, hints: bool
) -> tuple[list[Part], str]:
    whole = _read_once(media, limits, extraction, ocr)
    if extraction == "by_type" and not whole:
        raise CorruptMediaError(f"{media.label}: {NOTHING_SAID}")
    said = whole[:MAX_CHARS]
    noticed = f"Hints: {hints_of(said)}" if hints else ""
    part = text_part(f"{said}\n\n{noticed}" if noticed else said)
    return [part], f"{_described(said, noticed, cut=len(whole) > len(said))};"


def _read_once(
    media: Media, limits: DecodeLimits, extraction: Extraction, ocr: Ocr
) -> str:
    key = ("markdown", extraction, ocr, limits)
    if key not in media.memo:
        by_type = extraction == "by_type"
        media.memo[key] = (
            document_markdown(media, limits, ocr=ocr)
            if by_type
            else picture_markdown(media, limits)
        )
    return cast(str, media.memo[key])


def _described(said: str, noticed: str, *, cut: bool) -> str:
    count = (
        f"the first {len(said):,} characters of its Markdown"
        if cut
        else f"{len(said):,} characters of Markdown"
    )
    begins = " ".join(said[:_MOST_NOTED_CHARS].split())
    return "; ".join(
        one
        for one in (count, noticed.lower(), f"it begins {begins!r}" if begins else "")
        if one
    )
