"""Result files of MME-Unify's scripts: read as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import MissingAnswer, StoredAnswer
from mmeval.interchange.row_answers import RowAnswers
from mmeval.media import Interleaved, Part, text_part
from mmeval.records import Sample
from mmeval.tasks.mme_unify.output.format import read_output
from mmeval.tasks.mme_unify.turns import MazeTurn, turns_of
from tests.support.tiny_media import picture

Row = dict[str, Any]
DATA = {"image": "d/a.png", "fake_image1": "d/b.png"}
CSQ: Row = {
    "id": 3,
    "question": "Which?",
    "choice": ["A: x"],
    "answer": "A",
    "data": DATA,
}
IEE: Row = {**CSQ, "data": {**DATA, "edited_image": "d/c.png"}}
TIG: Row = {
    "id": 3,
    "category": "Text-Image_Generation",
    "Text_Prompt": "a hare",
    "data": {"image": "d/a.png"},
}
CIVG: Row = {
    **TIG,
    "category": "Conditional_Image_to_Video_Generation",
    "data": {"image": "a.png", "video": "a.mp4"},
}
SIPU: Row = {
    "question_id": 3,
    "category": "Single_Image_Perception_and_Understanding",
    "question": "?",
    "image": ["a"],
}
VCOT: Row = {
    "id": 3,
    "data": {"Action": ["Up"], "Coordinate": [[1, 1]], "Step_0": "d/a.png"},
}
SD: Row = {
    "id": 3,
    "choice": ["A: 1"],
    "data": {"img_a": "d/img_a.jpg", "img_diff_a": "d/c.jpg"},
}
GEN = picture(colour=7)


def sample(row: Row, task: str, at: int = 0) -> Sample:
    """As the loader makes it."""
    data = row.get("data", {})
    paths = row.get("image") or {
        key: value for key, value in data.items() if isinstance(value, str)
    }
    way = (
        {"action": data["Action"], "coordinate": data["Coordinate"]}
        if task == "vcot"
        else {}
    )
    labels = {key: value for key, value in row.items() if key not in ("data", "image")}
    return Sample(
        f"{task}/{at}",
        (),
        metadata={**labels, **way, "mme_unify_task": task, "paths": paths},
    )


def opened(folder: Path, *rows: Any, name: str = "results.json") -> RowAnswers:
    (folder / "gen").mkdir(exist_ok=True, parents=True)
    (folder / "gen" / "7.png").write_bytes(GEN)
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(json.dumps(rows))
    return read_output(folder)


def answer(answers: RowAnswers, asked: Sample, repeat: int = 0) -> Interleaved:
    found = answers.answer("t", asked, repeat)
    assert isinstance(found, StoredAnswer), found
    assert found.response.output is not None
    return found.response.output


def shown(output: Interleaved) -> list[str]:
    """Texts, the kinds of media that are there, and those of files that are not."""
    return [
        part.text if part.text is not None else f"<{'no ' * part.dangling}{part.kind}>"
        for part in output.parts
    ]


@pytest.mark.parametrize(
    ("task", "row", "fields", "expected"),
    [
        ("sipu", SIPU, {"output": "B"}, ["B"]),
        ("tig", TIG, {"output": {"output_image": "gen/7.png"}}, ["<image>"]),
        ("tig", TIG, {"output": "gen/7.png"}, ["<image>"]),
        ("tig", TIG, {"output": "gen/gone.png"}, ["<no image>"]),
        (
            "civg",
            CIVG,
            {"output": "gen/gone.mp4", "output2": ["gen/7.png", 3]},
            ["<no video>", "<image>"],
        ),
        ("civg", CIVG, {"output": "", "output2": None}, []),
        (
            "iee",
            IEE,
            {"output": {"output_explanation": "e", "output_image": "gen/7.png"}},
            ["e", "<image>"],
        ),
        (
            "iee",
            IEE,
            {"output": {"output_explanation": "e", "output_image": None}},
            ["e", "<no image>"],
        ),
        (
            "csq",
            CSQ,
            {"output": {"output_choice": "A", "output_image": "gen/7.png"}},
            ["A", "<image>"],
        ),
        ("csq", CSQ, {"output": {"output_choice": None, "output_image": ""}}, []),
        ("csq", CSQ, {"output": "A"}, []),
        (
            "sd",
            SD,
            {
                "output": {
                    "selected_answer": "B",
                    "difference_image": "gen/7.png",
                    "explanation": "x",
                }
            },
            ["B", "<image>"],
        ),
        ("vcot", VCOT, {"outputs": []}, []),
        (
            "vcot",
            VCOT,
            {"outputs": {"output_step_0": None, "output_step_x": {}, "step": {}}},
            [],
        ),
    ],
)
def test_a_row_is_read_as_the_scripts_write_it(
    task: str, row: Row, fields: Row, expected: list[str], tmp_path: Path
) -> None:
    assert (
        shown(answer(opened(tmp_path, {**row, **fields}), sample(row, task)))
        == expected
    )


def test_the_steps_of_a_maze_are_its_turns(tmp_path: Path) -> None:
    steps: Row = {
        "output_step_0": {
            "output_action": "Up",
            "output_location": [1, 2],
            "output_image": "gen/7.png",
        },
        "output_step_2": {
            "output_action": None,
            "output_location": "here",
            "output_image": "gone.png",
        },
        "output_step_300": {"output_action": "Up\nStep 1"},
    }
    found = list(
        turns_of(
            answer(opened(tmp_path, {**VCOT, "outputs": steps}), sample(VCOT, "vcot"))
        ).values()
    )
    assert [(turn.step, turn.action, turn.location) for turn in found] == [
        (0, "Up", [1, 2]),
        (2, "", "here"),
        (300, "Up Step 1", None),
    ]
    assert [turn.picture and turn.picture.dangling for turn in found] == [
        False,
        True,
        None,
    ]


def test_an_answer_is_found_by_its_question_as_ids_are_not_unique(
    tmp_path: Path,
) -> None:
    other = {**TIG, "Text_Prompt": "a wren"}
    twin = {**TIG, "data": {"image": "d/b.png"}}
    rows = [
        {**row, "output": f"gen/{number}.png"}
        for number, row in enumerate((other, TIG, twin, IEE, TIG))
    ]
    answers = opened(tmp_path, *rows)
    places = [(other, 0, 0), (TIG, 1, 1), (TIG, 4, 4), (twin, 7, 2)]
    for row, at, number in places:
        found = answers.answer("t", sample(row, "tig", at), 0)
        assert isinstance(found, StoredAnswer)
        assert found.place == ("results.json", number)
    assert isinstance(
        answers.answer("t", sample({**TIG, "Text_Prompt": "a bee"}, "tig", 2), 0),
        MissingAnswer,
    )
    assert isinstance(answers.answer("t", sample(TIG, "fir", 1), 0), MissingAnswer)
    assert isinstance(answers.answer("t", Sample("x", ()), 0), MissingAnswer)
    assert answers.counts == {"results.json": 5}


def test_an_id_is_enough_where_the_row_has_nothing_else(tmp_path: Path) -> None:
    answers = opened(
        tmp_path, {"question_id": 3, "category": SIPU["category"], "output": "C"}
    )
    assert shown(answer(answers, sample(SIPU, "sipu"))) == ["C"]


def test_rows_without_an_answer_have_an_empty_one_and_rows_of_no_task_none(
    tmp_path: Path,
) -> None:
    failed = {**TIG, "output": "gen/7.png", "error": "timeout"}
    answers = opened(tmp_path, CSQ, VCOT, SIPU, failed, {"id": 1}, 7)
    for task, row in (("csq", CSQ), ("vcot", VCOT), ("sipu", SIPU), ("tig", TIG)):
        assert answer(answers, sample(row, task)) == Interleaved(())
    assert len(answers.remarks) == 1


@pytest.mark.parametrize(
    "name",
    [
        "Uinfy_capability/Visual_CoT/Visual_CoT.json",
        "Unify_Capability/x/y.json",
        "a.json",
    ],
)
def test_files_are_found_in_the_released_folders_and_paths_start_from_them_or_the_folder(
    name: str, tmp_path: Path
) -> None:
    row = {**VCOT, "outputs": {"output_step_0": {"output_image": "gen/7.png"}}}
    answers = opened(tmp_path, row, name=name)
    (turn,) = turns_of(answer(answers, sample(VCOT, "vcot"))).values()
    assert (turn.picture is not None, list(answers.counts)) == (True, [name])
    again = read_output(tmp_path / name)
    assert turns_of(answer(again, sample(VCOT, "vcot"))).keys() == {0}


def test_missing_files_are_counted_and_named_before_a_run(tmp_path: Path) -> None:
    rows = [
        {**TIG, "output": "/data/old/1.png"},
        {**CIVG, "output": "gen/gone.mp4", "output2": ["gen/7.png"]},
        {**IEE, "output": "/data/old/1.png", "error": "timeout"},
    ]
    answers = opened(tmp_path, *rows)
    (remark,) = answers.remarks
    assert (": 2, " in remark, "'/data/old/1.png'" in remark) == (True, True)
    found = answers.answer("t", sample(TIG, "tig"), 0)
    assert isinstance(found, StoredAnswer)
    assert "'/data/old/1.png'" in found.response.warnings[0]


def test_a_result_file_that_is_a_link_out_of_the_folder_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    opened(tmp_path, SIPU)
    (tmp_path / "in" / "a.json").symlink_to(tmp_path / "results.json")
    with pytest.raises(UsageError, match=r"'a\.json' leads out"):
        read_output(tmp_path / "in")


def test_a_folder_without_result_files_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        read_output(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UsageError):
        read_output(tmp_path)


def test_a_turns_answer_of_parts_is_the_same() -> None:
    assert turns_of(Interleaved((text_part("Step 0\n"), Part("image")))) == {
        0: MazeTurn(0, picture=Part("image"))
    }
