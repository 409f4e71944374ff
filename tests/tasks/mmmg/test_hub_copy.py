import json
import re
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.errors import MissingDataError, UsageError
from mmeval.records.sample import Sample
from mmeval.tasks.mmmg.hub_copy import REPOSITORY, find_copy
from mmeval.tasks.mmmg.loader import load

COLUMNS = (
    "category",
    "seed_instruction",
    "instruction",
    "image_0",
    "image_1",
    "ref_image_0",
    "ref_image_1",
    "audio_0",
)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine has in the hub's cache."""
    monkeypatch.setattr(
        "huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache")
    )


def write_copy(
    folder: Path, *rows: dict[str, Any], columns: tuple[str, ...] = COLUMNS
) -> Path:
    import pyarrow
    from pyarrow import parquet

    kinds = {
        name: pyarrow.binary()
        if "_" in name and name[-1].isdigit()
        else pyarrow.string()
        for name in columns
    }
    table = pyarrow.Table.from_pylist(
        [{key: row.get(key) for key in columns} for row in rows], pyarrow.schema(kinds)
    )
    file = folder / "data" / "test-00000-of-00001.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, file)
    return file


def write_rows(folder: Path, *rows: dict[str, Any], file: str = "edit") -> None:
    path = folder / "seed_instruction" / f"{file}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def samples(folder: Path, **options: Any) -> list[Sample]:
    dataset = load(DataSource("t", folder, options={"file": "edit", **options}))
    return list(rows_of(dataset))


def held(sample: Sample) -> list[bytes]:
    """The media of a sample, those of the prompt first."""
    contents = [sample.input[0].content, *sample.references]
    return [medium.read() for content in contents for medium in content.media()]


EDIT = {
    "instruction_para": "Change it.",
    "image_list": [0, 20],
    "ref_image_list": [40],
    "bbox": [1, 2, 3, 4],
}
COPIED = {
    "category": "edit",
    "instruction": "Change it.",
    "image_0": PNG + b"a",
    "image_1": PNG + b"b",
}
COPIED["ref_image_0"] = PNG + b"c"


def test_media_that_are_no_files_come_from_the_copy_in_the_order_of_their_lists(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path, EDIT)
    write_copy(
        tmp_path / REPOSITORY,
        {"category": "other", "instruction": "Change it."},
        COPIED,
    )
    (sample,) = samples(tmp_path)
    assert held(sample) == [PNG + b"a", PNG + b"b", PNG + b"c"]
    assert sample.metadata == {"bbox": [1, 2, 3, 4], "file": "edit"}
    own = tmp_path / "seed_instruction" / "image" / "edit_20.png"
    own.parent.mkdir()
    own.write_bytes(PNG + b"own")
    assert held(samples(tmp_path)[0]) == [PNG + b"a", PNG + b"own", PNG + b"c"]


def test_rows_with_the_same_prompt_are_joined_in_their_order_left_out_or_not(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path, EDIT, {"instruction_para": "Another."}, {**EDIT, "pick": 2})
    write_copy(tmp_path, COPIED, {**COPIED, "image_0": PNG + b"second"})
    assert [held(sample)[:1] for sample in samples(tmp_path)] == [
        [PNG + b"a"],
        [],
        [PNG + b"second"],
    ]
    assert [held(sample)[:1] for sample in samples(tmp_path, having="pick")] == [
        [PNG + b"second"]
    ]


@pytest.mark.parametrize(
    "row",
    [{"category": "other"}, {"instruction": "Change them."}],
    ids=["category", "prompt"],
)
def test_a_row_that_the_copy_lacks_is_missing_before_anything_is_asked(
    tmp_path: Path, row: dict[str, str]
) -> None:
    write_rows(tmp_path, EDIT)
    write_copy(tmp_path, {**COPIED, **row})
    with pytest.raises(MissingDataError, match=r"edit_0\.png and 2 more"):
        samples(tmp_path)


def test_a_medium_that_the_copy_lacks_is_named_and_a_damaged_file_is_no_copy(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path, EDIT)
    write_copy(tmp_path, {**COPIED, "image_1": None})
    (bad,) = samples(tmp_path)
    assert re.search(r"edit\.jsonl:1: .* image_1 ", bad.fault)
    file = write_copy(tmp_path, COPIED, columns=("category", "image_0"))
    with pytest.raises(UsageError, match="column 'instruction'"):
        samples(tmp_path)
    file.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="as parquet"):
        samples(tmp_path)


def test_the_cache_of_the_hub_is_looked_into_last(tmp_path: Path) -> None:
    assert find_copy(tmp_path / "data") is None
    commit = "5" * 40
    cached = tmp_path / "cache" / "datasets--UW-FMRL2--MMMG"
    write_copy(cached / "snapshots" / commit, COPIED)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    assert find_copy(tmp_path / "data") is not None
    write_rows(tmp_path, EDIT)
    assert len(held(samples(tmp_path)[0])) == 3
