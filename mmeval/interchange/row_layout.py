"""The layout of answer files with one row per answer.

A benchmark declares its layout as one :class:`RowLayout`: the files, the key of a row,
and the fields of an answer. :class:`mmeval.interchange.RowAnswers` reads answers as
declared, and :class:`mmeval.interchange.RowFolder` writes them as declared, so both
agree.

A row has a further key ``mmeval``, which the scripts of the benchmarks ignore. It
contains the parts of an answer that the fields cannot reproduce (``parts``), with the
digest ``of`` the fields they belong to. It also contains a failure (``error``), and the
kinds that were not requested (``left_out``).

Further answers to the same questions are in separate files, such as
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
"""One object of a file. Values are ``Any``, because fields may be of any type."""
FindMedium: TypeAlias = Callable[[str], Media | None]
"""Opens the medium at a path; returns None if there is no file."""

_REPEAT = re.compile(r".+_repeat([1-9][0-9]{0,3})")


class AnswerFile(NamedTuple):
    """A file with the answers of one repeat."""

    path: Path
    repeat: int


class PlacedRow(NamedTuple):
    """A value in a file, valid as a row or not. Messages locate it by ``place``."""

    place: str
    value: Any


def id_in(row: Row) -> str | None:
    value = row.get("id")
    return None if value is None else str(value)


def id_of(sample: Sample) -> tuple[str]:
    return (sample.id,)


def no_warnings(row: Row, sample: Sample) -> Sequence[str]:  # noqa: ARG001
    return ()


@dataclass(frozen=True, kw_only=True)
class RowLayout:
    """The layout of a benchmark. By default, a row contains the sample's id.

    Files:

    - ``files(path)``: the files of a folder, or the file at ``path``
    - ``rows(file)``: the values of a file
    - ``file_of(sample)``: name of the file with a sample's first answer. A ``.jsonl``
      file is written as lines, any other as a list
    - ``position(id)``: number of a sample's row in its file. Rows are written in this
      order. The number also selects the right row if several rows have equal questions

    Keys of rows:

    - ``labels``: labels that a sample needs to fit the layout
    - ``key(row)``: the key of a row, or None if the row is skipped
    - ``keys(sample)``: the possible keys of a sample's row, in order of preference
    - ``keyless``: plural noun for skipped rows
    - ``unique``: True if only the last row with a key is used

    Content of a row:

    - ``answer(row, find)``: the answer, read from the fields without the key
      ``mmeval``. Raises UsageError for an invalid row
    - ``row(sample, output, files)``: the row of an answer, or of a failure (None);
      ``files`` maps the digests of its media to files
    - ``sealed(row)``: the fields that identify an unedited answer
    - ``warnings(row, sample)``: reasons to doubt that a row answers a sample
    - ``keeps_place``: True if an answer is read although the file of one of its parts
      is missing; otherwise the complete answer counts as missing
    - ``left_out``: kinds of parts that the benchmark never requests

    Files of media, as format strings for the answer's name and the medium's number:

    - ``media``: files of media, numbered in the order of the answer
    - ``pictures``: files of pictures, if these have their own folder and are numbered
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
        """Returns a digest that ties the exact parts of an answer to its row."""
        return digest(self.sealed(row))


def repeat_file(name: str, repeat: int) -> str:
    """Returns the file name of a repeat.

    >>> repeat_file("answers.json", 1)
    'answers_repeat1.json'
    """
    path = Path(name)
    return f"{path.stem}_repeat{repeat}{path.suffix}" if repeat else name


def repeat_of(file: Path) -> int:
    """Returns the repeat of the answers in a file, from its name."""
    match = _REPEAT.fullmatch(file.stem)
    return int(match[1]) if match else 0


def files_named(name: str, path: Path) -> list[AnswerFile]:
    """Returns the file ``name`` in a folder and its repeats, or ``path`` if a file.

    Raises MissingDataError for a folder without the file, and UsageError for a link
    that leads out of the folder.
    """
    if path.is_file():
        return [AnswerFile(path, 0)]
    if not (path / name).is_file():
        raise MissingDataError(
            f"{path}: {name} is missing; give the file of the answers with path="
        )
    files = [AnswerFile(path_inside(path, name), 0)]
    for file in path.iterdir():
        repeat = repeat_of(file)
        if repeat and file.name == repeat_file(name, repeat):
            files.append(AnswerFile(path_inside(path, file.name), repeat))
    return files


def rows_of_lines(file: Path) -> Iterator[PlacedRow]:
    """Yields the lines of a file."""
    for line in lines_of(file):
        yield PlacedRow(line.place, line.row)


def rows_of_list(file: Path) -> Iterator[PlacedRow]:
    """Yields the items of a file that contains one list."""
    for number, value in enumerate(list_of(file), 1):
        yield PlacedRow(f"{file}: row {number}", value)
