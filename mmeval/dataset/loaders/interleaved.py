"""Loads rows of a documented schema, ``loader: interleaved``.

A data set is a folder (local, or the snapshot of a hub data set) with one of these for
each split, at its top, in the sub-folder ``dataset_name`` when the task gives one, or
in ``data/`` below that:

- ``<split>.jsonl`` or ``<split>-*.jsonl``: one JSON object a line;
- ``<split>.json`` or ``<split>-*.json``: one list of objects;
- ``<split>.parquet`` or ``<split>-*.parquet``: one row each.

``dataset_kwargs`` may name the files instead (``data_file: NAME`` or a list), the
folder that paths start from (``media_folder``, default: that of the row file), the zip
that the media are in (``media_archive``, then paths start in it, or in its
``media_folder``) and the placeholder ``spellings`` of texts.

A row:

| key          | value                                                                                         |
|--------------|-----------------------------------------------------------------------------------------------|
| `input`      | CONTENT (one user message), or a list of messages ``{"role": ..., "content": CONTENT}``       |
| `messages`   | such a list in place of ``input``; the assistant's message at its end is the reference        |
| `references` | a list of CONTENT, each an accepted answer; or `reference`: one CONTENT; or neither           |
| `candidates` | a list of CONTENT that metrics alone see, such as wrong pictures beside the right one           |
| `id`         | a text or a whole number; a row without one is called by its number in the split, from 1      |
| `media`      | a mapping from labels to paths: media that any tag of this row may name                       |
| all others   | labels: they become the sample's metadata and never reach the model                           |

Roles are ``system``, ``user`` and ``assistant``. Ids must differ within a split.
CONTENT is a text with tags, ``{"text": ..., "media": {...}}`` or a list of parts
(``mmeval.media.written``):

    {"id": "7", "input": "Describe <<image1>> aloud.", "references": [{"text": "A hare: <<audio1>>",
     "media": {"audio1": "sound/hare.wav"}}], "media": {"image1": "img/hare.png"}, "difficulty": "hard"}

In parquet, media may be columns: ``image1``, ``image_2``, ``audio`` (the first) and so
on, binary, ``struct{bytes, path}`` or ``struct{array, sampling_rate}``, or lists of
these in ``images``, ``audios``, ``videos``, ``documents``. They are the row's ``media``. Columns of other names, in JSON
with paths in them, are such columns where ``dataset_kwargs`` says so (``media:
{image_ref: images}``). A medium of the row that no tag names is an error, because its
place is not known.

Paths stay inside the data folder. Rows are read one at a time; errors name the file and
the row.
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
_OWN_KEYS = frozenset(("id", "input", "references", "reference", "candidates", "media"))
_NEAR = 0.8
"""How alike two words are of which one is treated as a misspelling of the other."""
_MOST_FOLDERS = 1000


def load(source: DataSource) -> InterleavedDataset:
    """Rows of the documented schema, from parquet or JSONL with a folder of media.

    Raises MissingDataError without row files, UnknownNameError for an unknown
    option."""
    source.check_options(
        OPTIONS,
        'Write "loader: datasets" beside "columns".'
        if "columns" in source.options
        else "",
    )
    written = source.options.get("spellings", DEFAULT_SPELLINGS)
    spellings = (written,) if isinstance(written, str) else tuple(map(str, written))
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
    """Samples of row files, each made when it is asked for.

    ``read(row, position, resolve)`` makes a sample of a row, whose columns that
    ``media`` names are its ``media`` already (see ``with_media``). ``position`` is the
    place of the row among all, from 1. ``labels(row)`` gives labels by which tasks
    choose among rows; one that is unknown is left out.
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
            made = self._made(row.values, position, resolve)
            if isinstance(made, Sample):
                yield made
                continue
            row_name = made.id
            if not row_name and isinstance(row.values, dict):
                with contextlib.suppress(UsageError):  # the id may be the fault
                    row_name = row_id(row.values, position)
            where = f"{row.file}: row {row.number}"
            labels = {**_labels(row.values, self._media), **made.labels}
            yield replace(made, where=where, id=row_name, labels=labels)

    def _made(
        self,
        values: object,
        position: str,
        resolve: MediaFolder,
    ) -> Sample | BadRow:
        """The sample of a row's values, or what is wrong with them; of a row that
        cannot be parsed, the values are its error."""
        if isinstance(values, UsageError):
            return BadRow("", message_of(values))
        if not isinstance(values, dict):
            return BadRow("", "is no object with keys")
        try:
            return self._read(with_media(values, self._media), position, resolve)
        # a reader of rows may raise anything and call sys.exit; the others go on
        except (Exception, SystemExit) as error:
            return BadRow("", message_of(error))

    def label_counts(self) -> Iterator[tuple[Mapping[str, str], int]]:
        """The rows by their labels. Nothing is known of tables, which hold their media:
        they would be read for a count."""
        label_row = self._row_labels
        is_table = any(file.suffix == ".parquet" for file in self.files)
        if label_row is None or is_table:
            yield {}, len(self)
            return
        counts = Counter[tuple[tuple[str, str], ...]]()
        for row, _ in self._rows():
            known = label_row(row.values) if isinstance(row.values, dict) else {}
            counts[tuple(known.items())] += 1
        for labels, number in counts.items():
            yield dict(labels), number

    def _rows(self) -> Iterator[tuple[DataRow, MediaFolder]]:
        """Each row with the folder that its paths start from."""
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
    """Finds media by the paths of rows: relative to ``start``, never outside
    ``root``."""

    __slots__ = ("_folders", "prefix", "root")

    def __init__(self, root: Path, start: Path) -> None:
        self.root, self.prefix = root, start.absolute().relative_to(root)
        self._folders: dict[str, Path] = {}

    def __call__(self, path: str, where: str) -> Media:
        """Raises UsageError for a path that is missing, leads out, or is not a path."""
        plain = self._plain_file(path)
        if plain is not None:
            return plain
        try:
            found = path_inside(self.root, str(self.prefix / path))
            exists = found.is_file()
        except (UsageError, OSError):  # outside, too long, or with a null character
            raise UsageError(
                f"{where} {path[:200]!r} is no path inside the data folder"
            ) from None
        if not exists:
            raise UsageError(f'{where} "{path}" is missing')
        return Media(path=found)

    def _plain_file(self, path: str) -> Media | None:
        """The file at a path, if it is not a link; else None. A plain file in a folder
        inside the root is inside too: each folder is resolved once, not with every
        file."""
        folder, name = os.path.split(path)
        try:
            inside = self._folders.get(folder)
            if inside is None:
                # a folder for each row gains nothing
                if len(self._folders) == _MOST_FOLDERS:
                    self._folders.clear()
                inside = self._folders[folder] = path_inside(
                    self.root, str(self.prefix / folder)
                )
            found = inside / name
            status = found.lstat()
        except (UsageError, OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return Media(path=found, size=status.st_size)


ReadRow: TypeAlias = Callable[[dict[str, Any], str, MediaFolder], Sample | BadRow]
"""Makes a sample of a row. What it raises is wrong with the row, as is the reason of a
BadRow, which need not name the place, and may add an id and labels."""


def read_sample(
    row: dict[str, Any], position: str, resolve: MediaFolder, spellings: Sequence[str]
) -> Sample:
    """One row as a sample, with ``position`` for a missing id. Raises UsageError."""
    is_chat = row.get("input") is None and isinstance(row.get("messages"), list)
    if row.get("input") is None and not is_chat:
        hint = f"; the row has {listed(list(map(str, row)), 5)}" if row else ""
        for key in map(str, row):
            if key != "input" and _nearest(key, ("input",)):
                hint = f'; is it what the row calls "{key}"?'
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

    written = row.get("candidates")
    if written is not None and not isinstance(written, list):
        raise UsageError(
            '"candidates" is no list of contents that metrics alone see; give a label '
            "another name"
        )
    candidates = _contents(written or [], reader, "candidates")
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
                f"a text holds a medium ({kind}) as base64; put it under "
                f'"media", as {{"{kind}1": ...}}, and the tag <<{kind}1>> in its place'
            )
    return sample


def doubtful_labels(sample: Sample) -> Iterator[tuple[str, str]]:
    """The labels that were most likely meant as a key of a similar name, with advice.
    Where the sample has the value of that key, the name is a label like any other."""
    lacks = {"references", "reference"} if not sample.references else set()
    if not any(message.content.media() for message in sample.input):
        lacks.add("media")
    for label, value in sample.metadata.items():
        key = _nearest(label, ("input", *sorted(lacks)))
        if key and (key != "media" or isinstance(value, dict)):
            yield label, f'did you mean "{key}"?'
        elif isinstance(value, dict) and _nearest(label, ("metadata",)):
            yield label, 'labels stand beside "input", each under its own name'


def _nearest(word: str, keys: Sequence[str]) -> str:
    return next(iter(get_close_matches(word.lower(), keys, n=1, cutoff=_NEAR)), "")


def _labels(row: Any, media: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(row, dict):
        return {}
    return {
        key: value
        for key, value in row.items()
        if key not in _OWN_KEYS and key not in media
    }


def _messages(written: Any, reader: ContentReader) -> tuple[Message, ...]:
    is_list = isinstance(written, list) and written and isinstance(written[0], dict)
    if not is_list or "role" not in written[0]:
        return (Message("user", reader.read(written, "input")),)
    messages: list[Message] = []
    for place, item in enumerate(written):
        messages.append(read_message(item, reader, f"input[{place}]"))
    return tuple(messages)


def _references(row: dict[str, Any], reader: ContentReader) -> tuple[Interleaved, ...]:
    one, several = row.get("reference"), row.get("references")
    if several is None:
        return () if one is None else (reader.read(one, "reference"),)
    if one is not None:
        raise UsageError('has "reference" and "references"; keep one of them')
    if not isinstance(several, list):
        raise UsageError('"references" is no list; write "reference" for a single one')
    return _contents(several, reader, "references")


def _contents(
    written: Sequence[Any], reader: ContentReader, key: str
) -> tuple[Interleaved, ...]:
    """The contents of a list under a key of the row."""
    contents: list[Interleaved] = []
    for place, item in enumerate(written):
        contents.append(reader.read(item, f"{key}[{place}]"))
    return tuple(contents)
