import datetime
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import BadRow, DataSource
from mmeval.dataset.loaders.interleaved import InterleavedDataset, load
from mmeval.dataset.loaders.parquet_rows import read_parquet
from mmeval.errors import UnknownNameError, UsageError

PNG, WAV = b"\x89PNG\r\n\x1a\n", b"RIFF\x00\x00\x00\x00WAVE"
MEDIUM = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(PNG)
    return tmp_path


def dataset(
    folder: Path,
    row_group_size: int = 2,
    media_columns: dict[str, str] | None = None,
    **columns: Any,
) -> InterleavedDataset:
    pq.write_table(
        pa.table(columns), folder / "test.parquet", row_group_size=row_group_size
    )
    return load(DataSource("t", folder, options={"media": media_columns or {}}))


def test_rows_read_as_in_jsonl(folder: Path) -> None:
    labels: dict[str, Any] = {"level": [1, 2], "absent": [None, "z"]}
    first, second = rows_of(
        dataset(
            folder, id=["a", None], input=["x", "y"], references=[["r"], []], **labels
        )
    )
    assert (first.id, first.input[0].content.raw, first.references[0].raw) == (
        "a",
        "x",
        "r",
    )
    assert (first.metadata, second.metadata) == (
        {"level": 1},
        {"level": 2, "absent": "z"},
    )
    assert (second.id, second.references) == ("2", ())


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("image1", pa.array([PNG, PNG])),
        ("image", pa.array([{"bytes": PNG, "path": "x/a.png"}] * 2, MEDIUM)),
        ("images", pa.array([[{"bytes": PNG, "path": "a.png"}]] * 2, pa.list_(MEDIUM))),
        ("image1", pa.array([{"bytes": None, "path": "a.png"}] * 2, MEDIUM)),
    ],
)
def test_columns_of_media_are_found_by_name_and_type(
    folder: Path, name: str, cells: pa.Array
) -> None:
    first, _ = rows_of(
        dataset(folder, **{"input": ["see <<image1>>"] * 2, name: cells})
    )
    (medium,) = first.input[0].content.media("image")
    assert (medium.read(), medium.mime, name in first.metadata) == (
        PNG,
        "image/png",
        False,
    )


@pytest.mark.parametrize(
    ("cells", "name", "input"),
    [
        (
            pa.array([[{"bytes": PNG, "path": "a.png"}] * 2], pa.list_(MEDIUM)),
            "images",
            "<<image1>><<image2>>",
        ),
        (pa.array([[PNG, PNG]]), "images", "<<image1>><<image2>>"),
        (pa.array([["a.png", "a.png"]]), "images", "<<image1>><<image2>>"),
        (pa.array([{"bytes": PNG, "path": None}], MEDIUM), "image2", "<<image2>>"),
        (pa.array(["a.png"]), "image2", "<<image2>>"),
    ],
)
def test_columns_of_other_names_hold_media_where_the_task_says_so(
    folder: Path, cells: pa.Array, name: str, input: str
) -> None:
    (sample,) = rows_of(
        dataset(
            folder, media_columns={"drawn": name}, **{"input": [input], "drawn": cells}
        )
    )
    pictures = sample.input[0].content.media("image")
    assert ([picture.read() for picture in pictures], sample.metadata) == (
        [PNG] * input.count("<<"),
        {},
    )


def test_a_named_column_of_media_has_to_be_there_and_gives_each_label_once(
    folder: Path,
) -> None:
    with pytest.raises(UnknownNameError, match="drawn"):
        list(
            dataset(
                folder,
                media_columns={"drwn": "images"},
                input=["x"],
                drawn=pa.array([[PNG]]),
            )
        )
    (twice,) = dataset(
        folder,
        media_columns={"drawn": "image"},
        input=["<<image1>>"],
        image1=[PNG],
        drawn=pa.array([PNG]),
    )
    assert isinstance(twice, BadRow)
    assert "image1" in twice.reason


def test_lists_number_their_media_and_nulls_are_none(folder: Path) -> None:
    sounds = pa.array([[WAV, None, WAV], None], pa.list_(pa.binary()))
    first, second = rows_of(
        dataset(
            folder, input=["<<audio1>> <<audio2>> <<audio3>>", "nothing"], audios=sounds
        )
    )
    assert [
        part.dangling for part in first.input[0].content.parts if part.kind == "audio"
    ] == [False, True, False]
    assert second.input[0].content.media() == ()


def test_nested_content_and_mappings_of_media_read_as_in_jsonl(folder: Path) -> None:
    part = (
        {"type": "text", "text": "look", "path": None},
        {"type": "image", "text": None, "path": "a.png"},
    )
    (sample,) = rows_of(dataset(folder, input=[[{"role": "user", "content": [*part]}]]))
    assert [part.kind for part in sample.input[0].content.parts] == ["text", "image"]
    mapping = pa.array([[("image1", "a.png")], []], pa.map_(pa.string(), pa.string()))
    for media in (mapping, pa.array([{"image1": "a.png"}, {"image1": None}])):
        first, second = rows_of(dataset(folder, input=["<<image1>>", "x"], media=media))
        assert (
            first.input[0].content.media()[0].read(),
            second.input[0].content.media(),
        ) == (PNG, ())


def test_labels_become_json(folder: Path) -> None:
    labels: dict[str, Any] = {"share": [math.nan], "inner": [{"low": [0.5, math.inf]}]}
    (sample,) = rows_of(
        dataset(folder, input=["x"], day=[datetime.date(2026, 1, 31)], **labels)
    )
    assert sample.metadata == {"day": "2026-01-31", "inner": {"low": [0.5, None]}}


def test_rows_of_all_groups_are_counted_and_read(folder: Path) -> None:
    rows = dataset(folder, input=[str(i) for i in range(250)], row_group_size=100)
    assert (len(rows), [sample.id for sample in rows_of(rows)]) == (
        250,
        [str(i) for i in range(1, 251)],
    )


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"input": ["x"], "thumbnail": [PNG]}, "'thumbnail'"),
        ({"input": ["x"], "media": ["a.png"]}, "'media'"),
    ],
)
def test_columns_that_make_no_sense_are_refused(
    folder: Path, columns: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        list(dataset(folder, **columns))


def test_a_row_without_an_input_is_a_bad_row(folder: Path) -> None:
    _, bad = dataset(folder, input=["x", None])
    assert isinstance(bad, BadRow)
    assert bad.where == f"{folder / 'test.parquet'}: row 2"


def test_a_file_that_is_no_parquet_is_refused(folder: Path) -> None:
    (folder / "test.parquet").write_bytes(b"PAR1 torn")
    for read in (
        lambda: list(read_parquet(folder / "test.parquet")),
        lambda: [len(load(DataSource("t", folder)))],
    ):
        with pytest.raises(UsageError, match=r"test\.parquet"):
            read()


def test_a_column_of_sounds_as_numbers_is_media(tmp_path: Path) -> None:
    cell = {"path": "a.wav", "array": [0.0, 0.5], "sampling_rate": 8000}
    rows = {"input": ["Hear <<audio1>>"], "audio": [cell]}
    pq.write_table(pa.table(rows), tmp_path / "test.parquet")
    (row,) = read_parquet(tmp_path / "test.parquet")
    assert row.values["media"]["audio1"].mime == "audio/wav"


def test_a_map_without_pairs_is_an_empty_object(folder: Path) -> None:
    pairs = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    samples = rows_of(dataset(folder, input=["x", "y"], extra=pairs))
    assert [sample.metadata for sample in samples] == [
        {"extra": {"k": 1}},
        {"extra": {}},
    ]
