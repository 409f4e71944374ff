"""Answers that stand by the sample's id in one file, and the further ones to the same
questions in files beside it.

For the readers of such layouts. What a layout has no place for is under our own key of
an entry, which the scripts of benchmarks do not read: the parts of an answer that the
entry alone does not give back (``parts``, sealed to it by ``of``), a failure
(``error``), and the kinds that the model was not asked for (``left_out``). Of an id
that stands again the last entry counts. Paths start from the file, else from the
working directory (:mod:`mmeval.interchange.media_paths`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from mmeval.content.media import Media, path_inside
from mmeval.content.parts import Interleaved, PartKind
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import Absent, AnswerPlace, StoredAnswer
from mmeval.interchange.media_paths import MediaPaths, missing_remarks
from mmeval.interchange.recorded import error_of, kinds_of
from mmeval.interchange.sidecar import (
    exact_files,
    exact_part,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.records.digests import digest
from mmeval.records.response import Response
from mmeval.records.sample import Sample

E = TypeVar("E")
"""What a layout reads of an entry."""


class Entry(NamedTuple, Generic[E]):
    """An answer: its number in the file, from 0, what the layout reads of it, and our
    own key."""

    number: int
    answer: E
    own: Mapping[str, Any]


class EntryFile(NamedTuple, Generic[E]):
    """A file with its answers by id; ``remarks`` are about the entries that do not
    count."""

    path: Path
    entries: Mapping[str, Entry[E]]
    remarks: tuple[str, ...]


def files_of(path: Path, first: str, repeat: str) -> dict[int, Path]:
    """The files by repeat: the one that is named, or those of a folder. ``repeat`` is
    ``answers_repeat{}.json``, say. Raises MissingDataError for a folder without the
    first, UsageError for a link that leads out of it."""
    if path.is_file():
        return {0: path}
    if not (path / first).is_file():
        raise MissingDataError(
            f"{path}: no {first}; name the file of the answers with path="
        )
    pattern = re.compile("([1-9][0-9]{0,3})".join(map(re.escape, repeat.split("{}"))))
    return {
        0: path_inside(path, first),
        **{
            int(found[1]): path_inside(path, file.name)
            for file in path.iterdir()
            if (found := pattern.fullmatch(file.name))
        },
    }


def read_entries(
    file: Path, rows: Iterable[tuple[str, Any]], read: Callable[[Mapping[str, Any]], E]
) -> EntryFile[E]:
    """The entries of a file, of which each row comes with its place in words.
    Raises UsageError with the place of a row that ``read`` refuses."""
    found: dict[str, Entry[E]] = {}
    nameless = again = 0
    for number, (place, row) in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        if name is None:
            nameless += 1
            continue
        again += str(name) in found
        try:
            found[str(name)] = Entry(number, read(row), own_of(row))
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
    remarks = (
        (nameless, f"{file}: answers without an id, passed over: {nameless:,}"),
        (
            again,
            f"{file}: answers whose id occurs again: {again:,}; the last one counts",
        ),
    )
    return EntryFile(file, found, tuple(words for count, words in remarks if count))


class AnswersById(ABC, Generic[E]):
    """The answers of one model by repeat, in memory; media are read on demand. The
    methods of a layout are abstract.

    ``repeat`` is the name of a repeat's file, ``left_out`` the kinds that the model was
    not asked for in any answer, ``media`` finds the media.
    """

    def __init__(
        self,
        files: Mapping[int, EntryFile[E]],
        repeat: str,
        left_out: Iterable[PartKind] = (),
        media: MediaPaths | None = None,
    ) -> None:
        self._files, self._repeat, self._left_out = files, repeat, tuple(left_out)
        self._folder = files[0].path.parent
        self._media = MediaPaths() if media is None else media

    @abstractmethod
    def seal(self, answer: E) -> str:
        """A digest of an entry, so that parts of another answer are not used for it."""

    @abstractmethod
    def paths(self, answer: E) -> Iterable[str]:
        """The paths of its media."""

    @abstractmethod
    def plain(
        self, answer: E, medium: Callable[[str], Media]
    ) -> tuple[Interleaved, tuple[str, ...]]:
        """The answer that an entry alone gives, and warnings about it; ``medium`` opens
        a path, and raises MissingDataError for a missing file, which the layout may
        pass on. Raises UsageError for an invalid answer."""

    def warnings(self, answer: E, sample: Sample) -> tuple[str, ...]:  # noqa: ARG002
        """Warnings about an entry as the answer to a sample."""
        return ()

    @property
    def model(self) -> str:
        return model_of(read_manifest(self._folder), self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of the files and of all media that there are."""
        return digest(
            [[file.path.name, *self._digests(file)] for file in self._files.values()]
        )

    @property
    def counts(self) -> Mapping[str, int]:
        return {file.path.name: len(file.entries) for file in self._files.values()}

    @property
    def remarks(self) -> list[str]:
        own = [remark for file in self._files.values() for remark in file.remarks]
        return [*own, *missing_remarks(self._missing())]

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:  # noqa: ARG002
        file = self._files.get(repeat)
        if file is None:
            return Absent(f"{self._folder} has no {self._repeat.format(repeat)}")
        entry = file.entries.get(sample.id)
        if entry is None:
            return Absent(f"{file.path} has no answer with the id {sample.id!r}")
        place = AnswerPlace(file.path.name, entry.number)
        try:
            return StoredAnswer(place, self._response(file.path, entry, sample))
        except MissingDataError as error:
            return Absent(f"{sample.id!r}: {error}", place)
        except UsageError as error:
            raise UsageError(f"{file.path}, id {sample.id!r}: {error}") from None

    def close(self) -> None:
        """Nothing is held open."""

    def _response(self, file: Path, entry: Entry[E], sample: Sample) -> Response:
        own = entry.own
        folders = _folders_of(file)
        odd: tuple[str, ...] = ()

        def medium(name: str) -> Media:
            return self._media.find(name, folders)

        if "error" in own:
            return error_of(own["error"])
        if self._is_exact(entry):
            output = Interleaved(
                tuple(exact_part(part, medium) for part in own["parts"])
            )
        else:
            output, odd = self.plain(entry.answer, medium)
        left_out = tuple(
            dict.fromkeys((*self._left_out, *kinds_of(own.get("left_out"))))
        )
        return Response(
            output=output,
            left_out=left_out,
            warnings=(*self.warnings(entry.answer, sample), *odd),
        )

    def _is_exact(self, entry: Entry[E]) -> bool:
        """Whether our own key has the parts of this very answer."""
        own = entry.own
        return "parts" in own and own.get("of") == self.seal(entry.answer)

    def _missing(self) -> Iterator[str]:
        """The paths of all answers under which there is no file."""
        for file in self._files.values():
            folders = _folders_of(file.path)
            for entry in file.entries.values():
                exact = self._is_exact(entry)
                names = exact_files(entry.own) if exact else self.paths(entry.answer)
                for name in names:
                    if not self._media.has(name, folders):
                        yield name

    def _digests(self, file: EntryFile[E]) -> Iterator[str]:
        yield Media.from_path(file.path).sha256
        folders = _folders_of(file.path)
        for entry in file.entries.values():
            names = (*self.paths(entry.answer), *exact_files(entry.own))
            for name in dict.fromkeys(names):
                if digest_of_medium := self._media.sha256(name, folders):
                    yield digest_of_medium


def _folders_of(file: Path) -> tuple[Path, Path]:
    """The folders from which the paths of a file start."""
    return file.parent, Path.cwd()
