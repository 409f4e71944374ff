"""A UniM record's input or output: its text with the content of ``modal``."""

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
class Side:
    """One side; ``tags`` are the labels that ``modal`` has an entry for. ``bundles``
    names by the key of an OBJ the files that belong to it; the tags of these are
    ``bundled_tags``."""

    content: Interleaved = field(default_factory=Interleaved)
    tags: frozenset[str] = frozenset()
    bundles: Mapping[str, list[str]] = field(default_factory=dict)
    bundled_tags: tuple[str, ...] = ()


@dataclass
class _Modal:
    """The entries of ``modal`` by their tags' labels."""

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
) -> Side:
    """Read the content of one side; faults are added to ``faults``.
    Media are searched in ``folders`` under ``root``."""
    block = row.get(side)
    if not isinstance(block, dict) or not isinstance(block.get("content"), str):
        faults.append(f"'{side}' must be an object with a text under 'content'")
        return Side()
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
    shown: dict[str, Media | str] = {}
    for label, medium in media.items():
        if label in bundled:
            continue
        shown[label] = medium
        fault = kind_fault(medium, label.rstrip("0123456789"))
        if fault:
            faults.append(f"'{side}.modal.{modal.keys[label]}': {fault}")
    shown |= modal.code
    text = with_captions(block["content"], modal.captions)
    return Side(
        Interleaved.from_text(text, shown, spellings=_SPELLINGS),
        frozenset(modal.keys),
        bundles,
        tuple(bundled),
    )


def _read_entry(
    key: str, value: object, modal: _Modal, root: Path, folders: Sequence[str]
) -> None:
    """Read an entry into ``modal``.
    Raises UsageError and MissingDataError with a message that follows the key."""
    if not isinstance(value, str):
        raise UsageError(f" must be a text, and is of type {type(value).__name__}")
    if re.fullmatch(r"text\d*", key):
        return  # it has no tag, and is also in ``content``
    tag = next(find(f"<{key}>", _SPELLINGS), None)
    if tag is None or tag.raw != f"<{key}>":
        raise UsageError(
            " is no tag; write a kind and a number, such as image1 or threeD2"
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
        medium.mime  # noqa: B018  read here, so that a file that cannot be opened is named
        modal.media[tag.label] = medium
    except MissingDataError as error:
        raise MissingDataError(f": {error}") from None
    except UsageError as error:
        raise UsageError(f": {error}") from None


def with_captions(content: str, captions: Mapping[str, str]) -> str:
    """The text with each tag's caption (``<audio1: words>``), as in published scorers.
    It still counts as a tag, and the model reads the words. A caption without a tag is
    left out."""
    if not captions:
        return content
    out: list[str] = []
    at = 0
    for tag in find(content, _SPELLINGS):
        words = captions.get(tag.label)
        if words is None or tag.raw.endswith(":"):
            continue
        opening = tag.raw.rstrip("> \t")
        out.append(
            f"{content[at : tag.start]}{opening}: "
            f"{words}{tag.raw[len(opening) :].lstrip()}"
        )
        at = tag.end
    return "".join(out) + content[at:]
