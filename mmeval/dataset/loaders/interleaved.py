"""Loads rows of a documented schema, ``loader: interleaved``.

A data set is a folder (local, or the snapshot of a hub data set) with one of these
forms for each split. The files are in this folder, in its subfolder ``dataset_name`` if
the task has this key, or in ``data/`` below that:

- ``<split>.jsonl`` or ``<split>-*.jsonl``: one JSON object per line;
- ``<split>.json`` or ``<split>-*.json``: one list of objects;
- ``<split>.parquet`` or ``<split>-*.parquet``: one row per sample.

Options in ``dataset_kwargs``:

- ``data_file``: the name of the file, or a list of names.
- ``media_folder``: the folder that paths are relative to. The default is the folder of
  the row file.
- ``media_archive``: the zip with the media. Paths are relative to its root, or to its
  ``media_folder``.
- ``spellings``: the placeholder spellings of texts.

A row:

| key          | value                                                                                         |
|--------------|-----------------------------------------------------------------------------------------------|
| `input`      | CONTENT (one user message), or a list of messages ``{"role": ..., "content": CONTENT}``       |
| `messages`   | a list of messages in place of ``input``; a last message of the assistant is the reference    |
| `references` | a list of CONTENT, each an accepted answer; or `reference`: one CONTENT; or neither           |
| `candidates` | a list of CONTENT for metrics only, such as wrong pictures next to the right one              |
| `id`         | a text or a whole number; by default the row's number in the split, from 1                    |
| `media`      | a mapping from labels to paths: media that any tag of this row may name                       |
| all others   | labels: they become the sample's metadata and never go to the model                           |

Roles are ``system``, ``user`` and ``assistant``. Ids are unique within a split.
CONTENT is a text with tags, ``{"text": ..., "media": {...}}`` or a list of parts
(``mmeval.media.written``):

    {"id": "7", "input": "Describe <<image1>> aloud.", "references": [{"text": "A hare: <<audio1>>",
     "media": {"audio1": "sound/hare.wav"}}], "media": {"image1": "img/hare.png"}, "difficulty": "hard"}

In parquet, media may be columns: ``image1``, ``image_2``, ``audio`` (the first) and so
on, binary, ``struct{bytes, path}`` or ``struct{array, sampling_rate}``, or lists of
these in ``images``, ``audios``, ``videos``, ``documents``. They become the row's ``media``. Columns with other
names, such as ``image_ref``, can be listed in ``dataset_kwargs`` as ``media: {image_ref: images}``. In JSON, they
contain paths. A medium of the row that no tag names is an error, because its position is unknown.

Paths must stay inside the data folder. Rows are read one at a time. Errors name the
file and the row.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from mmeval.dataset.archive import unpacked
from mmeval.dataset.contract import BadRow, DataSource
from mmeval.dataset.loaders.media_columns import media_names, with_media
from mmeval.dataset.loaders.messages import (
    Conversation,
    read_message,
    read_messages,
)
from mmeval.dataset.loaders.row import DataRow, row_id
from mmeval.dataset.loaders.row_files import (
    RowScan,
    read_json,
    read_jsonl,
    row_files,
    scan_files,
)
from mmeval.errors import UnknownNameError, UsageError, message_of
from mmeval.media.embedded import medium_inside
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Interleaved
from mmeval.media.placeholders import DEFAULT_SPELLINGS, SPELLINGS
from mmeval.media.written import ContentReader
from mmeval.records.sample import Message, Sample
from mmeval.system.wording import listed

OPTIONS = ("data_file", "media", "media_archive", "media_folder", "spellings")
_CONTENT_KEYS = frozenset(
    ("id", "input", "references", "reference", "candidates", "media")
)
_NEAR = 0.8
"""Minimum similarity at which a word is treated as a misspelling of another word."""
_MOST_FOLDERS = 1000


def load(source: DataSource) -> InterleavedDataset:
    """Loads rows of the documented schema from parquet, JSON or JSONL files.

    Raises MissingDataError if there are no row files, and UnknownNameError for an
    unknown option.
    """
    source.check_options(
        OPTIONS,
        'To use "columns", also write "loader: datasets".'
        if "columns" in source.options
        else "",
    )
    option = source.options.get("spellings", DEFAULT_SPELLINGS)
    spellings = (option,) if isinstance(option, str) else tuple(map(str, option))
    for name in spellings:
        if name not in SPELLINGS:
            raise UnknownNameError("placeholder spelling", name, SPELLINGS)
    root, folder = source.folder.absolute(), source.options.get("media_folder")
    if archive := source.options.get("media_archive"):
        root, folder = unpacked(path_inside(root, str(archive))), folder or ""
    return InterleavedDataset(
        files=row_files(source),
        root=root,
        media_folder=None if folder is None else path_inside(root, str(folder)),
        spellings=spellings,
        media=media_names(source.options.get("media", {})),
    )


class InterleavedDataset:
    """A data set whose samples are created on demand from the rows of files.

    - ``media``: columns to move to the row's ``media`` (see ``with_media``) before
      ``read``.
    - ``read(row, position, resolve)``: makes a sample from a row. ``position`` is its
      number among all rows, from 1.
    - ``labels(row)``: returns the labels by which tasks select rows. Unknown labels are
      left out.
    """

    def __init__(
        self,
        *,
        files: Sequence[Path],
        root: Path,
        media_folder: Path | None = None,
        spellings: tuple[str, ...] = DEFAULT_SPELLINGS,
        media: Mapping[str, str] | None = None,
        read: ReadRow | None = None,
        labels: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None,
    ) -> None:
        self.files, self.root, self.media_folder = tuple(files), root, media_folder
        self._media = media or {}
        self._read = read or partial(read_sample, spellings=spellings)
        self._row_labels = labels

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the row files."""
        return self._scan.fingerprint

    def __len__(self) -> int:
        return sum(self._scan.rows)

    def __iter__(self) -> Iterator[Sample | BadRow]:
        for number, (row, resolve) in enumerate(self._rows(), 1):
            position = str(number)
            sample = self._sample_of(row.values, position, resolve)
            if isinstance(sample, Sample):
                yield sample
                continue
            row_name = sample.id
            if not row_name and isinstance(row.values, dict):
                with contextlib.suppress(UsageError):  # the id itself may be wrong
                    row_name = row_id(row.values, position)
            where = f"{row.file}: row {row.number}"
            labels = {**_labels(row.values, self._media), **sample.labels}
            yield replace(sample, where=where, id=row_name, labels=labels)

    def _sample_of(
        self,
        values: object,
        position: str,
        resolve: MediaFolder,
    ) -> Sample | BadRow:
        """Makes a sample from the values of a row. Returns a BadRow if that fails.

        If the row cannot be parsed, ``values`` is the error.
        """
        if isinstance(values, UsageError):
            return BadRow("", message_of(values))
        if not isinstance(values, dict):
            return BadRow("", "the row is not a JSON object")
        try:
            return self._read(with_media(values, self._media), position, resolve)
        # ``read`` may be a plugin's: it may raise anything, or call sys.exit
        except (Exception, SystemExit) as error:
            return BadRow("", message_of(error))

    def label_counts(self) -> Iterator[tuple[Mapping[str, str], int]]:
        """Yields groups of rows with equal labels, and their sizes.

        If there are parquet files, the labels are not counted: reading these files
        would be slow, because they contain the media.
        """
        label_row = self._row_labels
        is_table = any(file.suffix == ".parquet" for file in self.files)
        if label_row is None or is_table:
            yield {}, len(self)
            return
        counts = Counter[tuple[tuple[str, str], ...]]()
        for row, _ in self._rows():
            row_labels = label_row(row.values) if isinstance(row.values, dict) else {}
            counts[tuple(row_labels.items())] += 1
        for labels, number in counts.items():
            yield dict(labels), number

    def _rows(self) -> Iterator[tuple[DataRow, MediaFolder]]:
        """Yields each row with the function that finds the media at its paths."""
        for file in self.files:
            resolve = MediaFolder(self.root, self.media_folder or file.parent)
            if file.suffix == ".parquet":
                from mmeval.dataset.loaders.parquet_rows import read_parquet

                rows = read_parquet(file, self._media)
            elif file.suffix == ".json":
                rows = read_json(file)
            else:
                rows = read_jsonl(file)
            for row in rows:
                yield row, resolve

    @cached_property
    def _scan(self) -> RowScan:
        return scan_files(self.files)


class MediaFolder:
    """Finds media by their paths, relative to ``start`` and inside ``root``."""

    __slots__ = ("_folders", "prefix", "root")

    def __init__(self, root: Path, start: Path) -> None:
        self.root, self.prefix = root, start.absolute().relative_to(root)
        self._folders: dict[str, Path] = {}

    def __call__(self, path: str, where: str) -> Media:
        """Returns the medium at a path.

        Raises UsageError for a path that is missing, invalid or outside the data.
        """
        plain = self._plain_file(path)
        if plain is not None:
            return plain
        try:
            file = path_inside(self.root, str(self.prefix / path))
            exists = file.is_file()
        except (UsageError, OSError):  # outside, too long, or with a null character
            raise UsageError(
                f"{where} {path[:200]!r} is not inside the data folder"
            ) from None
        if not exists:
            raise UsageError(f'{where} "{path}" is missing')
        return Media(path=file)

    def _plain_file(self, path: str) -> Media | None:
        """Returns the file at a path, or None if it is a link.

        A file that is not a link is inside the root if its folder is. Therefore links
        are resolved only for folders, once per folder, not for every file.
        """
        folder, name = os.path.split(path)
        try:
            inside = self._folders.get(folder)
            if inside is None:
                # with one folder per row, caching them would only use memory
                if len(self._folders) == _MOST_FOLDERS:
                    self._folders.clear()
                inside = self._folders[folder] = path_inside(
                    self.root, str(self.prefix / folder)
                )
            file = inside / name
            status = file.lstat()
        except (UsageError, OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return Media(path=file, size=status.st_size)


ReadRow: TypeAlias = Callable[[dict[str, Any], str, MediaFolder], Sample | BadRow]
"""Makes a sample from a row.

For an invalid row, it raises an exception or returns a BadRow. A BadRow may have an id
and labels. Its location may be empty.
"""


def read_sample(
    row: dict[str, Any], position: str, resolve: MediaFolder, spellings: Sequence[str]
) -> Sample:
    """Makes a sample from a row. ``position`` is the id if the row has none.

    Raises UsageError.
    """
    is_chat = row.get("input") is None and isinstance(row.get("messages"), list)
    if row.get("input") is None and not is_chat:
        hint = f"; the row has {listed(list(map(str, row)), 5)}" if row else ""
        for key in map(str, row):
            if key != "input" and _nearest(key, ("input",)):
                hint = f'; did you mean to use "{key}"?'
                break
        raise UsageError(f'"input" is missing{hint}')
    reader = ContentReader(resolve, row.get("media"), spellings)
    if is_chat:
        conversation = read_messages(row["messages"], reader, "messages")
        row = {key: value for key, value in row.items() if key != "messages"}
    else:
        conversation = Conversation(_messages(row["input"], reader))
    references = _references(row, reader)
    if not references and conversation.answer is not None:
        references = (conversation.answer,)

    candidate_rows = row.get("candidates")
    if candidate_rows is not None and not isinstance(candidate_rows, list):
        raise UsageError(
            '"candidates" is not a list of contents; rename it if it is a label'
        )
    candidates = _contents(candidate_rows or [], reader, "candidates")
    sample = Sample(
        id=row_id(row, position),
        input=conversation.asked,
        references=references,
        metadata=_labels(row),
        candidates=candidates,
    )
    reader.check_all_named()
    for content in sample.contents:
        if kind := medium_inside(content.words):
            raise UsageError(
                f"a text contains a medium ({kind}) as base64; move it to "
                f'"media", as {{"{kind}1": ...}}, and write <<{kind}1>> in the text'
            )
    return sample


def doubtful_labels(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yields labels that are probably misspelled keys, with advice.

    If the sample has a value for the key, the label is not reported.
    """
    absent_keys = {"references", "reference"} if not sample.references else set()
    if not any(message.content.media() for message in sample.input):
        absent_keys.add("media")
    for label, value in sample.metadata.items():
        key = _nearest(label, ("input", *sorted(absent_keys)))
        if key and (key != "media" or isinstance(value, dict)):
            yield label, f'did you mean "{key}"?'
        elif isinstance(value, dict) and _nearest(label, ("metadata",)):
            yield label, "write each label as its own key of the row"


def _nearest(word: str, keys: Sequence[str]) -> str:
    return next(iter(get_close_matches(word.lower(), keys, n=1, cutoff=_NEAR)), "")


def _labels(row: Any, media: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(row, dict):
        return {}
    return {
        key: value
        for key, value in row.items()
        if key not in _CONTENT_KEYS and key not in media
    }


def _messages(value: Any, reader: ContentReader) -> tuple[Message, ...]:
    is_list = isinstance(value, list) and value and isinstance(value[0], dict)
    if not is_list or "role" not in value[0]:
        return (Message("user", reader.read(value, "input")),)
    messages: list[Message] = []
    for place, item in enumerate(value):
        messages.append(read_message(item, reader, f"input[{place}]"))
    return tuple(messages)


def _references(row: dict[str, Any], reader: ContentReader) -> tuple[Interleaved, ...]:
    reference, references = row.get("reference"), row.get("references")
    if references is None:
        return () if reference is None else (reader.read(reference, "reference"),)
    if reference is not None:
        raise UsageError('the row has "reference" and "references"; remove one of them')
    if not isinstance(references, list):
        raise UsageError(
            '"references" is not a list; use "reference" for a single answer'
        )
    return _contents(references, reader, "references")


def _contents(
    items: Sequence[Any], reader: ContentReader, key: str
) -> tuple[Interleaved, ...]:
    """Reads the list of contents that a key of the row contains."""
    contents: list[Interleaved] = []
    for place, item in enumerate(items):
        contents.append(reader.read(item, f"{key}[{place}]"))
    return tuple(contents)
