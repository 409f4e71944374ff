from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.interleaved import InterleavedDataset, load
from mmeval.dataset.loaders.parquet_rows import read_parquet
from mmeval.errors import UsageError

PNG, WAV = b"\x89PNG\r\n\x1a\n", b"RIFF\x00\x00\x00\x00WAVE"
MEDIUM = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def dataset(folder: Path, columns: dict[str, Any], row_group_size: int = 2) -> InterleavedDataset:
    pq.write_table(pa.table(columns), folder / "test.parquet", row_group_size=row_group_size)
    return load(DataSource("t", folder))


def test_rows_read_as_in_jsonl(tmp_path: Path) -> None:
    columns = {
        "id": ["a", None],
        "input": ["x", "y"],
        "references": [["r"], []],
        "level": [1, 2],
        "absent": [None, "z"],
    }

    first, second = dataset(tmp_path, columns)

    assert (first.id, first.input[0].content.raw, first.references[0].raw) == ("a", "x", "r")
    assert (first.metadata, second.metadata) == ({"level": 1}, {"level": 2, "absent": "z"})
    assert (second.id, second.references) == ("2", ())


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("image1", pa.array([PNG, PNG])),
        ("image", pa.array([{"bytes": PNG, "path": "x/a.png"}] * 2, MEDIUM)),
        ("image_1", pa.array([{"bytes": PNG, "path": None}] * 2, MEDIUM)),
        ("images", pa.array([[{"bytes": PNG, "path": "a.png"}]] * 2, pa.list_(MEDIUM))),
        ("image1", pa.array([{"bytes": None, "path": "a.png"}] * 2, MEDIUM)),
    ],
    ids=["binary", "struct", "numbered", "list", "path"],
)
def test_columns_of_media_are_found_by_name_and_type(tmp_path: Path, name: str, cells: pa.Array) -> None:
    (tmp_path / "a.png").write_bytes(PNG)

    first, _ = dataset(tmp_path, {"input": ["see <<image1>>"] * 2, name: cells})

    (medium,) = first.input[0].content.media("image")
    assert (medium.read(), medium.mime) == (PNG, "image/png")
    assert name not in first.metadata


def test_lists_number_their_media_and_nulls_are_none(tmp_path: Path) -> None:
    sounds = pa.array([[WAV, None, WAV], None], pa.list_(pa.binary()))

    first, second = dataset(tmp_path, {"input": ["<<audio1>> <<audio2>> <<audio3>>", "nothing"], "audios": sounds})

    assert [part.dangling for part in first.input[0].content.parts if part.kind == "audio"] == [False, True, False]
    assert second.input[0].content.media() == ()


def test_nested_content_and_messages_read_as_in_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    part = {"type": "text", "text": "look", "path": None}, {"type": "image", "text": None, "path": "a.png"}

    (made,) = dataset(tmp_path, {"input": [[{"role": "user", "content": [*part]}]]})

    assert [part.kind for part in made.input[0].content.parts] == ["text", "image"]


def test_a_mapping_of_media_may_be_a_map_or_a_struct(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    as_map = pa.array([[("image1", "a.png")], []], pa.map_(pa.string(), pa.string()))
    as_struct = pa.array([{"image1": "a.png"}, {"image1": None}])

    for media in (as_map, as_struct):
        first, second = dataset(tmp_path, {"input": ["<<image1>>", "x"], "media": media})

        assert first.input[0].content.media()[0].read() == PNG
        assert second.input[0].content.media() == ()


def test_labels_become_json(tmp_path: Path) -> None:
    columns = {
        "input": ["x"],
        "day": [datetime.date(2026, 1, 31)],
        "share": [math.nan],
        "inner": [{"low": [0.5, math.inf]}],
    }

    (made,) = dataset(tmp_path, columns)

    assert json.loads(json.dumps(made.metadata, allow_nan=False)) == {
        "day": "2026-01-31",
        "inner": {"low": [0.5, None]},
    }


def test_rows_are_counted_without_reading_them_and_read_group_by_group(tmp_path: Path) -> None:
    rows = dataset(tmp_path, {"input": [str(i) for i in range(1000)]}, row_group_size=100)

    assert len(rows) == 1000
    assert [made.id for made in rows][-1] == "1000"


def test_an_error_names_file_and_row(tmp_path: Path) -> None:
    rows = dataset(tmp_path, {"input": ["x", None]})

    with pytest.raises(UsageError, match=r'test\.parquet: row 2: "input" is missing'):
        list(rows)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"input": ["x"], "thumbnail": [PNG]}, "column 'thumbnail' holds bytes; name it by what they are"),
        ({"input": ["x"], "media": ["a.png"]}, "column 'media' is no mapping"),
    ],
    ids=["bytes without a name", "media of another type"],
)
def test_columns_that_cannot_be_understood_are_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(dataset(tmp_path, columns))


def test_a_file_that_is_no_parquet_is_one_message(tmp_path: Path) -> None:
    file = tmp_path / "test.parquet"
    file.write_bytes(b"PAR1 torn")

    with pytest.raises(UsageError, match="cannot be read as parquet"):
        list(read_parquet(file))
    with pytest.raises(UsageError, match="cannot be read as parquet"):
        len(load(DataSource("t", tmp_path)))
