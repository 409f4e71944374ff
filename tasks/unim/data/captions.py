"""The caption variant of the data: the same records, captions in place of media."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from mmeval.media import find
from mmeval.tasks.unim.data.concatenated_json import Record, read_records
from mmeval.tasks.unim.data.files import Place
from mmeval.tasks.unim.data.folders import may_hold
from mmeval.tasks.unim.data.sample import Caption, Identity, identity_of

log = logging.getLogger(__name__)

Index: TypeAlias = Mapping[str, Sequence[Caption]]
"""The captions of one or more files by the identity of their records, in the order of
the files."""

_KEPT = 32
"""Indices that are kept in memory, since files of one folder are read one after the
other."""


class Captions:
    """A data set's caption records; ``root`` is its folder, ``folder`` the
    captions'."""

    def __init__(self, root: Path, folder: Path, files: Sequence[Path]) -> None:
        self._root, self._folder, self._files = root, folder, tuple(files)
        self._paths = {file.relative_to(folder): file for file in files}
        self._lacking: list[str] = []
        self._index = lru_cache(maxsize=_KEPT)(self._read)

    def find(
        self, record: Record, place: Place, identity: Identity, nth: int
    ) -> Caption | None:
        """The captions of a record: the ``nth`` (from 0) of its identity in its file.
        That file has the same relative path. Without such a file, or an entry there,
        the one of its identity in its domain's folder with the same words outside of
        the tags, since there an identity may be in several files."""
        file = self._paths.get(place.file.relative_to(place.records))
        name = str(identity)
        same = () if file is None else self._index((file,)).get(name, ())
        if nth < len(same):
            return same[nth]
        near = tuple(
            file
            for file in self._files
            if may_hold(file.relative_to(self._folder), identity.names)
        )
        fitting = {
            one: None for one in self._index(near).get(name, ()) if _fits(record, one)
        }
        if len(fitting) == 1:
            return next(iter(fitting))
        self._lacking.append(name)
        return None

    def tell_missing(self) -> None:
        """Warn about the records without captions, where there is a caption variant."""
        if self._files and self._lacking:
            _warn(
                f"{self._folder}: no captions of {len(self._lacking):,} records, the "
                f"first is {self._lacking[0]}"
            )

    def _read(self, files: tuple[Path, ...]) -> Index:
        index: dict[str, list[Caption]] = {}
        for file in files:
            for name, caption in _captions_of(
                file, Place(self._root, self._folder, file)
            ):
                index.setdefault(name, []).append(caption)
        return index


def caption_of(record: Record) -> Caption | None:
    """The texts of a caption record; None where it has none."""
    texts = [
        side.get("content") if isinstance(side, dict) else None
        for side in map(record.row.get, _SIDES)
    ]
    if record.fault or not all(isinstance(text, str) for text in texts):
        return None
    return Caption(*map(str, texts))


_SIDES = ("input", "output")


def _captions_of(file: Path, place: Place) -> Iterator[tuple[str, Caption]]:
    unread: list[int] = []
    for record in read_records(file):
        identity, caption = identity_of(record, place), caption_of(record)
        if identity.known and caption is not None:
            yield str(identity), caption
        else:
            unread.append(record.line)
    if unread:
        _warn(
            f"{file}: {len(unread):,} caption records cannot be used, the first is at "
            f"line {unread[0]}; repair them"
        )


@lru_cache(maxsize=1024)
def _warn(message: str) -> None:
    """Warn once in a process, since several tasks read the same files."""
    log.warning(message)


def _fits(record: Record, caption: Caption) -> bool:
    """Whether a record's words outside of tags are, in order, in the captioned
    texts."""
    sides = [record.row.get(side) for side in _SIDES]
    texts = [side.get("content") if isinstance(side, dict) else None for side in sides]
    return all(
        isinstance(text, str) and _follows(_between_tags(text), caption_text)
        for text, caption_text in zip(
            texts, (caption.question, caption.answer), strict=True
        )
    )


def _between_tags(text: str) -> list[str]:
    words, at = [], 0
    for tag in find(text, ("tag",)):
        words.append(text[at : tag.start])
        at = tag.end
    return [plain for piece in (*words, text[at:]) if (plain := _plain(piece))]


def _follows(pieces: Sequence[str], text: str) -> bool:
    text, at = _plain(text), 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
