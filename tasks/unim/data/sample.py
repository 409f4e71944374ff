"""Converts a UniM record to a sample with question, reference and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmeval.dataset import BadRow
from mmeval.media import PART_KINDS, Interleaved, PartKind, text_part
from mmeval.records import Message, Sample
from mmeval.tasks.unim.data.concatenated_json import Record
from mmeval.tasks.unim.data.files import RecordFile
from mmeval.tasks.unim.data.sides import SideContent, read_side
from mmeval.tasks.unim.labels import (
    FieldDomain,
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
"""The paper's letters for the modalities of a combination, in the order of mmeval."""
_MAX_NAMED = 4
"""Maximum number of a record's faults that are listed. Further faults are counted."""


@dataclass(frozen=True)
class CaptionedTexts:
    """The texts of a caption record: question and answer with captions for media."""

    question: str
    answer: str


@dataclass(frozen=True)
class Identity:
    """The identity of a record. ``faults`` are the reasons why fields are empty."""

    names: FieldDomain
    number: str
    faults: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        return bool(self.names.field and self.names.domain and self.number)

    def __str__(self) -> str:
        """Returns the id of the sample.

        The id contains field and domain, since numbers repeat across domains.
        """
        return f"{self.names.field}/{self.names.domain}/{self.number}"


def identity_of(record: Record, record_file: RecordFile) -> Identity:
    """Reads the identity from the record's field and domain, or from its folders."""
    faults: list[str] = []
    names = names_of(record.row, record_file.folders, faults)
    return Identity(names, number_of(record.row, faults), tuple(faults))


def sample_of(
    record: Record,
    record_file: RecordFile,
    identity: Identity,
    caption: CaptionedTexts | None = None,
    *,
    as_captions: bool = False,
) -> Sample | BadRow:
    """Converts a record to a sample.

    ``caption`` is the record's caption variant. With ``as_captions`` the question is
    taken from it. A record that cannot be read, violates the layout or names a missing
    medium becomes a bad row with the known labels and all reasons.
    """
    faults: list[str] = []
    labels: dict[str, Any] = {
        "field": identity.names.field,
        "domain": identity.names.domain,
        "difficulty": difficulty_of(record.row, faults),
    }
    labels = {name: label for name, label in labels.items() if label}
    question = reference = Interleaved()
    if record.fault:
        faults = [record.fault]
    else:
        faults = [*identity.faults, *faults]
        folders = record_file.media_folders(identity.names)
        # A question with captions does not need its media.
        question_faults = [] if as_captions else faults
        input = read_side(
            record.row, "input", record_file.root, folders, question_faults
        )
        answer = read_side(record.row, "output", record_file.root, folders, faults)
        labels |= {**_side_labels(input, answer), **capabilities_of(record.row)}
        question, reference = input.content, answer.content
        if as_captions:
            # Captions are plain text, so their tags are not placeholders.
            input, question = SideContent(), Interleaved()
            if caption is None:
                faults.append(
                    "qapairs_caption has no record of this field, domain and id; fetch "
                    "it, or leave out variant: caption"
                )
            elif caption.question:
                question = Interleaved((text_part(caption.question),))
        # Missing media are only reported for an otherwise valid record: an unreadable
        # entry would be reported twice.
        faults = faults or _missing_media(input, answer)
        if not faults and not any(
            part.kind != "text" or part.raw.strip() for part in question.parts
        ):
            faults.append(
                "the question has neither words nor media; repair or remove it"
            )
    if caption is not None and caption.answer:
        labels["captioned_reference"] = caption.answer
    sample_id = str(identity) if identity.known else f"{record_file.name}:{record.line}"
    if faults:
        return BadRow(record.where, _reason(record, faults), sample_id, labels)
    return Sample(sample_id, (Message("user", question),), (reference,), labels)


def _side_labels(input: SideContent, answer: SideContent) -> dict[str, Any]:
    """Returns the labels for the modalities and bundles of both sides."""
    kinds = {part.kind for part in answer.content.parts} - {"text"}
    labels: dict[str, Any] = {
        "combination": f"{_letters(input.content)}->{_letters(answer.content)}",
        "output_modalities": ["text", *[kind for kind in PART_KINDS if kind in kinds]],
    }
    if input.bundles or answer.bundles:
        bundles: dict[str, list[str]] = {}
        # Separate for each side, since both may use the same tags.
        for side in (input, answer):
            for tag, names in side.bundles.items():
                bundles[tag] = [*bundles.get(tag, ()), *names]
        labels["bundles"] = bundles
        labels["bundled_tags"] = [*input.bundled_tags, *answer.bundled_tags]
    return labels


def _missing_media(input: SideContent, answer: SideContent) -> list[str]:
    """Lists a fault for each tag without a caption or an entry in ``modal``."""
    known_tags = input.tags | answer.tags
    faults = []
    for side, content in (("input", input.content), ("output", answer.content)):
        for part in content.parts:
            if (
                part.dangling
                and part.label not in known_tags
                and not part.raw.endswith(":")
            ):
                faults.append(
                    f"'{side}.content' has the tag {part.raw}, and '{side}.modal' "
                    "lacks it; add it there"
                )
    return faults


def _reason(record: Record, faults: list[str]) -> str:
    more = len(faults) - _MAX_NAMED
    number = record.row.get("id")
    prefix = "" if number is None else f"record {str(number)[:80]!r}: "
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"{prefix}{'; '.join(faults[:_MAX_NAMED])}{rest}"


def _letters(content: Interleaved) -> str:
    kinds = {part.kind for part in content.parts}
    letters = [letter for kind, letter in _LETTERS.items() if kind in kinds]
    return "+".join(letters) or "T"
