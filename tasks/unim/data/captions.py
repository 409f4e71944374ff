"""The caption variant of the data: the same records, captions in place of media."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
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

    def __init__(
        self,
        root: Path,
        folder: Path,
        files: Sequence[Path],
    ) -> None:
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
        name = str(identity)
        file = self._paths.get(place.file.relative_to(place.records))
        if file is not None:
            same = self._index((file,)).get(name, ())
            if nth < len(same):
                return same[nth]
        near = []
        for other in self._files:
            if may_hold(other.relative_to(self._folder), identity.names):
                near.append(other)
        own = _texts_of(record)
        fitting = set()
        for caption in self._index(tuple(near)).get(name, ()):
            if own is not None and _follows(own, caption):
                fitting.add(caption)
        if len(fitting) == 1:
            return fitting.pop()
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
            place = Place(self._root, self._folder, file)
            unread: list[int] = []
            for record in read_records(file):
                identity, caption = identity_of(record, place), caption_of(record)
                if identity.known and caption is not None:
                    index.setdefault(str(identity), []).append(caption)
                else:
                    unread.append(record.line)
            if unread:
                _warn(
                    f"{file}: {len(unread):,} caption records cannot be used, the "
                    f"first is at line {unread[0]}; repair them"
                )
        return index


def caption_of(record: Record) -> Caption | None:
    """The texts of a caption record; None where it has none."""
    return None if record.fault else _texts_of(record)


def _texts_of(record: Record) -> Caption | None:
    texts = []
    for side in ("input", "output"):
        block = record.row.get(side)
        text = block.get("content") if isinstance(block, dict) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return Caption(*texts)


@lru_cache(maxsize=1024)
def _warn(message: str) -> None:
    """Warn once in a process, since several tasks read the same files."""
    log.warning(message)


def _follows(own: Caption, captioned: Caption) -> bool:
    """Whether a record's words outside of tags are, in order, in the captioned
    texts."""
    for text, caption in (
        (own.question, captioned.question),
        (own.answer, captioned.answer),
    ):
        words, start, place = _plain(caption), 0, 0
        pieces = []
        for tag in find(text, ("tag",)):
            pieces.append(text[start : tag.start])
            start = tag.end
        for piece in map(_plain, (*pieces, text[start:])):
            place = words.find(piece, place)
            if place < 0:
                return False
            place += len(piece)
    return True


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
