"""Loads data sets in any format of the library ``datasets``, ``loader: datasets``.

Templates make samples from the columns. The data set is a folder or is on the hub. A
data set on the hub is streamed: only the rows that are used are downloaded.

``columns`` of the task file contains a template for ``input`` and optionally for
``reference`` (one) or ``references`` (a list), ``id`` and labels: see
``mmeval.dataset.loaders.columns``. ``dataset_path`` may also be a format, such as
``json``, for the files in ``data_files`` of ``dataset_kwargs``.

Images, sounds, videos and documents are not decoded here. A cell contains the bytes of
a medium or the path of a file in the data set. ``media_columns`` of ``dataset_kwargs``
names columns whose strings are paths of such files, base64 or data URIs. A sound may
also be an array of numbers (``array`` and ``sampling_rate``). Code in a data set is
never run: the library does not run it, and ``trust_remote_code`` is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any, cast

import yaml

from mmeval.dataset.contract import BadRow, DataSource
from mmeval.dataset.hub import explaining
from mmeval.dataset.loaders.columns import ColumnTemplates, texts_in
from mmeval.dataset.loaders.interleaved import MediaFolder
from mmeval.dataset.loaders.parquet_rows import json_value
from mmeval.dataset.loaders.row_files import MAX_ROW_BYTES
from mmeval.dataset.loaders.tsv import TsvFile
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.embedded import embedded_medium, is_sound, sound_medium
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Interleaved, PartKind, media_part
from mmeval.program.template import Value
from mmeval.records.sample import Sample
from mmeval.system.extras import need
from mmeval.system.foreign_lines import lines_of

OPTIONS = (
    "data_dir",
    "data_files",
    "delimiter",
    "drop_labels",
    "encoding",
    "field",
    "media_columns",
    "sep",
)
_FILE_OPTIONS = ("data_files", "data_dir")
_MAX_MEDIUM_BYTES = 2**28
"""Maximum size of a medium in an archive or on the hub, in bytes.

A row with a larger medium becomes a bad sample.
"""
_KEPT_ROWS = 8
"""Number of rows at the start that are kept in memory, because checks before a run read
these rows repeatedly."""
_ROWS_WITH_ALL_COLUMNS = 1000
"""Number of rows in JSON Lines files in which the names of columns are looked up."""
_MAX_REASON_CHARS = 300
_MEMBER = re.compile(r"(zip|tar|gzip)://(?:(?!::).)*")
"""The address of a file in an archive, in the library's notation.

Other kinds of addresses could lead out of the data set.
"""
_KINDS: Mapping[str, PartKind] = {
    "Image": "image",
    "Audio": "audio",
    "Video": "video",
    "Pdf": "document",
    "Mesh": "3d",
}


class _Load:
    """The loader for files that the library datasets can read, with any columns.

    The files are on this machine or on the hub.
    """

    streams = True
    reads_formats = True

    def __call__(self, source: DataSource) -> ColumnsDataset:
        """Opens the data set.

        Raises UsageError for columns, options or a split that do not exist. Raises
        MissingDataError for missing data.
        """
        return ColumnsDataset(source)


load = _Load()


class ColumnsDataset:
    """A data set whose samples are created on demand, one from each row."""

    def __init__(self, source: DataSource) -> None:
        self._source, self._root = source, source.folder.absolute()
        self._counted: int | None = None
        self._home, self._place = f"{self._root}/", str(source.folder)
        if source.repo:
            self._home = f"hf://datasets/{source.repo}@{source.revision}/"
            self._place = f"{source.repo} at {source.revision}"
        options = {**source.options}
        columns = options.pop("columns", {})
        self._paths = options.pop("media_columns", ())
        replace(source, options=options).check_options(OPTIONS)
        library = need("datasets", "datasets")
        library.disable_progress_bars()
        with self._explained():
            self._builder: Any = None
            repo = source.repo or source.format or str(self._root)
            name = source.name or None
            revision = source.revision or None
            # checked before the library downloads the files that they name
            for config in (options, *self._configs()):
                for path in texts_in([config.get(key) for key in _FILE_OPTIONS]):
                    self._inside(path)
            if source.format:
                options = self._with_whole_paths(options)
            self._builder = library.load_dataset_builder(
                repo, name, revision=revision, **options
            )
            for file in self._files:
                self._inside(file)
            features: dict[str, Any] = self._builder.info.features or {}
            self._own_lines = self._has_own_lines(features, options)
            if self._own_lines:
                columns_read: dict[str, Any] = {}
                for row in islice(self._all(), _ROWS_WITH_ALL_COLUMNS):
                    if isinstance(row, dict):
                        columns_read.update(dict.fromkeys(row))
                features = columns_read | features
            else:
                self._stream = self._streamed()
                # the library does not know the features of a CSV before it reads rows
                features = self._stream.features or dict.fromkeys(
                    next(iter(self._stream), {})
                )
            if not features:
                raise UsageError(
                    f"{self._place}: test_split {source.split!r} has no rows"
                )
            has_metadata = any(file.endswith("metadata.csv") for file in self._files)
            if has_metadata or self._builder.name == "csv":
                # as other types, 007 becomes 7.0 and N/A becomes empty
                text = library.Value("string")
                features = {
                    key: text if isinstance(feature, library.Value | None) else feature
                    for key, feature in features.items()
                }
                self._builder.config.features = self._builder.info.features = (
                    library.Features(features)
                )
                self._builder.config.na_filter = False
                self._stream = self._streamed()
        self._kinds = {name: _kind_of(feature) for name, feature in features.items()}
        self._classes = {
            name: feature.names
            for name, feature in features.items()
            if isinstance(feature, library.ClassLabel)
        }
        unknown = [name for name in self._paths if name not in features]
        if unknown:
            raise UnknownNameError("column of media_columns", unknown[0], features)
        self._templates = ColumnTemplates(columns, features, self._place)

    def _with_whole_paths(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the options with absolute paths.

        For a format, the library would resolve relative paths against the working
        folder. Raises UsageError if no files are named.
        """
        file_options = [key for key in _FILE_OPTIONS if options.get(key)]
        if not file_options:
            raise UsageError(
                f"dataset_path: {self._source.format} is a file format; name its files "
                "in dataset_kwargs: {data_files: NAME}"
            )
        for key in file_options:
            options[key] = self._whole(options[key])
        return options

    def _whole(self, paths: Any) -> Any:
        if isinstance(paths, str):
            return f"{self._root}/{self._inside(paths)}"
        if isinstance(paths, Mapping):
            return {split: self._whole(path) for split, path in paths.items()}
        return [self._whole(path) for path in paths]

    def _configs(self) -> Iterator[Mapping[str, Any]]:
        """Yields the configurations in a local folder's card or configuration file."""
        from huggingface_hub.repocard import metadata_load

        if self._source.repo or self._source.format:
            return
        card, config_file = self._root / "README.md", self._root / ".huggingface.yaml"
        if card.is_file():
            yield from (metadata_load(card) or {}).get("configs", ())
        if config_file.is_file():
            yield from (yaml.safe_load(config_file.read_bytes()) or {}).get(
                "configs", ()
            )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the names and sizes of media files, and of the content of all
        other files.

        For a data set on the hub, it is a digest of the repository, commit and options.
        """
        source = self._source
        options = dict(source.options)
        options.pop("columns", None)
        read = (source.repo, source.revision, source.name, source.split, options)
        sha256 = hashlib.sha256(repr(read).encode())
        if source.repo:
            return sha256.hexdigest()
        for file in map(Path, self._files):
            line = f"{file.relative_to(self._root)}:{file.stat().st_size}\n"
            sha256.update(line.encode("utf-8", "surrogateescape"))
            mime = mimetypes.guess_type(file)[0] or ""
            if not mime.startswith(("image/", "audio/", "video/")):
                with file.open("rb") as stream:
                    sha256.update(hashlib.file_digest(stream, "sha256").digest())
        return sha256.hexdigest()

    def __len__(self) -> int:
        """Returns the number of rows.

        The number is read from the hub or the parquet files. If neither states it, the
        rows are counted.
        """
        if self._source.repo:
            split_info = (self._builder.info.splits or {}).get(self._source.split)
            if split_info is not None and split_info.num_examples:
                return int(split_info.num_examples)
        if self._counted is not None:
            return self._counted
        from datasets.utils.file_utils import xopen
        from pyarrow.parquet import ParquetFile

        count = 0
        with self._explained():
            if all(file.endswith(".parquet") for file in self._files):
                for file in self._files:
                    with xopen(file, "rb") as stream:
                        count += ParquetFile(stream).metadata.num_rows
            else:
                count = sum(1 for _ in self._all())
        self._counted = count
        return count

    @property
    def _files(self) -> list[str]:
        files = (self._builder and self._builder.config.data_files) or {}
        return [str(file) for file in files.get(self._source.split, ())]

    def __iter__(self) -> Iterator[Sample | BadRow]:
        with self._explained():
            rows: Iterable[dict[str, Any] | UsageError] = self._first
            if len(self._first) == _KEPT_ROWS:
                rows = chain(rows, islice(self._all(), _KEPT_ROWS, None))
            for position, row in enumerate(rows, 1):
                yield self._templates.sample(
                    row, position, self._cell, lambda path, _where: self._file(path)
                )

    def _has_own_lines(
        self, declared: Mapping[str, Any], options: Mapping[str, Any]
    ) -> bool:
        """Returns True if the rows are JSON Lines that mmeval reads itself.

        The library ``datasets`` would convert strings that look like a date.
        """
        if self._builder.name != "json" or {"encoding", "field"} & options.keys():
            return False
        suffixes = {Path(file).suffix for file in self._files}
        return suffixes == {".jsonl"} and not any(map(_kind_of, declared.values()))

    def _streamed(self) -> Any:
        stream = self._builder.as_streaming_dataset(split=self._source.split)
        return stream.decode(False) if stream.features else stream

    def _all(self) -> Iterator[dict[str, Any] | UsageError]:
        """Yields all rows, or the error for a row that cannot be read."""
        if not self._own_lines:
            yield from self._stream
            return
        # xPath opens files on this machine and on the hub
        from datasets.utils.file_utils import xPath

        for file in map(xPath, self._files):
            for line in lines_of(file, most=MAX_ROW_BYTES, faults=True):
                yield line.row

    @cached_property
    def _first(self) -> list[dict[str, Any] | UsageError]:
        return list(islice(self._all(), _KEPT_ROWS))

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Converts exceptions of the library.

        Raises UsageError if the library cannot read the data. Raises the errors of
        ``hub.snapshot`` if the data cannot be downloaded.
        """
        if self._source.repo:
            with explaining(self._place, "dataset"):
                yield
            return
        try:
            yield
        except UsageError:
            raise
        except Exception as error:  # the library raises many errors for damaged files
            source = self._source
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            reason = reason[:_MAX_REASON_CHARS]
            # the library's error if columns differ between files
            if names := getattr(error, "table_column_names", None):
                reason = f"the columns of its files differ: one has {', '.join(names)}"
            subject = f"test_split {source.split!r}"
            if source.name:
                subject += f" of dataset_name {source.name!r}"
            place = self._files[0] if len(self._files) == 1 else self._place
            raise UsageError(
                f"{place}: datasets cannot read {subject}: {reason}"
            ) from None

    def _cell(self, column: str, value: Any) -> Value:
        """Converts a cell, or a value in it, for templates.

        A medium becomes content for a template. Any other value becomes JSON.
        """
        medium = self._medium(column, value)
        if medium is None:
            return self._plain_cell(column, value)
        return Interleaved((media_part(medium, self._kinds.get(column)),))

    def _medium(self, column: str, value: Any) -> Media | None:
        """Returns the medium that a value contains or names, else None."""
        if is_sound(value) and value["array"] is not None:
            return sound_medium(value)
        content, path = None, None
        if isinstance(value, bytes):
            content = value
        elif isinstance(value, str) and column in self._paths:
            path = value
        elif _is_file(value):
            content, path = value.get("bytes"), value.get("path")
        if isinstance(content, bytes):
            return Media.from_bytes(content)
        # text where bytes are expected is not a medium
        if content is None and isinstance(path, str) and path:
            return self._named_medium(column, path)
        return None

    def _plain_cell(self, column: str, value: Any) -> Value:
        """Returns a value that is not a medium, as JSON."""
        if column in self._classes and isinstance(value, int):
            return str(self._classes[column][value]) if value >= 0 else None
        if _is_file(value):
            content, path = value.get("bytes"), value.get("path")
            return self._json_cell(column, path if content is None else content)
        if isinstance(value, Mapping):
            return {str(key): self._cell(column, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._cell(column, item) for item in value]
        return self._json_cell(column, value)

    def _json_cell(self, column: str, value: Any) -> Value:
        is_json = any(".json" in PurePosixPath(file).name for file in self._files)
        if is_json and hasattr(value, "isoformat"):
            raise UsageError(
                f"{column!r}: the library datasets converts a string in the JSON to a "
                "date; write the rows as parquet"
            )
        return cast("Value", json_value(value))

    def _named_medium(self, column: str, text: str) -> Media:
        """Returns the medium that a string contains, or the file at its path.

        In a TSV, the string may also be the index of a row that contains the medium.
        Raises the errors of ``_file``.
        """
        medium = embedded_medium(text)
        if medium is not None:
            return medium
        try:
            return self._file(text)
        except UsageError:
            for file in self._tsv_files:
                cell = file.cell_of_index(text, column)
                if cell is not None:
                    return embedded_medium(cell) or self._file(cell)
            raise

    @cached_property
    def _tsv_files(self) -> tuple[TsvFile, ...]:
        if self._source.repo:
            return ()
        files = (Path(file) for file in self._files)
        return tuple(TsvFile(file) for file in files if file.suffix == ".tsv")

    def _inside(self, file: str) -> str:
        """Returns the path of a file in the data set. ``file`` may be a full address.

        Raises UsageError for a file outside the data set.
        """
        inner = file.removeprefix(self._home)
        if "::" in inner:
            raise UsageError(f"{inner[:200]!r} is not inside the data set")
        path_inside(self._root, inner)
        return inner

    def _file(self, path: str) -> Media:
        """Returns the file at a path or in an archive (``zip://member::archive``).

        Raises UsageError for a file that is outside the data set, missing or too large.
        """
        from datasets.utils.file_utils import xopen

        member, chained, file = path.rpartition("::")
        if chained and not _MEMBER.fullmatch(member):
            raise UsageError(
                f"{path[-200:]!r} is not a file in an archive of the data set"
            )
        file = self._inside(file)
        if not self._source.repo and not chained:
            return MediaFolder(self._root, self._root)(file, "the medium")
        with self._explained():
            address = f"{member}{chained}{self._home}{file}"
            with xopen(address, "rb") as stream:
                data = stream.read(_MAX_MEDIUM_BYTES + 1)
        if len(data) > _MAX_MEDIUM_BYTES:
            raise UsageError(
                f"the medium {path[-200:]!r} is larger than {_MAX_MEDIUM_BYTES >> 20} "
                "MiB"
            )
        return Media.from_bytes(data, name=PurePosixPath(member or file).name)


def _is_file(value: Any) -> bool:
    """Returns True if a value is a file in the form of the library ``datasets``."""
    if is_sound(value):
        return True
    return isinstance(value, Mapping) and value.keys() == {"bytes", "path"}


def _kind_of(feature: Any) -> PartKind | None:
    """Returns the kind of media in a column, or None if only the bytes show it."""
    kind = _KINDS.get(type(feature).__name__)
    if kind:
        return kind
    if isinstance(feature, Mapping):
        kinds = map(_kind_of, feature.values())
        return next(filter(None, kinds), None)
    inner = getattr(feature, "feature", None)
    return None if inner is None else _kind_of(inner)
