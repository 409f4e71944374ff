"""Counts an answer's media tags, its files, or its parts, by modality.

Source: UniM, section 4.2 and appendix B (tags are the unit; every tag occurs once,
input tags only in the input).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from mmeval.media import Interleaved, SpellingName, find
from mmeval.metrics.sides import sides_of
from mmeval.records import Sample, Score, Trial

Mode = Literal["occurrences", "unique", "unique_no_echo"]
"""``occurrences``: every tag counts; ``unique``: a repeated tag counts once;
``unique_no_echo``: also, a tag of the answer that is in the input does not count."""

Unit = Literal["tags", "files", "parts"]
"""``tags``: placeholders in the text; ``files``: media and code that are present, with
or without a tag; ``parts``: both, where a tag with its file counts once."""

Counts = Mapping[str, int]
"""Items by modality (``image``, ``audio``, ``video``, ``document``, ``code``, ``3d``),
without zeros."""


class Item(NamedTuple):
    """One counted thing; two of equal ``kind`` and ``name`` are one, written twice."""

    kind: str
    name: str


class Structures(NamedTuple):
    """The counts of the reference and the answer."""

    reference: Counts
    answer: Counts

    def evidence(self, value: Fraction | None = None) -> dict[str, Any]:
        """The counts, and the exact value as ``p/q`` if there is one."""
        found: dict[str, Any] = {
            "reference": dict(self.reference),
            "answer": dict(self.answer),
        }
        return (
            found
            if value is None
            else {**found, "fraction": f"{value.numerator}/{value.denominator}"}
        )


def structures_of(
    trial: Trial,
    *,
    mode: Mode,
    unit: Unit,
    spelling: SpellingName | Sequence[SpellingName],
) -> Structures | Score:
    """The counts of first reference and answer; an unscored score when one is
    missing."""
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    spellings = (spelling,) if isinstance(spelling, str) else tuple(spelling)
    echoes = (
        _input_items(trial.sample, spellings)
        if mode == "unique_no_echo"
        else frozenset()
    )
    return Structures(
        reference=_count(_items(sides.references[0], unit, spellings), mode),
        answer=_count(
            (
                item
                for item in _items(sides.answer, unit, spellings)
                if item not in echoes
            ),
            mode,
        ),
    )


def _count(items: Iterator[Item], mode: Mode) -> Counts:
    counts: dict[str, int] = {}  # a Counter takes three times as long for few items
    for item in items if mode == "occurrences" else dict.fromkeys(items):
        counts[item.kind] = counts.get(item.kind, 0) + 1
    return counts


def _items(
    content: Interleaved, unit: Unit, spellings: tuple[str, ...]
) -> Iterator[Item]:
    if unit == "tags":
        return _tags(content, spellings)
    return _parts(content, with_dangling=unit == "parts")


def _tags(content: Interleaved, spellings: tuple[str, ...]) -> Iterator[Item]:
    return iter(_tags_in(content.text, spellings))


@lru_cache(maxsize=8)  # several metrics count the same answer
def _tags_in(text: str, spellings: tuple[str, ...]) -> tuple[Item, ...]:
    tags = (tag for tag in find(text, spellings) if tag.kind != "text")
    return tuple(
        Item(tag.kind, f"@{tag.start}" if tag.index is None else str(tag.index))
        for tag in tags
    )


def _parts(content: Interleaved, *, with_dangling: bool) -> Iterator[Item]:
    for position, part in enumerate(content.parts):
        if part.kind in ("text", "reasoning") or (part.dangling and not with_dangling):
            continue
        number = part.label.removeprefix(part.kind)
        yield Item(part.kind, number or f"@{position}")


def _input_items(sample: Sample, spellings: tuple[str, ...]) -> frozenset[Item]:
    return frozenset(
        item for message in sample.input for item in _tags(message.content, spellings)
    )
