"""Columns that hold media: what the name of one says, and its cells as the ``media`` of
a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mmeval.errors import UsageError
from mmeval.media.embedded import is_sound, sound_medium
from mmeval.media.media import Media

_ONE = re.compile(r"(image|audio|video|document|3d)[ _]?(\d{0,9})")
_MANY = re.compile(r"(image|audio|video|document|3d)s")


def holds_one(name: str) -> bool:
    """Whether a column of this name holds one medium: ``image1``, ``audio``."""
    return _ONE.fullmatch(name) is not None


def holds_many(name: str) -> bool:
    """Whether a column of this name holds a list of media: ``images``."""
    return _MANY.fullmatch(name) is not None


def media_names(written: Any) -> dict[str, str]:
    """The option ``media``: columns, each with the name that says what it holds. Raises
    UsageError."""
    if not isinstance(written, Mapping):
        raise UsageError(
            "dataset_kwargs: media maps columns to what they hold, such as "
            '"image_ref: images"'
        )
    for column, name in written.items():
        if not isinstance(name, str) or not (holds_one(name) or holds_many(name)):
            raise UsageError(
                f"dataset_kwargs: media: the column {column!r} holds {name!r}; write "
                "a kind with a number for one "
                "medium (image1), or its plural for a list (images)"
            )
    return {str(column): name for column, name in written.items()}


def with_media(values: dict[str, Any], media: Mapping[str, str]) -> dict[str, Any]:
    """A row in which some columns are its ``media`` by label, in place of the columns.

    ``media`` maps columns to names that say what they hold (see ``media_names``). A
    cell is a path, base64, a data URI, bytes, a mapping with ``bytes`` or ``path``, a
    sound as numbers, or a list of these; an empty one holds nothing. Raises UsageError
    for another cell, and for a label that the row has already.
    """
    if media.keys().isdisjoint(values):
        return values
    row = {column: value for column, value in values.items() if column not in media}
    own = row.get("media") or {}
    if not isinstance(own, Mapping):
        raise UsageError(
            f'"media" is a {type(own).__name__}, not a mapping from labels to paths'
        )
    held: dict[str, Any] = dict(own)
    for column, name in media.items():
        value = values.get(column)
        cells: dict[str, Any] = {}
        if one := _ONE.fullmatch(name):
            cells[f"{one[1]}{int(one[2] or 1)}"] = value
        else:
            # counted from 1, empty ones too
            many = value if isinstance(value, list) else [value]
            for number, cell in enumerate(many, 1):
                cells[f"{name[:-1]}{number}"] = cell
        for label, cell in cells.items():
            if label in held:
                raise UsageError(
                    f"the column {column!r} holds {label}, which the row has already"
                )
            if medium := _medium(cell, column):
                held[label] = medium
    return {**row, "media": held} if held else row


def _medium(cell: Any, column: str) -> Media | str | None:
    if is_sound(cell) and cell.get("array") is not None:
        return sound_medium(cell)
    if isinstance(cell, Mapping):
        held = cell.get("bytes")
        if isinstance(held, bytes):
            return Media.from_bytes(
                held, name=PurePosixPath(cell.get("path") or "").name
            )
        cell = cell.get("path")
    if isinstance(cell, bytes):
        return Media.from_bytes(cell)
    if not isinstance(cell, str | None):
        raise UsageError(
            f"the column {column!r} holds a {type(cell).__name__} where a medium or a "
            "path belongs"
        )
    return cell
