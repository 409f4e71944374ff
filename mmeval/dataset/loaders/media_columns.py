"""Interprets the names of columns with media, and moves their cells to ``media``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mmeval.errors import UsageError
from mmeval.media.embedded import is_sound, sound_medium
from mmeval.media.media import Media

_SINGLE = re.compile(r"(image|audio|video|document|3d)[ _]?(\d{0,9})")
_LIST = re.compile(r"(image|audio|video|document|3d)s")


def holds_one(name: str) -> bool:
    """Returns True for a name such as ``image1``: each cell contains one medium."""
    return _SINGLE.fullmatch(name) is not None


def holds_many(name: str) -> bool:
    """Returns True for a name such as ``images``: each cell is a list of media."""
    return _LIST.fullmatch(name) is not None


def media_names(option: Any) -> dict[str, str]:
    """Checks the option ``media``, which maps columns to names such as ``images``.

    Raises UsageError.
    """
    if not isinstance(option, Mapping):
        raise UsageError(
            "dataset_kwargs: media must map columns to kinds of media, such as "
            '"image_ref: images"'
        )
    for column, name in option.items():
        if not isinstance(name, str) or not (holds_one(name) or holds_many(name)):
            raise UsageError(
                f"dataset_kwargs: media: the column {column!r} is mapped to "
                f"{name!r}; write a numbered kind for one medium (image1), or a plural "
                "for a list (images)"
            )
    return {str(column): name for column, name in option.items()}


def with_media(values: dict[str, Any], media: Mapping[str, str]) -> dict[str, Any]:
    """Returns the row with some columns moved to its ``media``, by label.

    ``media`` maps columns to names (see ``media_names``). A cell is a path, base64, a
    data URI, bytes, a mapping with ``bytes`` or ``path``, a sound as numbers, or a list
    of these. An empty cell adds no medium. Raises UsageError for any other cell, and
    for a label that the row already has.
    """
    if media.keys().isdisjoint(values):
        return values
    row = {column: value for column, value in values.items() if column not in media}
    row_media = row.get("media") or {}
    if not isinstance(row_media, Mapping):
        kind = type(row_media).__name__
        raise UsageError(f'"media" is a {kind}, not a mapping from labels to paths')
    all_media: dict[str, Any] = dict(row_media)
    for column, name in media.items():
        value = values.get(column)
        cells: dict[str, Any] = {}
        if single := _SINGLE.fullmatch(name):
            cells[f"{single[1]}{int(single[2] or 1)}"] = value
        else:
            # numbered from 1; empty items count, so that an item always has one label
            items = value if isinstance(value, list) else [value]
            for number, cell in enumerate(items, 1):
                cells[f"{name[:-1]}{number}"] = cell
        for label, cell in cells.items():
            if label in all_media:
                raise UsageError(
                    f"the column {column!r} contains {label}, but the row already has "
                    f"a medium {label}"
                )
            if medium := _medium(cell, column):
                all_media[label] = medium
    return {**row, "media": all_media} if all_media else row


def _medium(cell: Any, column: str) -> Media | str | None:
    if is_sound(cell) and cell.get("array") is not None:
        return sound_medium(cell)
    if isinstance(cell, Mapping):
        content = cell.get("bytes")
        if isinstance(content, bytes):
            return Media.from_bytes(
                content, name=PurePosixPath(cell.get("path") or "").name
            )
        cell = cell.get("path")
    if isinstance(cell, bytes):
        return Media.from_bytes(cell)
    if not isinstance(cell, str | None):
        raise UsageError(
            f"the column {column!r} contains a {type(cell).__name__}, but a medium or "
            "a path is expected"
        )
    return cell
