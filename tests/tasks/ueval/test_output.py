"""Answer files of UEval's scripts: read as they are, written without loss, and of a
scored run with their results."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.interchange.contract import (
    AnsweredRun,
    AnsweredTask,
    AnswerPlace,
    MissingAnswer,
    StoredAnswer,
)
from mmeval.interchange.row_answers import RowAnswers
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import ErrorInfo, Response, Sample, Score, Trial, user
from mmeval.tasks.ueval.output import read_output, write_output
from tests.support.interchange import held, task_of
from tests.support.tiny_media import picture, wav

RED, BLUE = Media.from_bytes(picture(colour=1)), Media.from_bytes(picture(colour=2))
TONE = Media.from_bytes(wav())


def sample(id: str = "1", **labels: Any) -> Sample:
    known = {
        "task": "art",
        "ueval_task": "art",
        "text_rubrics": ["a"],
        "image_rubrics": ["b"],
    }
    return Sample(id, (user("How?"),), metadata={**known, **labels})


def written(folder: Path, *entries: Any, name: str = "answers.json") -> Path:
    folder.mkdir(exist_ok=True)
    for shade in ("b", "c"):
        (folder / f"{shade}.png").write_bytes(picture(colour=ord(shade)))
    (folder / name).write_text(json.dumps(list(entries)))
    return folder / name


def answer(answers: RowAnswers, id: str = "1", repeat: int = 0) -> Response:
    found = answers.answer("ueval_art", sample(id), repeat)
    assert isinstance(found, StoredAnswer), found
    return found.response


def told(response: Response) -> tuple[str, list[bytes]]:
    assert response.output is not None
    return response.output.text, [
        medium.read() for medium in response.output.media("image")
    ]


B, C = picture(colour=ord("b")), picture(colour=ord("c"))


@pytest.mark.parametrize(
    ("entry", "text", "pictures"),
    [
        (
            {"text_answer": "t", "image_answer": ["b.png", "", None, "c.png"]},
            "t",
            [B, C],
        ),
        ({"text_answer": "t", "image_answer": "b.png"}, "t", [B]),
        ({"text_answer": None, "image_answer": None}, "", []),
        ({"image_answer": ["c.png"]}, "", [C]),
    ],
)
def test_an_entry_is_a_text_and_pictures_in_their_order(
    entry: dict[str, Any], text: str, pictures: list[bytes], tmp_path: Path
) -> None:
    answers = read_output(written(tmp_path, {"id": 1, **entry}))
    assert told(answer(answers)) == (text, pictures)


def test_other_names_of_the_fields_are_given(tmp_path: Path) -> None:
    file = written(tmp_path, {"id": 1, "emu_text": "t", "emu_image": ["b.png"]})
    with pytest.raises(UsageError, match="text_field="):
        read_output(file)
    assert told(
        answer(read_output(file, text_field="emu_text", image_field="emu_image"))
    ) == ("t", [B])


@pytest.mark.parametrize(
    ("field", "kind"), [("image_field", "image"), ("text_field", "text")]
)
def test_a_kind_whose_field_is_empty_was_not_asked_for(
    field: str, kind: str, tmp_path: Path
) -> None:
    own = {"left_out": ["image"]}
    file = written(
        tmp_path,
        {"id": 1, "text_answer": "t", "image_answer": ["b.png"]},
        {"id": 2, "mmeval": own},
    )
    answers = read_output(file, **{field: ""})
    assert (answer(answers).left_out, told(answer(answers))) == (
        (kind,),
        ("", [B]) if kind == "text" else ("t", []),
    )
    assert set(answer(answers, "2").left_out) == {kind, "image"}
    with pytest.raises(UsageError, match="text_field="):
        read_output(file, text_field="", image_field="")


def test_a_picture_that_is_missing_is_absent_with_its_place(tmp_path: Path) -> None:
    found = read_output(written(tmp_path, {"id": 1, "image_answer": ["d.png"]})).answer(
        "t", sample(), 0
    )
    assert isinstance(found, MissingAnswer)
    assert (found.place, "d.png" in found.reason) == (
        AnswerPlace("answers.json", 0),
        True,
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[{"id": 1, "text_answer": 7}]', "row 1: 'text_answer'"),
        ('[{"id": 1, "image_answer": [7]}]', "row 1: 'image_answer'"),
    ],
)
def test_a_damaged_file_is_refused_with_its_entry(
    text: str, word: str, tmp_path: Path
) -> None:
    (tmp_path / "answers.json").write_text(text)
    with pytest.raises(UsageError, match=word):
        read_output(tmp_path)


# --- writing --------------------------------------------------------------------------

Answer = Interleaved | ErrorInfo
PLAIN = Interleaved((text_part("Fold."), media_part(RED), media_part(BLUE)))
ODD: list[Answer] = [
    PLAIN,
    Interleaved((media_part(RED), text_part("Fold."), media_part(RED))),
    Interleaved.from_text("See <<image1>> and <<image2>>.", {"image1": BLUE}),
    Interleaved((Part("reasoning", "hm"), text_part("a \ud83d b"), media_part(TONE))),
    Interleaved((text_part("x"), media_part(Media.from_bytes(b"no picture"), "image"))),
    Interleaved(),
    ErrorInfo("timeout", "too late"),
]


def run_of(
    *answers: Answer,
    scores: Sequence[dict[str, Score]] = (),
    repeat: int = 0,
    task: str = "art",
) -> AnsweredTask:
    def trial(at: int, one: Answer) -> Trial:
        about = sample(str(at))
        return (
            Trial(about, repeat, error=one)
            if isinstance(one, ErrorInfo)
            else Trial(about, repeat, output=one)
        )

    return task_of(task, [trial(at, one) for at, one in enumerate(answers)], scores)


def test_every_answer_comes_back_and_plain_ones_have_nothing_of_ours(
    tmp_path: Path,
) -> None:
    done = write_output(
        AnsweredRun("m", (run_of(*ODD), run_of(PLAIN, repeat=1, task="more"))), tmp_path
    )
    answers = read_output(tmp_path)
    for at, one in enumerate(ODD):
        found = answer(answers, str(at))
        assert (
            found.error == one
            if isinstance(one, ErrorInfo)
            else found.output and held(found.output) == held(one)
        )
    assert answer(answers, "0", repeat=1).output == PLAIN
    rows = json.loads((tmp_path / "answers.json").read_text())
    assert rows[0] == {
        "id": "0",
        "text_answer": "Fold.",
        "image_answer": ["images/0_1.png", "images/0_2.png"],
    }
    assert rows[1]["image_answer"] == ["images/1_1.png"] * 2
    assert ["mmeval" in row for row in rows] == [
        False,
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert done.answers == 7
    assert len(done.gaps) == 1
    assert len(done.notes) == 2
    assert not (tmp_path / "results.json").exists()


def test_tasks_of_others_are_left_out(tmp_path: Path) -> None:
    other = task_of("quiz", [Trial(Sample("1", (user("?"),)), output=PLAIN)])
    done = write_output(AnsweredRun("m", (run_of(PLAIN), other)), tmp_path)
    assert ("quiz" in done.gaps[0], len(done.gaps)) == (True, 1)
    with pytest.raises(UsageError, match="quiz"):
        write_output(AnsweredRun("m", (other,)), tmp_path)


def test_an_answer_to_a_question_without_criteria_is_written(tmp_path: Path) -> None:
    bare = Sample("2", (user("How?"),), metadata={"ueval_task": "art"})
    trial = Trial(bare, output=PLAIN)
    done = write_output(AnsweredRun("m", (task_of("art", [trial]),)), tmp_path)
    assert (done.answers, done.gaps) == (1, ())


def test_a_scored_run_has_the_authors_file_of_results(tmp_path: Path) -> None:
    verdicts = [
        {
            "criterion": "a",
            "met": True,
            "raw": True,
            "reply": '{"criteria_met": true}',
            "explanation": "so",
        },
        {"criterion": "c", "met": None, "lost": "bad_reply"},
    ]
    evidence = {"criteria": verdicts, "met": 1, "total": 2}
    scores = [
        {
            "ueval_text": Score(0.5, evidence=evidence),
            "ueval_image": Score.inapplicable("none"),
        },
        {
            "ueval_text": Score.lost("gone"),
            "ueval_image": Score(
                1.0, evidence={"criteria": [], "met": 1, "total": 1, "kind": "closed"}
            ),
        },
    ]
    write_output(AnsweredRun("m", (run_of(PLAIN, PLAIN, scores=scores),)), tmp_path)
    found = json.loads((tmp_path / "results.json").read_text())
    first, second = found["items"]
    assert first == {
        "id": "0",
        "question": "How?",
        "question_type": None,
        "text_answer": "Fold.",
        "image_outputs": ["images/0_1.png", "images/0_2.png"],
        "text_results": [
            {
                "criterion": "a",
                "criteria_met": True,
                "explanation": "so",
                "raw_response": '{"criteria_met": true}',
            },
            {
                "criterion": "c",
                "criteria_met": None,
                "explanation": "",
                "raw_response": "",
            },
        ],
        "image_results": [],
        "text_score": {"met": 1, "total": 2, "rate": 0.5},
        "image_score": {"met": 0, "total": 0, "rate": None},
    }
    assert (second["text_score"]["rate"], second["image_score"]["rate"]) == (None, 1.0)
    assert second["question_type"] == "closed", (
        "by which the pictures were judged, whatever the labels say"
    )
    assert found["summary"] == {
        "num_items": 2,
        "text_avg_rate": 0.5,
        "image_avg_rate": 1.0,
        "num_items_with_text": 1,
        "num_items_with_image": 1,
    }


def test_the_file_of_results_has_what_the_judge_said_and_names_the_questions_that_it_lacks(
    tmp_path: Path,
) -> None:
    verdicts = [
        {"criterion": "a", "met": False, "raw": "Not Sure", "remark": "not_sure"},
        {"criterion": "b", "met": False, "raw": 1, "remark": "odd_value"},
        {"criterion": "c", "met": False, "raw": None, "remark": "missing_key"},
        {"criterion": "d", "met": True, "raw": "yes"},
    ]
    scores: list[dict[str, Score]] = [
        {"ueval_text": Score(0.25, evidence={"criteria": verdicts})},
        {},
    ]
    done = write_output(
        AnsweredRun("m", (run_of(PLAIN, ODD[-1], scores=scores),)), tmp_path
    )
    (item,) = json.loads((tmp_path / "results.json").read_text())["items"]
    assert [row["criteria_met"] for row in item["text_results"]] == [
        "Not Sure",
        1,
        False,
        True,
    ]
    assert ["results.json" in gap for gap in done.gaps] == [False, True], (
        "besides the answer that failed"
    )
