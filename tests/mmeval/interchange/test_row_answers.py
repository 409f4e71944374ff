"""Answers are read by a row layout: which row counts, where its media are, and which
files make a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import (
    MANIFEST,
    AnswerPlace,
    MissingAnswer,
    StoredAnswer,
)
from mmeval.interchange.row_answers import RowAnswers
from mmeval.interchange.row_layout import RowLayout
from mmeval.records import Response, Sample
from tests.support.interchange import LAYOUT
from tests.support.tiny_media import picture


def opened(
    folder: Path, *rows: Any, name: str = "a.json", layout: RowLayout = LAYOUT
) -> RowAnswers:
    (folder / name).write_text(json.dumps(rows))
    return RowAnswers(layout, folder)


def row(*media: str, id: object = "1", **more: Any) -> dict[str, Any]:
    return {"id": id, "media": [*media], **more}


def place(answers: RowAnswers, id: str = "1", repeat: int = 0) -> AnswerPlace | None:
    return answers.answer("t", Sample(id, ()), repeat).place


def response(answers: RowAnswers) -> Response:
    found = answers.answer("t", Sample("1", ()), 0)
    assert isinstance(found, StoredAnswer), found
    return found.response


def media(answers: RowAnswers) -> list[bytes]:
    output = response(answers).output
    assert output is not None
    return [medium.read() for medium in output.media()]


# --- rows -----------------------------------------------------------------------------


def test_an_id_that_is_a_number_is_that_of_a_sample(tmp_path: Path) -> None:
    assert place(opened(tmp_path, row(id=1))) == AnswerPlace("a.json", 0)


def test_the_last_row_of_an_id_counts(tmp_path: Path) -> None:
    answers = opened(tmp_path, row(), row())
    assert place(answers) == AnswerPlace("a.json", 1)
    assert answers.counts == {"a.json": 1}
    (remark,) = answers.remarks
    assert "answers with a repeated id: 1;" in remark


def test_of_equal_questions_the_row_in_the_position_of_the_sample_is_meant(
    tmp_path: Path,
) -> None:
    layout = replace(LAYOUT, unique=False, position=int, keys=lambda _: ["1"])
    answers = opened(tmp_path, row(), row(), row(), layout=layout)
    assert place(answers, "1") == AnswerPlace("a.json", 1)


def test_a_row_without_a_key_is_passed_over_with_a_remark(tmp_path: Path) -> None:
    answers = opened(tmp_path, {"media": []}, 7)
    assert answers.counts == {"a.json": 0}
    (remark,) = answers.remarks
    assert remark.endswith("answers without an id, skipped: 2")


def test_a_repeat_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    opened(tmp_path, row())
    answers = opened(tmp_path, row(id="2"), row(), name="a_repeat2.json")
    assert place(answers, repeat=2) == AnswerPlace("a_repeat2.json", 1)
    assert isinstance(answers.answer("t", Sample("1", ()), 1), MissingAnswer)


def test_an_invalid_row_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.json: row 2"):
        opened(tmp_path, row(), {"id": 2, "media": "b.png"})


def test_a_damaged_key_of_ours_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.json: row 2: 'mmeval'"):
        opened(tmp_path, row(), row(id=2, mmeval=7))


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"a\.json"):
        RowAnswers(LAYOUT, tmp_path)


@pytest.mark.parametrize("name", ["a.json", "a_repeat1.json", MANIFEST])
def test_a_file_that_is_a_link_out_of_the_folder_is_refused(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    opened(folder, row())
    opened(tmp_path, row())
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "a.json")
    with pytest.raises(UsageError, match=f"{name!r} leads out"):
        RowAnswers(LAYOUT, folder).model  # noqa: B018


# --- media ----------------------------------------------------------------------------


def test_paths_start_from_the_file_then_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for place, colour in ((folder / "b.png", 1), (tmp_path / "b.png", 2)):
        place.write_bytes(picture(colour=colour))
    (tmp_path / "c.png").write_bytes(picture(colour=3))
    monkeypatch.chdir(tmp_path)
    answers = opened(folder, row("b.png", "c.png"))
    assert media(answers) == [picture(colour=1), picture(colour=3)]


def test_media_root_finds_the_media_of_another_machine(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(picture())
    opened(tmp_path, row("/data/old/b.png"))
    answers = RowAnswers(LAYOUT, tmp_path, media_root=f"/data/old={tmp_path}")
    assert media(answers) == [picture()]
    assert answers.remarks == []


def test_missing_media_are_counted_before_a_run(tmp_path: Path) -> None:
    answers = opened(tmp_path, row("/data/old/b.png"), row("../c.png", id="2"))
    (remark,) = answers.remarks
    assert ": 2, " in remark
    assert "'/data/old/b.png'" in remark


def test_a_part_whose_file_is_missing_keeps_its_place_with_a_warning(
    tmp_path: Path,
) -> None:
    found = response(opened(tmp_path, row("b.png")))
    assert found.output is not None
    assert [part.dangling for part in found.output.parts] == [True]
    assert "b.png" in found.warnings[0]


def test_an_answer_with_a_missing_file_is_absent_where_the_layout_keeps_no_place(
    tmp_path: Path,
) -> None:
    layout = replace(LAYOUT, keeps_place=False)
    answers = opened(tmp_path, row("b.png"), layout=layout)
    found = answers.answer("t", Sample("1", ()), 0)
    assert isinstance(found, MissingAnswer)
    assert found.place == AnswerPlace("a.json", 0)


# --- the model ------------------------------------------------------------------------


def test_the_bytes_of_a_picture_make_the_model(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(picture(colour=1))
    before = opened(tmp_path, row("b.png")).digest
    (tmp_path / "b.png").write_bytes(picture(colour=2))
    assert opened(tmp_path, row("b.png")).digest != before


def test_the_same_picture_in_another_place_is_another_model(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(picture())
    before = opened(tmp_path, row("b.png", "c.png")).digest
    (tmp_path / "b.png").rename(tmp_path / "c.png")
    assert opened(tmp_path, row("b.png", "c.png")).digest != before


def test_the_model_is_the_same_wherever_its_media_lie(tmp_path: Path) -> None:
    digests = []
    opened(tmp_path, row("/data/old/b.png"))
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "b.png").write_bytes(picture())
        answers = RowAnswers(LAYOUT, tmp_path, media_root=f"/data/old={folder}")
        digests.append(answers.digest)
    assert digests[0] == digests[1]
