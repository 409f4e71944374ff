"""Reads rows of parquet files, a few at a time, with media in columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmeval.dataset.loaders.media_columns import holds_many, holds_one, with_media
from mmeval.dataset.loaders.row import DataRow
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.embedded import SOUND_KEYS
from mmeval.system.extras import need

BATCH_ROWS = 256
BATCH_ROWS_WITH_MEDIA = 8
"""Rows in memory at a time, as a row with pictures takes megabytes."""


def read_parquet(file: Path, others: Collection[str] = ()) -> Iterator[DataRow]:
    """The rows of a parquet file, row group by row group.

    Media columns become the row's ``media``; null values are left out; dates become ISO
    text and NaN null, because metadata are JSON. ``others`` are columns of media with
    other names, whose cells stay as they are (for ``with_media``). Raises UsageError
    for a file that cannot be read or a column of bytes that is not a medium,
    UnknownNameError where one of ``others`` is not there.
    """
    arrow = need("pyarrow", "datasets")
    with parquet_file(file) as table:
        for column in others:
            if column not in table.schema_arrow.names:
                raise UnknownNameError(
                    "column of dataset_kwargs: media:", column, table.schema_arrow.names
                )
        media: dict[str, str] = {}
        for column in table.schema_arrow:
            if column.name not in others and _holds_media(column, arrow.types):
                media[column.name] = column.name
        convert = _converters(table.schema_arrow, arrow.types, {*media, *others}, file)
        size = BATCH_ROWS_WITH_MEDIA if media or others else BATCH_ROWS
        number = 0
        for batch in table.iter_batches(batch_size=size, use_threads=False):
            for values in batch.to_pylist():
                number += 1
                row: dict[str, Any] = {}
                for name, value in values.items():
                    converted = convert[name](value) if name in convert else value
                    if converted is not None:
                        row[name] = converted
                yield DataRow(file, number, with_media(row, media))


def count_parquet(file: Path) -> int:
    """The number of rows, by the file's index. Raises UsageError if it is no
    parquet."""
    with parquet_file(file) as table:
        return int(table.metadata.num_rows)


@contextmanager
def parquet_file(
    file: Path,
) -> Iterator[Any]:  # pyarrow is not installed where types are checked
    """A file of parquet, opened. Raises UsageError for one that cannot be read."""
    parquet, arrow = need("pyarrow.parquet", "datasets"), need("pyarrow", "datasets")
    try:
        with parquet.ParquetFile(file, memory_map=True, pre_buffer=False) as table:
            yield table
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(
            f"{file}: cannot be read as parquet ({str(error).splitlines()[0]}); fetch "
            "it again"
        ) from None


# The types of pyarrow are unknown where types are checked, because the package is
# optional.
def _holds_media(column: Any, types: Any) -> bool:
    """Whether a column holds media, by its name and type."""
    kind = column.type
    if holds_one(column.name):
        return _is_medium(kind, types)
    is_list = (
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
    )
    if is_list and holds_many(column.name):
        return _is_medium(kind.value_type, types)
    return False


def _is_medium(kind: Any, types: Any) -> bool:
    if types.is_struct(kind):
        names = {field.name for field in kind}
        is_file = "bytes" in names and _is_bytes(kind.field("bytes").type, types)
        return is_file or names >= SOUND_KEYS
    return _is_bytes(kind, types)


def _is_bytes(kind: Any, types: Any) -> bool:
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
    )


def _mapping(pairs: Any) -> Any:
    """A cell of a map, which is a list of pairs, as an object of JSON."""
    return None if pairs is None else json_value(dict(pairs))


def _converters(
    schema: Any, types: Any, media: set[str], file: Path
) -> dict[str, Callable[[Any], Any]]:
    """How other columns' values become JSON; columns that already are need nothing."""
    found: dict[str, Callable[[Any], Any]] = {}
    for column in schema:
        if column.name in media:
            continue
        leaves = list(_leaves(column.type))
        if any(_is_bytes(leaf, types) for leaf in leaves):
            raise UsageError(
                f"{file}: the column {column.name!r} holds bytes; name it by what "
                "they are, such as image1 or images, "
                f"or say so in dataset_kwargs: {{media: {{{column.name}: images}}}}"
            )
        if types.is_map(column.type):
            found[column.name] = _mapping
        elif column.name == "media" and not types.is_struct(column.type):
            raise UsageError(
                f"{file}: the column 'media' is not a mapping from labels to paths"
            )
        elif not all(
            types.is_string(leaf) or types.is_integer(leaf) or types.is_boolean(leaf)
            for leaf in leaves
        ):
            found[column.name] = json_value
    return found


def _leaves(kind: Any) -> Iterator[Any]:
    """The types of single values inside a nested type."""
    if not kind.num_fields:
        yield kind
    for i in range(kind.num_fields):
        yield from _leaves(kind.field(i).type)


def json_value(value: Any) -> Any:
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
