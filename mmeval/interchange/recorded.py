"""Parses recorded answers, and checks every field, because records are not trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import AnswerPlace, MissingAnswer, StoredAnswer
from mmeval.media.media import Media, stored_path
from mmeval.media.media_type import suffix_for
from mmeval.media.parts import PART_KINDS, Interleaved, Part, PartKind
from mmeval.records.digests import content_digest
from mmeval.records.response import ERROR_KINDS, ErrorInfo, Response
from mmeval.records.sample import Message, Sample


def question_of(sample: Sample) -> str:
    """Returns a digest of a sample's question: its text, and its media in order."""
    return _question_digest(sample.input)


def recorded_question(row: Mapping[str, Any], media_root: Path) -> str:
    """Returns the digest of a recorded question, without reading its media.

    Raises UsageError if the question is damaged.
    """
    try:
        messages = [Message.from_json(item, media_root) for item in row["input"]]
        return _question_digest(messages)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"its question is damaged ({type(error).__name__}: {error})"
        ) from None


def _question_digest(messages: Sequence[Message]) -> str:
    contents = [(message.role, message.content) for message in messages]
    return content_digest(b"question", contents)


def parts_of(rows: object, media_root: Path) -> Interleaved:
    """Parses the parts of an answer.

    Raises UsageError for an invalid part, and MissingDataError for a missing medium.
    """
    if not isinstance(rows, list):
        raise UsageError(
            f"an answer must be a list of parts, not {type(rows).__name__}"
        )
    parts: list[Part] = []
    for row in rows:
        if not isinstance(row, dict):
            raise UsageError(f"a part must be an object, not {type(row).__name__}")
        kind = row.get("type")
        if kind not in PART_KINDS:
            raise UsageError(f"{kind!r:.80} is not a kind of part")
        text: Any = row.get("text")
        raw: Any = row.get("raw", text or "")
        label: Any = row.get("label", "")
        if text is not None and not isinstance(text, str):
            raise UsageError(f"the text of a part of kind {kind!r} must be a string")
        if not isinstance(raw, str) or not isinstance(label, str):
            raise UsageError(f"the text of a part of kind {kind!r} must be a string")
        medium = None
        if row.get("media") is not None:
            medium = _medium(row["media"], media_root)
        parts.append(Part(kind, text, medium, raw, label))
    return Interleaved(tuple(parts))


def _medium(row: object, media_root: Path) -> Media:
    """Returns a recorded medium, whose digest is checked when it is read."""
    try:
        medium = Media.from_json(row, media_root)  # type: ignore[arg-type]  # a value that is not a mapping is reported below
        stored = stored_path(media_root, medium.sha256, medium.mime)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"a medium's record is damaged ({type(error).__name__}: {error})"
        ) from None
    if stored.is_file():
        medium.path = stored
    file = medium.path
    if file is None or not file.is_file() or file.stat().st_size != medium.size:
        raise MissingDataError(
            f"its medium {medium.sha256[:12]}{suffix_for(medium.mime)} is neither in "
            f"{media_root} nor at its recorded path; also copy the folder media/"
        )
    return medium


def read_or_missing(
    place: AnswerPlace, name: str, read: Callable[[], Response], *, where: str
) -> StoredAnswer | MissingAnswer:
    """Returns the result of ``read`` for the answer ``name``, or why it failed.

    ``where`` is the noun for the container of the answer: ``line`` or ``record``.
    """
    try:
        return StoredAnswer(place, read())
    except (UsageError, MissingDataError) as error:
        return MissingAnswer(f"{name}: {error}", place)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = f"{type(error).__name__}: {error}"
        return MissingAnswer(f"{name}: its {where} is damaged ({fault})", place)


def error_of(row: object) -> Response:
    """Parses a recorded failure and its kind. Raises UsageError if it is damaged."""
    fields = row if isinstance(row, dict) else {}
    kind = fields.get("kind")
    message = fields.get("message")
    if kind not in ERROR_KINDS or not isinstance(message, str):
        raise UsageError("the record of its failure is damaged")
    return Response(error=ErrorInfo(kind, message), finish_reason="error")


def kinds_of(values: object) -> tuple[PartKind, ...]:
    """Returns the part kinds in a recorded list. Other values are left out."""
    if not isinstance(values, list):
        return ()
    return tuple(kind for kind in PART_KINDS if kind in values)
