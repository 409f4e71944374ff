"""Reads rows of parquet files in small batches, with media in columns."""

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
"""Number of rows with media in memory at a time. A row with pictures may need
megabytes."""


def read_parquet(file: Path, media_columns: Collection[str] = ()) -> Iterator[DataRow]:
    """Yields the rows of a parquet file, one row group after the other.

    Columns with media become the row's ``media``. Null values are left out. Because
    metadata are JSON, dates become ISO strings, and NaN becomes null. ``media_columns``
    names further columns with media. The cells of these columns are not converted (see
    ``with_media``).

    Raises UsageError for a file that cannot be read, or for a column of bytes that are
    not media. Raises UnknownNameError if one of ``media_columns`` does not exist.
    """
    arrow = need("pyarrow", "datasets")
    with parquet_file(file) as table:
        for column in media_columns:
            if column not in table.schema_arrow.names:
                raise UnknownNameError(
                    "column of dataset_kwargs: media:", column, table.schema_arrow.names
                )
        media: dict[str, str] = {}
        for column in table.schema_arrow:
            if column.name not in media_columns and _holds_media(column, arrow.types):
                media[column.name] = column.name
        convert = _converters(
            table.schema_arrow, arrow.types, {*media, *media_columns}, file
        )
        size = BATCH_ROWS_WITH_MEDIA if media or media_columns else BATCH_ROWS
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
    """Returns the number of rows, as stated in the index of the file.

    Raises UsageError if the file is not parquet.
    """
    with parquet_file(file) as table:
        return int(table.metadata.num_rows)


@contextmanager
def parquet_file(
    file: Path,
) -> Iterator[Any]:  # pyarrow is not installed for type checks
    """Opens a parquet file. Raises UsageError if it cannot be read."""
    parquet, arrow = need("pyarrow.parquet", "datasets"), need("pyarrow", "datasets")
    try:
        with parquet.ParquetFile(file, memory_map=True, pre_buffer=False) as table:
            yield table
    except (arrow.ArrowException, OSError) as error:
        raise UsageError(
            f"{file}: cannot be read as parquet ({str(error).splitlines()[0]}); "
            "fetch it again"
        ) from None


# Any: pyarrow is optional, so its types are unknown to type checks.
def _holds_media(column: Any, types: Any) -> bool:
    """Returns True if the name and type of a column indicate media."""
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
    """Converts a cell of type map, which is a list of pairs, to a JSON object."""
    return None if pairs is None else json_value(dict(pairs))


def _converters(
    schema: Any, types: Any, media: set[str], file: Path
) -> dict[str, Callable[[Any], Any]]:
    """Returns functions that convert the cells of columns to JSON.

    A column whose cells already are JSON values gets no function.
    """
    converters: dict[str, Callable[[Any], Any]] = {}
    for column in schema:
        if column.name in media:
            continue
        leaves = list(_leaves(column.type))
        if any(_is_bytes(leaf, types) for leaf in leaves):
            raise UsageError(
                f"{file}: the column {column.name!r} contains bytes; name it after its "
                "media, such as image1 or images, or write dataset_kwargs: {media: "
                f"{{{column.name}: images}}}}"
            )
        if types.is_map(column.type):
            converters[column.name] = _mapping
        elif column.name == "media" and not types.is_struct(column.type):
            raise UsageError(
                f"{file}: the column 'media' is not a mapping from labels to paths"
            )
        elif not all(
            types.is_string(leaf) or types.is_integer(leaf) or types.is_boolean(leaf)
            for leaf in leaves
        ):
            converters[column.name] = json_value
    return converters


def _leaves(kind: Any) -> Iterator[Any]:
    """Yields the types of the innermost values in a nested type."""
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
