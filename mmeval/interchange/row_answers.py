"""Reads answers in a row layout (:mod:`mmeval.interchange.row_layout`).

A path of a medium is searched relative to the file that names it, then to the given
folder, then to the working directory (:mod:`mmeval.interchange.media_paths`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import AnswerPlace, MissingAnswer, StoredAnswer
from mmeval.interchange.media_paths import MediaPaths, MediaRoot, missing_remarks
from mmeval.interchange.recorded import error_of, kinds_of
from mmeval.interchange.row_layout import AnswerFile, Row, RowLayout
from mmeval.interchange.sidecar import (
    exact_files,
    exact_part,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.system.wording import listed

MOST_NAMED = 3
"""The maximum number of missing files that the warning about an answer names."""


class Entry(NamedTuple):
    """A row with an answer.

    ``number`` is the row's position in its file, from 0. ``names`` are the paths in its
    fields. ``sidecar`` is the value of its key ``mmeval``.
    """

    file: Path
    number: int
    place: str
    key: Hashable
    row: Row
    names: list[str]
    sidecar: Mapping[str, Any]


class RowAnswers:
    """The answers of one model, kept in memory. Media are read when needed."""

    def __init__(
        self, layout: RowLayout, path: Path, media_root: MediaRoot = ()
    ) -> None:
        """Reads the answers at ``path``, which is a file or a folder.

        Raises MissingDataError if there are no answers, and UsageError for a damaged
        file.
        """
        self._layout = layout
        self._media = MediaPaths(media_root)
        self._folder = path.parent if path.is_file() else path
        self._files: dict[Path, list[Entry]] = {}
        self._by_key: dict[tuple[int, Hashable], list[Entry]] = {}
        self.remarks: list[str] = []
        for file in layout.files(path):
            self._add(file)
        # all paths that do not lead to a file
        missing: list[str] = []
        for folders, entry in self._entries_with_folders():
            is_exact = self._is_exact(entry)
            for name in exact_files(entry.sidecar) if is_exact else entry.names:
                if not self._media.has(name, folders):
                    missing.append(name)
        self.remarks += missing_remarks(missing)

    @property
    def model(self) -> str:
        return model_of(read_manifest(self._folder), self._folder)

    @cached_property
    def digest(self) -> str:
        """A digest of the files, their media, and which media are missing."""
        files = {
            file: [file.name, Media.from_path(file).sha256] for file in self._files
        }
        for folders, entry in self._entries_with_folders():
            names = (*entry.names, *exact_files(entry.sidecar))
            for name in dict.fromkeys(names):
                files[entry.file].append(self._media.sha256(name, folders))
        return digest(list(files.values()))

    @property
    def counts(self) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for file, entries in self._files.items():
            counts[self._group_of(file)] = len(entries)
        return counts

    def answer(
        self,
        task: str,  # noqa: ARG002
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        entry = self._entry(sample, repeat)
        if entry is None:
            where = f" in a file *_repeat{repeat}" if repeat else ""
            return MissingAnswer(
                f"{self._folder} has no answer to {sample.id!r}{where}"
            )
        place = AnswerPlace(self._group_of(entry.file), entry.number)
        try:
            return StoredAnswer(place, self._response(entry, sample))
        except MissingDataError as error:
            return MissingAnswer(f"{sample.id!r}: {error}", place)
        except UsageError as error:
            raise UsageError(f"{entry.place}: {error}") from None

    def close(self) -> None:
        """Does nothing, because no file is kept open."""

    def _add(self, file: AnswerFile) -> None:
        """Reads a file. Raises UsageError, with the position, for an invalid row."""
        layout = self._layout
        entries: dict[Hashable, Entry] = {}
        skipped = duplicates = 0
        for number, (place, row) in enumerate(layout.rows(file.path)):
            key = layout.key(row) if isinstance(row, dict) else None
            if key is None:
                skipped += 1
                continue
            names: list[str] = []
            try:
                layout.answer(row, names.append)
                sidecar = own_of(row)
            except UsageError as error:
                raise UsageError(f"{place}: {error}") from None
            entry_key = key if layout.unique else number
            duplicates += entry_key in entries
            entries[entry_key] = Entry(
                file.path, number, place, key, row, names, sidecar
            )
        if skipped:
            self.remarks.append(f"{file.path}: {layout.keyless}, skipped: {skipped:,}")
        if duplicates:
            self.remarks.append(
                f"{file.path}: answers with a repeated id: {duplicates:,}; only the "
                "last of each id counts"
            )
        self._files[file.path] = list(entries.values())
        for entry in entries.values():
            self._by_key.setdefault((file.repeat, entry.key), []).append(entry)

    def _entry(self, sample: Sample, repeat: int) -> Entry | None:
        """Returns the row of a sample.

        Among rows with equal questions, this is the row at the sample's position if
        there is one, else the first.
        """
        for key in self._layout.keys(sample):
            entries = self._by_key.get((repeat, key))
            if not entries:
                continue
            if self._layout.position is not None:
                position = self._layout.position(sample.id)
                for entry in entries:
                    if entry.number == position:
                        return entry
            return entries[0]
        return None

    def _response(self, entry: Entry, sample: Sample) -> Response:
        layout = self._layout
        sidecar = entry.sidecar
        folders = self._folders_of(entry.file)
        missing: list[str] = []

        def find(name: str) -> Media | None:
            try:
                return self._media.find(name, folders)
            except MissingDataError as error:
                if not layout.keeps_place:
                    raise
                missing.append(str(error))
                return None

        if "error" in sidecar:
            return error_of(sidecar["error"])
        if self._is_exact(entry):
            output = Interleaved(
                tuple(exact_part(part, find) for part in sidecar["parts"])
            )
        else:
            output = layout.answer(entry.row, find)
        left_out = (*layout.left_out, *kinds_of(sidecar.get("left_out")))
        warnings = list(layout.warnings(entry.row, sample))
        if missing:
            names = listed(missing, MOST_NAMED)
            warnings.append(f"a file of the answer is missing: {names}")
        return Response(
            output=output,
            left_out=tuple(dict.fromkeys(left_out)),
            warnings=tuple(warnings),
        )

    def _is_exact(self, entry: Entry) -> bool:
        """Returns True if the parts under the key ``mmeval`` belong to this answer."""
        sidecar = entry.sidecar
        return "parts" in sidecar and sidecar.get("of") == self._layout.seal(entry.row)

    def _group_of(self, file: Path) -> str:
        return file.relative_to(self._folder).as_posix()

    def _folders_of(self, file: Path) -> tuple[Path, ...]:
        """Returns the folders that the paths of a file are relative to."""
        return file.parent, self._folder, Path.cwd()

    def _entries_with_folders(self) -> Iterator[tuple[tuple[Path, ...], Entry]]:
        """Yields all rows, each with the folders that its paths are relative to."""
        for file, entries in self._files.items():
            folders = self._folders_of(file)
            for entry in entries:
                yield folders, entry
