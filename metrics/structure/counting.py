"""Counts an answer's media tags, its files, or its parts, by modality.

Source: UniM, section 4.2 and appendix B. The paper counts tags. In its data every tag
occurs once, and the tags of the input occur only in the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from mmeval.media import Interleaved, SpellingName, find
from mmeval.metrics.sides import sides_of
from mmeval.records import Score, Trial

Mode = Literal["occurrences", "unique", "unique_no_echo"]
"""``occurrences``: every tag counts. ``unique``: a repeated tag counts once.
``unique_no_echo``: like ``unique``, but tags of the answer that are in the input are
ignored."""

Unit = Literal["tags", "files", "parts"]
"""``tags``: placeholders in the text. ``files``: media and code that are present.
``parts``: both, and a tag with its file counts once."""

Counts = Mapping[str, int]
"""The number of items by modality (``image``, ``audio``, ``video``, ``document``,
``code``, ``3d``). A modality without items is left out."""


class CountedItem(NamedTuple):
    """A counted item.

    Two entries with the same ``kind`` and ``name`` are one item that occurs twice.
    """

    kind: str
    name: str


class Structures(NamedTuple):
    """The counts of the reference and the answer."""

    reference: Counts
    answer: Counts

    def evidence(self, value: Fraction | None = None) -> dict[str, Any]:
        """Returns the counts, and the exact value as ``p/q`` if it is known."""
        evidence: dict[str, Any] = {
            "reference": dict(self.reference),
            "answer": dict(self.answer),
        }
        if value is not None:
            evidence["fraction"] = f"{value.numerator}/{value.denominator}"
        return evidence


def structures_of(
    trial: Trial,
    *,
    mode: Mode,
    unit: Unit,
    spelling: SpellingName | Sequence[SpellingName],
) -> Structures | Score:
    """Counts the items of the first reference and the answer."""
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    spellings = (spelling,) if isinstance(spelling, str) else tuple(spelling)
    reference_items = _items(sides.references[0], unit, spellings)
    answer_items = list(_items(sides.answer, unit, spellings))
    if mode == "unique_no_echo":
        echoes: set[CountedItem] = set()
        for message in trial.sample.input:
            echoes.update(_tags_in(message.content.text, spellings))
        answer_items = [item for item in answer_items if item not in echoes]
    return Structures(_count(reference_items, mode), _count(answer_items, mode))


def _count(items: Iterable[CountedItem], mode: Mode) -> Counts:
    counts: dict[str, int] = {}  # a Counter takes three times as long for a few items
    if mode != "occurrences":
        items = dict.fromkeys(items)
    for item in items:
        counts[item.kind] = counts.get(item.kind, 0) + 1
    return counts


def _items(
    content: Interleaved, unit: Unit, spellings: tuple[str, ...]
) -> Iterable[CountedItem]:
    if unit == "tags":
        return _tags_in(content.text, spellings)
    items: list[CountedItem] = []
    for position, part in enumerate(content.parts):
        is_counted = unit == "parts" or not part.dangling
        if is_counted and part.kind not in ("text", "reasoning"):
            number = part.label.removeprefix(part.kind)
            items.append(CountedItem(part.kind, number or f"@{position}"))
    return items


@lru_cache(maxsize=8)  # several metrics count the same answer
def _tags_in(text: str, spellings: tuple[str, ...]) -> tuple[CountedItem, ...]:
    items: list[CountedItem] = []
    for tag in find(text, spellings):
        if tag.kind != "text":
            name = f"@{tag.start}" if tag.index is None else str(tag.index)
            items.append(CountedItem(tag.kind, name))
    return tuple(items)
