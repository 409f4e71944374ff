import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UnknownNameError
from mmeval.tasks.unim.data import folders
from mmeval.tasks.unim.data.concatenated_json import Record, read_records
from tests.support.unim import (
    unim_dataset,
    unim_row,
    unim_samples,
    write_captions,
    write_records,
)

PHYSICS = "natural_science/2_physics/a.jsonl"
Rows = list[dict[str, Any]]


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        # In the order of paths.
        (
            {
                PHYSICS: [unim_row(id="2", subdomain="physics")],
                "natural_science/1_math/image/b.json": [unim_row()],
            },
            ["math/1", "physics/2"],
        ),
        # An id that repeats across files, or a name with a number behind it, stays
        # unique.
        (
            {
                f"natural_science/1_math/{name}.jsonl": [unim_row(id="4")]
                for name in "ab"
            },
            ["math/4", "math/4#2"],
        ),
        (
            {"a.jsonl": [unim_row(), unim_row(id="1#2"), unim_row()]},
            ["math/1", "math/1#2", "math/1#3"],
        ),
    ],
    ids=["two files", "a repeated id", "a number behind a name"],
)
def test_records_are_samples_with_ids_of_their_own(
    tmp_path: Path, files: dict[str, Rows], ids: list[str]
) -> None:
    for file, rows in files.items():
        write_records(tmp_path, *rows, file=file)
    # the records may lie right inside
    for folder in (tmp_path, tmp_path / "qapairs_placeholder"):
        dataset = unim_dataset(folder)
        assert [sample.id.partition("/")[2] for sample in dataset] == ids
        assert len(dataset) == len(ids)


@pytest.mark.parametrize("folder", ["qapairs_caption", ".cache"])
def test_only_records_are_read_as_records(tmp_path: Path, folder: str) -> None:
    write_records(tmp_path, unim_row())
    root = tmp_path / "qapairs_placeholder"
    (root / folder).mkdir()
    (root / folder / "other.json").write_text("not a record")
    assert len(unim_dataset(root)) == 1


def test_the_fingerprint_follows_records_and_captions(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    marks = [unim_dataset(tmp_path).fingerprint, unim_dataset(tmp_path).fingerprint]
    write_records(tmp_path, unim_row(difficulty_level=1))
    marks.append(unim_dataset(tmp_path).fingerprint)
    write_captions(tmp_path, unim_row())
    marks.append(unim_dataset(tmp_path).fingerprint)
    assert [marks.index(mark) for mark in marks] == [0, 0, 2, 3]


def test_a_file_is_counted_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_records(tmp_path, unim_row())
    os.utime(path, ns=(0, 10**18))
    read: list[Path] = []

    def noted(file: Path) -> Iterator[Record]:
        read.append(file)
        return read_records(file)

    monkeypatch.setattr(folders, "read_records", noted)
    assert ([len(unim_dataset(tmp_path)) for _ in range(3)], read) == (
        [1, 1, 1],
        [path],
    )
    before = unim_dataset(tmp_path).fingerprint
    write_records(tmp_path, unim_row(), unim_row(id="2"))
    os.utime(path, ns=(0, 10**18 + 10**9))
    assert (
        len(unim_dataset(tmp_path)),
        unim_dataset(tmp_path).fingerprint != before,
    ) == (2, True)


def test_records_are_counted_by_their_labels_as_far_as_these_are_known(
    tmp_path: Path,
) -> None:
    rows = [
        unim_row(id="1", difficulty_level=1),
        unim_row(id="2", difficulty_level=3),
        unim_row(id="3", difficulty_level=3),
        unim_row(id="4", difficulty_level="?"),
    ]
    write_records(tmp_path, *rows)
    math = {"field": "natural_science", "domain": "math"}
    assert list(unim_dataset(tmp_path).label_counts()) == [
        ({**math, "difficulty": "easy"}, 1),
        ({**math, "difficulty": "hard"}, 2),
        (math, 1),
    ]


@pytest.mark.parametrize(
    ("name", "ids", "files"),
    [
        ("Mathematics", ["math/1"], ["1_math"]),
        ("natural_science", ["math/1", "physics/2"], ["1_math", "2_physics"]),
        ("general_domain", ["sports/3"], ["21_sports"]),
        ("", ["sports/3", "math/1", "physics/2"], ["21_sports", "1_math", "2_physics"]),
    ],
)
def test_a_dataset_name_is_a_field_or_domain(
    tmp_path: Path, name: str, ids: list[str], files: list[str]
) -> None:
    sports = unim_row(id="3", domain="general_domain", subdomain="sports")
    write_records(tmp_path, unim_row())
    write_records(tmp_path, unim_row(id="2", subdomain="physics"), file=PHYSICS)
    write_records(tmp_path, sports, file="general_area/21_sports/a.jsonl")
    dataset = unim_dataset(tmp_path, name)
    assert [sample.id.partition("/")[2] for sample in dataset] == ids
    assert (len(dataset), [file.parent.name for file in dataset.files]) == (
        len(ids),
        files,
    )


def test_where_folders_have_no_names_the_records_decide(tmp_path: Path) -> None:
    rows = [
        unim_row(),
        unim_row(id="2", subdomain="physics"),
        unim_row(id="3", subdomain="physics"),
    ]
    write_records(tmp_path, *rows, file="part_1/a.jsonl")
    assert [sample.id for sample in unim_samples(tmp_path, "math")] == [
        "natural_science/math/1"
    ]
    assert len(unim_dataset(tmp_path, "physics")) == 2


def test_names_and_options_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="--data_dir"):
        unim_dataset(tmp_path)
    write_records(tmp_path, unim_row())
    cases: list[tuple[str, str, dict[str, str]]] = [
        ("physiks", "physiks", {}),
        ("varient", "", {"varient": "caption"}),
        ("captions", "", {"variant": "captions"}),
    ]
    for at_fault, name, options in cases:
        with pytest.raises(UnknownNameError) as caught:
            unim_dataset(tmp_path, name, **options)
        assert caught.value.name == at_fault
        assert {"physics", "variant", "caption"} & set(caught.value.known)
    with pytest.raises(MissingDataError, match="physics"):
        unim_dataset(tmp_path, "physics")
