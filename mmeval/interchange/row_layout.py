"""Layout of answer files that have a row for each answer.

A benchmark declares its layout as one :class:`RowLayout`. The record says which files
there are, by what a row is found, and how an answer is spread over the fields of a row.
:class:`mmeval.interchange.RowAnswers` reads answers by it and
:class:`mmeval.interchange.RowFolder` writes them, so that both sides agree.

What a row has no place for is under our own key ``mmeval``, which the scripts of the
benchmarks do not read: the parts of an answer that its fields alone do not give back
(``parts``, sealed to the fields by ``of``), a failure (``error``), and the kinds that
the model was not asked for (``left_out``).

Further answers to the same questions are in files of their own, such as
``answers_repeat1.json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mmeval.errors import MissingDataError
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Interleaved, PartKind
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.system.foreign_lines import lines_of, list_of

Row: TypeAlias = Mapping[str, Any]
"""An object of a file. ``Any``: each field has its own type, and may be wrong."""
FindMedium: TypeAlias = Callable[[str], Media | None]
"""Opens the medium at a path; None without a file."""

_REPEAT = re.compile(r".+_repeat([1-9][0-9]{0,3})")


class AnswerFile(NamedTuple):
    """A file with the answers of one repeat."""

    path: Path
    repeat: int


class PlacedRow(NamedTuple):
    """A value of a file, which may be something else than a row; ``place`` is for
    messages."""

    place: str
    value: Any


def id_in(row: Row) -> str | None:
    found = row.get("id")
    return None if found is None else str(found)


def id_of(sample: Sample) -> tuple[str]:
    return (sample.id,)


def no_warnings(row: Row, sample: Sample) -> Sequence[str]:  # noqa: ARG001
    return ()


@dataclass(frozen=True, kw_only=True)
class RowLayout:
    """The fields that have a default describe rows that are found by the sample's id.

    Which files there are:

    - ``files(path)``: the files of a folder, or the one that ``path`` names
    - ``rows(file)``: the values of a file
    - ``file_of(sample)``: the name of the file of a sample, for its first answer. A
      file ``.jsonl`` is written in lines, another one as a list
    - ``position(id)``: number of a sample's row in its file, which is written in this
      order. Of equal questions it tells which row is meant

    How a row is found:

    - ``labels``: labels of a sample that has a place in the layout
    - ``key(row)``: the key of a row; None for a row that is passed over
    - ``keys(sample)``: the keys of a sample's row, the best one first
    - ``keyless``: what the rows that are passed over are called, in the plural
    - ``unique``: True if the last row of a key counts alone

    What is in a row:

    - ``answer(row, find)``: the answer that the fields alone give. Raises UsageError
      for an invalid row
    - ``row(sample, output, files)``: the row of an answer, or of a failure (None);
      ``files`` are those of its media by digest
    - ``sealed(row)``: the fields by which an answer is recognized as unedited
    - ``warnings(row, sample)``: what is odd about a row as the answer to a sample
    - ``keeps_place``: True if a part without its file keeps its place; otherwise the
      answer is missing
    - ``left_out``: kinds that the model was not asked for in any answer

    Where media are written, by the name of the answer and the number of the medium:

    - ``media``: the files of media, numbered in the order of the answer
    - ``pictures``: those of pictures that have a folder of their own and are numbered
      first
    """

    files: Callable[[Path], Iterable[AnswerFile]]
    rows: Callable[[Path], Iterable[PlacedRow]]
    file_of: Callable[[Sample], str]
    position: Callable[[str], int] | None = None

    labels: frozenset[str]
    key: Callable[[Row], Hashable | None] = id_in
    keys: Callable[[Sample], Iterable[Hashable]] = id_of
    keyless: str = "answers without an id"
    unique: bool = True

    answer: Callable[[Row, FindMedium], Interleaved]
    row: Callable[[Sample, Interleaved | None, Mapping[str, str]], dict[str, Any]]
    sealed: Callable[[Row], object]
    warnings: Callable[[Row, Sample], Sequence[str]] = no_warnings
    keeps_place: bool = True
    left_out: tuple[PartKind, ...] = ()

    media: str
    pictures: str = ""

    def seal(self, row: Row) -> str:
        """A digest of an answer, so that parts of another one are not used for it."""
        return digest(self.sealed(row))


def repeat_file(name: str, repeat: int) -> str:
    """The name of the file of a repeat.

    >>> repeat_file("answers.json", 1)
    'answers_repeat1.json'
    """
    path = Path(name)
    return f"{path.stem}_repeat{repeat}{path.suffix}" if repeat else name


def repeat_of(file: Path) -> int:
    """The repeat whose answers a file has, by its name."""
    found = _REPEAT.fullmatch(file.stem)
    return int(found[1]) if found else 0


def files_named(name: str, path: Path) -> list[AnswerFile]:
    """The file ``name`` of a folder and those of its repeats; or the file ``path``.
    Raises MissingDataError for a folder without the file, UsageError for a link that
    leads out of it."""
    if path.is_file():
        return [AnswerFile(path, 0)]
    if not (path / name).is_file():
        raise MissingDataError(
            f"{path}: no {name}; name the file of the answers with path="
        )
    files = [AnswerFile(path_inside(path, name), 0)]
    for file in path.iterdir():
        repeat = repeat_of(file)
        if repeat and file.name == repeat_file(name, repeat):
            files.append(AnswerFile(path_inside(path, file.name), repeat))
    return files


def rows_of_lines(file: Path) -> Iterator[PlacedRow]:
    """The lines of a file."""
    for line in lines_of(file):
        yield PlacedRow(line.place, line.row)


def rows_of_list(file: Path) -> Iterator[PlacedRow]:
    """The items of a file that holds one list."""
    for number, value in enumerate(list_of(file), 1):
        yield PlacedRow(f"{file}: row {number}", value)
