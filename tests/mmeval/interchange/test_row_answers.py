"""Answers are read by a row layout: which row counts, and which files make a model."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.content import Interleaved, Part
from mmeval.errors import UsageError
from mmeval.interchange.contract import Absent, AnswerPlace, StoredAnswer
from mmeval.interchange.row_answers import RowAnswers
from mmeval.interchange.row_layout import (
    Find,
    Row,
    RowLayout,
    files_named,
    rows_of_list,
)
from mmeval.records import Sample
from tests.support.tiny_media import picture


def pictures_in(row: Row, find: Find) -> Interleaved:
    names = row["pictures"]
    if not isinstance(names, list):
        raise UsageError("'pictures' is not a list")
    return Interleaved(tuple(Part("image", media=find(name)) for name in names))


def row_of(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    media = [] if output is None else output.media()
    return {"id": sample.id, "pictures": [files[medium.sha256] for medium in media]}


LAYOUT = RowLayout(
    files=partial(files_named, "a.json"),
    rows=rows_of_list,
    file_of=lambda _: "a.json",
    labels=frozenset(),
    answer=pictures_in,
    row=row_of,
    sealed=lambda row: row["pictures"],
    media="media/{}_{}",
)


def opened(folder: Path, *rows: Any, layout: RowLayout = LAYOUT) -> RowAnswers:
    (folder / "a.json").write_text(json.dumps(rows))
    return RowAnswers(layout, folder)


def place(answers: RowAnswers, name: str) -> AnswerPlace | None:
    return answers.answer("t", Sample(name, ()), 0).place


def test_the_last_row_of_an_id_counts(tmp_path: Path) -> None:
    row = {"id": "1", "pictures": []}
    answers = opened(tmp_path, row, row)
    assert place(answers, "1") == AnswerPlace("a.json", 1)
    assert answers.counts == {"a.json": 1}


def test_of_equal_questions_the_row_in_the_position_of_the_sample_is_meant(
    tmp_path: Path,
) -> None:
    layout = replace(
        LAYOUT, unique=False, position=int, keys=lambda _: ["same", "other"]
    )
    row = {"id": "same", "pictures": []}
    answers = opened(tmp_path, row, row, row, layout=layout)
    assert place(answers, "1") == AnswerPlace("a.json", 1)


def test_a_row_without_a_key_is_passed_over_with_a_remark(tmp_path: Path) -> None:
    answers = opened(tmp_path, {"pictures": []}, 7)
    assert isinstance(answers.answer("t", Sample("1", ()), 0), Absent)
    assert len(answers.remarks) == 1


def test_an_invalid_row_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.json: row 2"):
        opened(tmp_path, {"id": 1, "pictures": []}, {"id": 2, "pictures": "b.png"})


@pytest.mark.parametrize(
    ("keeps_place", "kind"), [(True, StoredAnswer), (False, Absent)]
)
def test_the_layout_decides_what_an_answer_with_a_missing_file_is(
    keeps_place: bool, kind: type, tmp_path: Path
) -> None:
    layout = replace(LAYOUT, keeps_place=keeps_place)
    answers = opened(tmp_path, {"id": "1", "pictures": ["b.png"]}, layout=layout)
    assert isinstance(answers.answer("t", Sample("1", ()), 0), kind)


def test_the_same_picture_in_another_place_is_another_model(tmp_path: Path) -> None:
    row = {"id": "1", "pictures": ["b.png", "c.png"]}
    (tmp_path / "b.png").write_bytes(picture())
    before = opened(tmp_path, row).digest
    (tmp_path / "b.png").rename(tmp_path / "c.png")
    assert opened(tmp_path, row).digest != before
