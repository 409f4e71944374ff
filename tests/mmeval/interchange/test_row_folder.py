"""Answers are written by a row layout: the order of rows, the names of media, and what
our own key holds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.interchange.contract import AnsweredRun
from mmeval.interchange.row_folder import RowFolder
from mmeval.interchange.row_layout import RowLayout
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import Sample, Trial
from tests.support.interchange import LAYOUT, task_of
from tests.support.tiny_media import picture, wav

RED = media_part(Media.from_bytes(picture()), "image")
TONE = media_part(Media.from_bytes(wav()))


def written(
    folder: Path, *trials: Trial, own_layout: RowLayout = LAYOUT
) -> list[dict[str, Any]]:
    class Folder(RowFolder):
        layout = own_layout
        benchmark = "B"
        entry = "row"
        unanswered = "no answer"
        notes = {}  # noqa: RUF012

    Folder(folder).fill(AnsweredRun("m", (task_of("t", list(trials)),)))
    rows: list[dict[str, Any]] = json.loads((folder / "a.json").read_text())
    return rows


def trial(name: str, *parts: Part) -> Trial:
    return Trial(Sample(name, ()), output=Interleaved(parts))


def test_rows_are_in_the_order_of_the_data_where_the_layout_has_positions(
    tmp_path: Path,
) -> None:
    layout = replace(LAYOUT, position=int)
    rows = written(tmp_path, trial("10"), trial("9"), own_layout=layout)
    assert [row["id"] for row in rows] == ["9", "10"]


def test_media_are_numbered_in_the_order_of_the_answer(tmp_path: Path) -> None:
    (row,) = written(tmp_path, trial("1", TONE, RED))
    assert row["media"] == ["media/1_1.wav", "media/1_2.png"]


def test_pictures_with_a_folder_of_their_own_are_numbered_first(tmp_path: Path) -> None:
    layout = replace(LAYOUT, pictures="images/{}_{}")
    (row,) = written(tmp_path, trial("1", TONE, RED), own_layout=layout)
    assert row["media"] == ["media/1_2.wav", "images/1_1.png"]


def test_an_answer_that_its_fields_give_back_has_nothing_of_ours(
    tmp_path: Path,
) -> None:
    (row,) = written(tmp_path, trial("1", RED, RED))
    assert "mmeval" not in row


def test_an_answer_that_its_fields_do_not_give_back_has_its_parts_too(
    tmp_path: Path,
) -> None:
    (row,) = written(tmp_path, trial("1", text_part("So."), RED))
    assert [part["type"] for part in row["mmeval"]["parts"]] == ["text", "image"]
