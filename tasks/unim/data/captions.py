"""Reads the caption variant of the data: the same records with captions for media."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from mmeval.media import find
from mmeval.tasks.unim.data.concatenated_json import Record, read_records
from mmeval.tasks.unim.data.files import RecordFile
from mmeval.tasks.unim.data.folders import may_hold
from mmeval.tasks.unim.data.sample import CaptionedTexts, Identity, identity_of

log = logging.getLogger(__name__)

Index: TypeAlias = Mapping[str, Sequence[CaptionedTexts]]
"""Maps the identity of records to their captions in some files, in file order."""

_CACHED = 32
"""Number of indices that are kept in memory. The files of a folder are read in turn."""


class Captions:
    """The caption records of a data set.

    ``root`` is the folder of the data set. ``folder`` is the folder of the captions.
    """

    def __init__(
        self,
        root: Path,
        folder: Path,
        files: Sequence[Path],
    ) -> None:
        self._root, self._folder, self._files = root, folder, tuple(files)
        self._paths = {file.relative_to(folder): file for file in files}
        self._missing: list[str] = []
        self._index = lru_cache(maxsize=_CACHED)(self._read)

    def find(
        self, record: Record, record_file: RecordFile, identity: Identity, nth: int
    ) -> CaptionedTexts | None:
        """Finds the captions of a record.

        The record is number ``nth`` (from 0) among the records with its identity. Its
        captions are number ``nth`` among the captions with this identity in the caption
        file with the same relative path. If this file lacks them, all caption files of
        the domain are searched. There the captions must match the record's identity and
        its words outside of tags, and must be the only such captions.
        """
        name = str(identity)
        file = self._paths.get(record_file.file.relative_to(record_file.records))
        if file is not None:
            same_identity = self._index((file,)).get(name, ())
            if nth < len(same_identity):
                return same_identity[nth]
        domain_files = []
        for other in self._files:
            if may_hold(other.relative_to(self._folder), identity.names):
                domain_files.append(other)
        texts = _texts_of(record)
        matches = set()
        for caption in self._index(tuple(domain_files)).get(name, ()):
            if texts is not None and _matches(texts, caption):
                matches.add(caption)
        if len(matches) == 1:
            return matches.pop()
        self._missing.append(name)
        return None

    def warn_missing(self) -> None:
        """Warns about records without captions if the data have a caption variant."""
        if self._files and self._missing:
            _warn(
                f"{self._folder}: {len(self._missing):,} records have no captions. The "
                f"first is {self._missing[0]}"
            )

    def _read(self, files: tuple[Path, ...]) -> Index:
        index: dict[str, list[CaptionedTexts]] = {}
        for file in files:
            record_file = RecordFile(self._root, self._folder, file)
            unread: list[int] = []
            for record in read_records(file):
                identity, caption = identity_of(record, record_file), caption_of(record)
                if identity.known and caption is not None:
                    index.setdefault(str(identity), []).append(caption)
                else:
                    unread.append(record.line)
            if unread:
                _warn(
                    f"{file}: {len(unread):,} caption records cannot be used. Repair "
                    f"them. The first is at line {unread[0]}"
                )
        return index


def caption_of(record: Record) -> CaptionedTexts | None:
    """Returns the texts of a caption record, or None if they cannot be read."""
    return None if record.fault else _texts_of(record)


def _texts_of(record: Record) -> CaptionedTexts | None:
    texts = []
    for side in ("input", "output"):
        block = record.row.get(side)
        text = block.get("content") if isinstance(block, dict) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return CaptionedTexts(*texts)


@lru_cache(maxsize=1024)
def _warn(message: str) -> None:
    """Logs a warning once per process, since several tasks read the same files."""
    log.warning(message)


def _matches(original: CaptionedTexts, captioned: CaptionedTexts) -> bool:
    """Returns True if captioned texts keep, in order, the words outside of tags."""
    for text, caption in (
        (original.question, captioned.question),
        (original.answer, captioned.answer),
    ):
        words, start, position = _plain(caption), 0, 0
        pieces = []
        for tag in find(text, ("tag",)):
            pieces.append(text[start : tag.start])
            start = tag.end
        for piece in map(_plain, (*pieces, text[start:])):
            position = words.find(piece, position)
            if position < 0:
                return False
            position += len(piece)
    return True


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
