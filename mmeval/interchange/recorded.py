"""Parse answers from records of unknown origin, in which any field may be wrong."""

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
    """The digest of a sample's question: words, order and the bytes of its media."""
    return _asked(sample.input)


def recorded_question(row: Mapping[str, Any], media_root: Path) -> str:
    """The digest of a recorded question, without media. Raises UsageError if
    damaged."""
    try:
        return _asked([Message.from_json(item, media_root) for item in row["input"]])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"its question is damaged ({type(error).__name__}: {error})"
        ) from None


def _asked(messages: Sequence[Message]) -> str:
    contents = [(message.role, message.content) for message in messages]
    return content_digest(b"question", contents)


def parts_of(rows: object, media_root: Path) -> Interleaved:
    """Parse an answer's parts. Raises UsageError; MissingDataError for missing
    media."""
    if not isinstance(rows, list):
        raise UsageError(f"an answer is a list of parts, not {type(rows).__name__}")
    parts: list[Part] = []
    for row in rows:
        if not isinstance(row, dict):
            raise UsageError(f"a part is an object, not {type(row).__name__}")
        kind = row.get("type")
        if kind not in PART_KINDS:
            raise UsageError(f"{kind!r:.80} is no kind of part")
        words: Any = row.get("text")
        raw: Any = row.get("raw", words or "")
        label: Any = row.get("label", "")
        if words is not None and not isinstance(words, str):
            raise UsageError(f"a part of the kind {kind!r} has words that are no text")
        if not isinstance(raw, str) or not isinstance(label, str):
            raise UsageError(f"a part of the kind {kind!r} has words that are no text")
        medium = None
        if row.get("media") is not None:
            medium = _medium(row["media"], media_root)
        parts.append(Part(kind, words, medium, raw, label))
    return Interleaved(tuple(parts))


def _medium(row: object, media_root: Path) -> Media:
    """A recorded medium, whose digest is compared with the record when it is read."""
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
            f"{media_root} nor where it was "
            "recorded; bring the folder media/ along"
        )
    return medium


def read_or_missing(
    place: AnswerPlace, name: str, read: Callable[[], Response], *, where: str
) -> StoredAnswer | MissingAnswer:
    """The answer called ``name`` that a function reads, or why it cannot be read.
    ``where`` is what it stands in."""
    try:
        return StoredAnswer(place, read())
    except (UsageError, MissingDataError) as error:
        return MissingAnswer(f"{name}: {error}", place)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = f"{type(error).__name__}: {error}"
        return MissingAnswer(f"{name}: its {where} is damaged ({fault})", place)


def error_of(row: object) -> Response:
    """Parse a recorded failure, with its kind. Raises UsageError for a damaged one."""
    found = row if isinstance(row, dict) else {}
    kind = found.get("kind")
    message = found.get("message")
    if kind not in ERROR_KINDS or not isinstance(message, str):
        raise UsageError("its failure is damaged")
    return Response(error=ErrorInfo(kind, message), finish_reason="error")


def kinds_of(values: object) -> tuple[PartKind, ...]:
    """The recorded kinds of part; what is none is left out."""
    if not isinstance(values, list):
        return ()
    return tuple(kind for kind in PART_KINDS if kind in values)
