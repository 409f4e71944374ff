"""Loads the TSV files of VLMEvalKit, ``loader: tsv``.

A data set is a folder with ``<split>.tsv``, or with the files named by ``data_file`` in
``dataset_kwargs``. Its columns:

| column       | content                                                                                  |
|--------------|------------------------------------------------------------------------------------------|
| `index`      | the id of the row; by default the number of the row                                      |
| `image`      | a picture as base64 or data URI, a list of these, or the index of the row that has it    |
| `image_path` | the path of a picture, or a list of paths; used if the row has no ``image``              |
| `question`   | the question, with ``hint`` before it                                                    |
| `A` to `Z`   | the options; also the label ``options``, for the metric ``choice``                       |
| `answer`     | the reference                                                                            |

All other columns are labels. ``columns`` of the task file may replace this layout by
templates, as for ``loader: datasets``. ``image`` then contains all pictures of the row.
``media_columns`` names further columns whose cells have the same form as ``image``.
Paths are relative to the folder of the file, or to ``media_folder``, and must stay
inside the data.

A file is read row by row. Only the positions of rows are kept in memory, to find the
picture of a row by its index.
"""  # noqa: E501

from __future__ import annotations

import csv
import hashlib
import string
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import TemplateError

from mmeval.dataset.contract import BadRow, DataSource
from mmeval.dataset.loaders.columns import ColumnTemplates, texts_in
from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.media.decode.template import literal
from mmeval.media.embedded import embedded_medium
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Interleaved, media_part
from mmeval.program.template import Value
from mmeval.records.sample import Sample
from mmeval.system.plain_file import open_plain
from mmeval.system.wording import listed

OPTIONS = ("columns", "data_file", "media_columns", "media_folder")
SUFFIX = ".tsv"
_MAX_LINE_BYTES = 2**28
"""Maximum size of a row in bytes, including its pictures."""
_LONGEST_INDEX = 64
"""Maximum length of an index. VLMEvalKit treats longer cells as pictures."""
_IMAGE, _IMAGE_PATH, _INDEX = "image", "image_path", "index"


def load(source: DataSource) -> TsvDataset:
    """Loads rows of TSV files in the layout of VLMEvalKit.

    Raises MissingDataError if there are no files, UnknownNameError for an unknown
    option, and UsageError for invalid columns.
    """
    source.check_options(OPTIONS)
    return TsvDataset(source)


class TsvDataset:
    """A data set whose samples are created on demand from the rows of TSV files."""

    def __init__(self, source: DataSource) -> None:
        self._root = source.folder.absolute()
        self._files = tuple(TsvFile(file) for file in _files(source))
        folder = source.options.get("media_folder")
        self._media = MediaFolder(
            self._root,
            self._files[0].path.parent
            if folder is None
            else path_inside(self._root, str(folder)),
        )
        names = dict.fromkeys(name for file in self._files for name in file.header)
        self._image_columns = (_IMAGE, *texts_in(source.options.get("media_columns")))
        for column in self._image_columns[1:]:
            if column not in names:
                raise UnknownNameError("column of media_columns", column, names)
        has_images = _IMAGE in names or _IMAGE_PATH in names
        column_names = (*names, _IMAGE, "options") if has_images else names
        self._length: int | None = None
        task_columns = source.options.get("columns", {})
        self._templates = ColumnTemplates(
            {**_usual_columns(names), **task_columns},
            dict.fromkeys(column_names),
            str(source.folder),
        )

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the files."""
        sha256 = hashlib.sha256()
        for file in self._files:
            with open_plain(file.path) as stream:
                sha256.update(hashlib.file_digest(stream, "sha256").digest())
        return sha256.hexdigest()

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self._rows())
        return self._length

    def __iter__(self) -> Iterator[Sample | BadRow]:
        for position, (file, row) in enumerate(self._rows(), 1):
            cells: Mapping[str, Any] | UsageError = row
            if not isinstance(row, UsageError):
                try:
                    cells = self._cells(file, row)
                except UsageError as error:
                    cells = error
            yield self._templates.sample(
                cells, position, lambda _column, value: value, self._media
            )

    def _rows(self) -> Iterator[tuple[TsvFile, TsvRow]]:
        for file in self._files:
            for row in file.rows():
                yield file, row

    def _cells(self, file: TsvFile, row: Mapping[str, str]) -> dict[str, Value]:
        cells: dict[str, Value] = {**row}
        for column in self._image_columns:
            cell = row.get(column)
            if not cell:
                continue
            # a cell may be the index of another row that contains the pictures
            referenced = file.cell_of_index(cell, column)
            pictures: list[Media] = []
            for text in _listed(cell if referenced is None else referenced, column):
                medium = embedded_medium(text)
                try:
                    pictures.append(medium or self._media(text, column))
                except UsageError:
                    raise UsageError(
                        f"{column} is {text[:_LONGEST_INDEX]!r}; it must be base64 of "
                        "a picture, the index of a row, or a path inside the data "
                        "folder"
                    ) from None
            cells[column] = _content(pictures)
        if row.get(_IMAGE_PATH) and not row.get(_IMAGE):
            paths = _listed(row[_IMAGE_PATH], _IMAGE_PATH)
            cells[_IMAGE] = _content([self._media(path, _IMAGE_PATH) for path in paths])
        if "options" not in row:
            letters = string.ascii_uppercase
            options = {letter: row[letter] for letter in letters if row.get(letter)}
            cells["options"] = options or None
        return cells


TsvRow: TypeAlias = Mapping[str, str] | UsageError
"""The cells of a row by column, or the error for an invalid row."""


class TsvFile:
    """A TSV file. It has a ``header`` and rows, and finds a row's picture by index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: tuple[str, ...] = tuple(next(self._records(0))[1])

    def rows(self) -> Iterator[TsvRow]:
        """Returns the cells of each row by column.

        Raises UsageError if the rest of the file cannot be read.
        """
        return (row for _, row in self._placed())

    def cell_of_index(self, index: str, column: str) -> str | None:
        """Returns the picture that the row with this index has in a column.

        If several rows have the index, the last one counts. Returns None if no row has
        this index. Raises UsageError if the row has no picture.
        """
        place = self._places.get(index) if len(index) <= _LONGEST_INDEX else None
        if place is None:
            return None
        row = self._row(next(self._records(place))[1])
        if isinstance(row, UsageError):
            return None
        cell = row.get(column, "")
        if len(cell) <= _LONGEST_INDEX:
            raise UsageError(f"{column} is the index of a row without a picture")
        return cell

    @cached_property
    def _places(self) -> dict[str, int]:
        if _INDEX not in self.header:
            return {}
        places: dict[str, int] = {}
        for place, row in self._placed():
            if not isinstance(row, UsageError):
                places[row[_INDEX]] = place
        return places

    def _placed(self) -> Iterator[tuple[int, TsvRow]]:
        records = self._records(0)
        next(records)
        for place, cells in records:
            if cells:
                yield place, self._row(cells)

    def _row(self, cells: Sequence[str]) -> TsvRow:
        if len(cells) > len(self.header):
            return UsageError(
                f"the row has {len(cells)} cells, but the file has "
                f"{len(self.header)} columns"
            )
        missing = [""] * (len(self.header) - len(cells))
        return dict(zip(self.header, [*cells, *missing], strict=True))

    def _records(self, start: int) -> Iterator[tuple[int, list[str]]]:
        """Yields the records after a byte position, each with its own position."""
        # the default limit is too small for pictures, and can only be set globally
        csv.field_size_limit(max(csv.field_size_limit(), _MAX_LINE_BYTES))
        place = start

        def lines(stream: Any) -> Iterator[str]:
            nonlocal place
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                if len(line) > _MAX_LINE_BYTES:
                    raise UsageError(
                        f"{self.path}: a row is longer than {_MAX_LINE_BYTES >> 20} MiB"
                    )
                text = line.decode("utf-8-sig" if place == 0 else "utf-8")
                place += len(line)
                yield text

        with open_plain(self.path) as stream:
            stream.seek(start)
            reader = csv.reader(lines(stream), delimiter="\t")
            # a quoted cell may contain line breaks: a record begins at its first line
            record_place = start
            try:
                for record in reader:
                    yield record_place, record
                    record_place = place
            except (csv.Error, UnicodeDecodeError) as error:
                raise UsageError(
                    f"{self.path}: cannot be read as TSV in UTF-8 at byte "
                    f"{record_place} ({error}); fetch it again"
                ) from None
        if start == 0 and place == 0:
            raise UsageError(f"{self.path}: the file is empty")


def _listed(cell: str, column: str) -> list[str]:
    """Returns the strings of a cell, which may be a list in Python's notation."""
    try:
        return list(texts_in(literal(cell)))
    except TemplateError as error:
        raise UsageError(f"{column}: {error}") from None


def _content(pictures: Sequence[Media]) -> Interleaved:
    return Interleaved(tuple(media_part(picture) for picture in pictures))


def _usual_columns(names: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the default templates for the columns that the file has."""
    pieces: list[str] = []
    if _IMAGE in names or _IMAGE_PATH in names:
        pieces.append("{{ image }}")
    if "hint" in names:
        pieces.append("{% if hint %}{{ hint }}\n{% endif %}")
    if "question" in names:
        pieces.append("{{ question }}")
    for letter in string.ascii_uppercase:
        if letter in names:
            option = f"\n{letter}. {{{{ {letter} }}}}"
            pieces.append(f"{{% if {letter} %}}{option}{{% endif %}}")
    usual = {"input": "".join(pieces)} if "question" in names else {}
    if _INDEX in names:
        usual["id"] = "{{ index }}"
    if "answer" in names:
        usual["reference"] = "{{ answer }}"
    return usual


def _files(source: DataSource) -> list[Path]:
    data_files = list(texts_in(source.options.get("data_file")))
    inner = source.name or "."
    names = data_files or [f"{inner}/{source.split}{SUFFIX}"]
    files = [path_inside(source.folder.absolute(), name) for name in names]
    for file in files:
        if not file.is_file():
            tsv_files = sorted(path.name for path in source.folder.glob(f"*{SUFFIX}"))
            advice = f"; there is {listed(tsv_files, 5)}" if tsv_files else ""
            raise MissingDataError(
                f"{file}: this file is missing; correct test_split or "
                f"dataset_kwargs: {{data_file: NAME}}{advice}"
            )
    return files
