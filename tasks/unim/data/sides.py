"""Reads the input or output of a UniM record: its text and the entries of ``modal``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Interleaved, Media, find
from mmeval.tasks.unim.data.bundles import bundles_of
from mmeval.tasks.unim.data.files import find_medium, kind_fault

_SPELLINGS = ("tag",)


@dataclass(frozen=True)
class SideContent:
    """The content of one side of a record.

    ``tags`` are the labels of the tags that have an entry in ``modal``. ``bundles`` are
    the names of the files that belong to an OBJ, by the OBJ's key. ``bundled_tags`` are
    the tags of these files.
    """

    content: Interleaved = field(default_factory=Interleaved)
    tags: frozenset[str] = frozenset()
    bundles: Mapping[str, list[str]] = field(default_factory=dict)
    bundled_tags: tuple[str, ...] = ()


@dataclass
class _Modal:
    """The entries of ``modal`` by the label of their tag."""

    keys: dict[str, str] = field(default_factory=dict)
    media: dict[str, Media] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)


def read_side(
    row: Mapping[str, Any],
    side: str,
    root: Path,
    folders: Sequence[str],
    faults: list[str],
) -> SideContent:
    """Reads one side of a record, and adds its faults to ``faults``.

    Media are looked up in ``folders`` under ``root``.
    """
    block = row.get(side)
    if not isinstance(block, dict) or not isinstance(block.get("content"), str):
        faults.append(f"'{side}' must be an object with a text under 'content'")
        return SideContent()
    entries = block.get("modal") or {}
    if not isinstance(entries, dict):
        faults.append(f"'{side}.modal' must be an object that maps tags to files")
        entries = {}
    modal = _Modal()
    for key, value in entries.items():
        try:
            _read_entry(key, value, modal, root, folders)
        except (MissingDataError, UsageError) as error:
            faults.append(f"'{side}.modal.{key[:80]}'{error}")
    media = modal.media
    shapes = {label: media[label] for label in media if label.startswith("3d")}
    bundles: dict[str, list[str]] = {}
    bundled: list[str] = []
    for mesh, labels in bundles_of(shapes).items():
        bundles[modal.keys[mesh]] = [media[label].name for label in labels]
        bundled += labels
    contents: dict[str, Media | str] = {}
    for label, medium in media.items():
        if label in bundled:
            continue
        contents[label] = medium
        fault = kind_fault(medium, label.rstrip("0123456789"))
        if fault:
            faults.append(f"'{side}.modal.{modal.keys[label]}': {fault}")
    contents |= modal.code
    text = with_captions(block["content"], modal.captions)
    return SideContent(
        Interleaved.from_text(text, contents, spellings=_SPELLINGS),
        frozenset(modal.keys),
        bundles,
        tuple(bundled),
    )


def _read_entry(
    key: str, value: object, modal: _Modal, root: Path, folders: Sequence[str]
) -> None:
    """Reads an entry into ``modal``.

    Raises UsageError or MissingDataError with a message that is meant to follow the
    entry's key.
    """
    if not isinstance(value, str):
        raise UsageError(f" must be a text, not of type {type(value).__name__}")
    if re.fullmatch(r"text\d*", key):
        return  # the entry has no tag, and its text is also in ``content``
    tag = next(find(f"<{key}>", _SPELLINGS), None)
    if tag is None or tag.raw != f"<{key}>":
        raise UsageError(
            " is not a tag; write a kind and a number, such as image1 or threeD2"
        )
    if tag.label in modal.keys:
        raise UsageError(
            f" is the same tag as '{modal.keys[tag.label][:80]}'; remove one of them"
        )
    modal.keys[tag.label] = key
    if tag.kind == "code":
        modal.code[tag.label] = value
        return
    try:
        medium = find_medium(value, root, folders)
        if medium is None:
            modal.captions[tag.label] = value
            return
        medium.mime  # noqa: B018  raises if the file cannot be opened
        modal.media[tag.label] = medium
    except MissingDataError as error:
        raise MissingDataError(f": {error}") from None
    except UsageError as error:
        raise UsageError(f": {error}") from None


def with_captions(content: str, captions: Mapping[str, str]) -> str:
    """Inserts captions into tags (``<audio1: words>``), as the released scorers do.

    A tag with a caption is still a tag, and the model reads its words. A caption
    without a tag is left out.
    """
    if not captions:
        return content
    pieces: list[str] = []
    position = 0
    for tag in find(content, _SPELLINGS):
        words = captions.get(tag.label)
        if words is None or tag.raw.endswith(":"):
            continue
        opening = tag.raw.rstrip("> \t")
        pieces.append(
            f"{content[position : tag.start]}{opening}: "
            f"{words}{tag.raw[len(opening) :].lstrip()}"
        )
        position = tag.end
    return "".join(pieces) + content[position:]
