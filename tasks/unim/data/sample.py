"""Makes a sample of a UniM record: question, gold answer, labels for breakdowns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmeval.dataset import BadRow
from mmeval.media import PART_KINDS, Interleaved, PartKind, text_part
from mmeval.records import Message, Sample
from mmeval.tasks.unim.data.concatenated_json import Record
from mmeval.tasks.unim.data.files import Place
from mmeval.tasks.unim.data.sides import Side, read_side
from mmeval.tasks.unim.labels import (
    Names,
    capabilities_of,
    difficulty_of,
    names_of,
    number_of,
)

_LETTERS: Mapping[PartKind, str] = {
    "image": "I",
    "video": "V",
    "audio": "A",
    "document": "D",
    "code": "C",
    "3d": "3D",
}
"""The paper's letters for modalities in a combination, in the order that we use."""
_MOST_NAMED = 4
"""The most faults of one record that are named; the others are counted."""


@dataclass(frozen=True)
class Caption:
    """A caption record's texts: question and answer with captions in place of media."""

    question: str
    answer: str


@dataclass(frozen=True)
class Identity:
    """The identity of a record. ``faults`` say why a part of it is empty."""

    names: Names
    number: str
    faults: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        return bool(self.names.field and self.names.domain and self.number)

    def __str__(self) -> str:
        """The id of its sample, with field and domain: numbers repeat across
        domains."""
        return f"{self.names.field}/{self.names.domain}/{self.number}"


def identity_of(record: Record, place: Place) -> Identity:
    """The record's own field and domain come first, the folder's names fill in."""
    faults: list[str] = []
    names = names_of(record.row, place.folders, faults)
    return Identity(names, number_of(record.row, faults), tuple(faults))


def sample_of(
    record: Record,
    place: Place,
    identity: Identity,
    caption: Caption | None = None,
    *,
    as_captions: bool = False,
) -> Sample | BadRow:
    """The sample of a record. ``caption`` is its caption variant, whose question is
    asked in place of its own with ``as_captions``.

    A record that cannot be read, breaks the layout or names a missing medium is a bad
    row with the known labels, and with every reason.
    """
    faults: list[str] = []
    labels: dict[str, Any] = {
        "field": identity.names.field,
        "domain": identity.names.domain,
        "difficulty": difficulty_of(record.row, faults),
    }
    labels = {name: label for name, label in labels.items() if label}
    asked = expected = Interleaved()
    if record.fault:
        faults = [record.fault]
    else:
        faults = [*identity.faults, *faults]
        folders = place.media_folders(identity.names)
        # The media of a question are not needed when it is asked with captions.
        faults_of_question = [] if as_captions else faults
        given = read_side(record.row, "input", place.root, folders, faults_of_question)
        answer = read_side(record.row, "output", place.root, folders, faults)
        labels |= {**_of_sides(given, answer), **capabilities_of(record.row)}
        asked, expected = given.content, answer.content
        if as_captions:
            # Captions are plain text: their tags are not placeholders.
            given, asked = Side(), Interleaved()
            if caption is None:
                faults.append(
                    "qapairs_caption has no record of this field, domain and id; fetch "
                    "it, or leave out variant: caption"
                )
            elif caption.question:
                asked = Interleaved((text_part(caption.question),))
        # Reported only for an otherwise valid record: an unreadable entry is named
        # already.
        faults = faults or _lacking(given, answer)
        if not faults and not any(
            part.kind != "text" or part.raw.strip() for part in asked.parts
        ):
            faults.append(
                "there is nothing in its question, neither words nor media; repair or "
                "remove it"
            )
    if caption is not None and caption.answer:
        labels["captioned_reference"] = caption.answer
    sample_id = str(identity) if identity.known else f"{place.name}:{record.line}"
    if faults:
        return BadRow(record.where, _reason(record, faults), sample_id, labels)
    return Sample(sample_id, (Message("user", asked),), (expected,), labels)


def _of_sides(given: Side, answer: Side) -> dict[str, Any]:
    """The labels by the modalities on both sides."""
    kinds = {part.kind for part in answer.content.parts} - {"text"}
    labels: dict[str, Any] = {
        "combination": f"{_letters(given.content)}->{_letters(answer.content)}",
        "output_modalities": ["text", *[kind for kind in PART_KINDS if kind in kinds]],
    }
    if given.bundles or answer.bundles:
        bundles: dict[str, list[str]] = {}
        # the numbers of an answer may begin again
        for side in (given, answer):
            for tag, names in side.bundles.items():
                bundles[tag] = [*bundles.get(tag, ()), *names]
        labels["bundles"] = bundles
        labels["bundled_tags"] = [*given.bundled_tags, *answer.bundled_tags]
    return labels


def _lacking(given: Side, answer: Side) -> list[str]:
    """The tags without a medium, here or on the other side, and without a caption."""
    known = given.tags | answer.tags
    faults = []
    for side, content in (("input", given.content), ("output", answer.content)):
        for part in content.parts:
            if part.dangling and part.label not in known and not part.raw.endswith(":"):
                faults.append(
                    f"'{side}.content' has the tag {part.raw}, and '{side}.modal' has "
                    "nothing for it; add it there"
                )
    return faults


def _reason(record: Record, faults: list[str]) -> str:
    more = len(faults) - _MOST_NAMED
    number = record.row.get("id")
    named = "" if number is None else f"record {str(number)[:80]!r}: "
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"{named}{'; '.join(faults[:_MOST_NAMED])}{rest}"


def _letters(content: Interleaved) -> str:
    kinds = {part.kind for part in content.parts}
    letters = [letter for kind, letter in _LETTERS.items() if kind in kinds]
    return "+".join(letters) or "T"
