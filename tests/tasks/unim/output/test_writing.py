import json
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import ErrorInfo, Message, Sample, Trial
from mmeval.tasks.unim.output import writing
from mmeval.tasks.unim.output.reading import read_output
from tests.support.interchange import held, row_sample, task_of
from tests.support.tiny_media import picture
from tests.support.unim import (
    FIRST,
    HARE,
    SOLID,
    TONE,
    export_unim,
    response_to,
    tagged,
    there_and_back,
    unim_sample,
    unim_task,
    unim_trial,
)

FAILED = ErrorInfo("timeout", "no reply")
ODD = [
    tagged("see <<3d1>>, hear <Audio 2>", **{"3d1": SOLID, "audio2": TONE}),
    Interleaved((media_part(HARE), text_part("a"), media_part(TONE), media_part(HARE))),
    Interleaved(
        (
            Part("reasoning", "hm", raw="<think>hm</think>"),
            text_part("a \ud83d b"),
            media_part(HARE),
        )
    ),
    Interleaved((Part("reasoning", "hidden"), text_part("<image1> never came"))),
    Interleaved(),
    Interleaved(
        (
            Part("image", media=TONE, label="image1"),
            media_part(Media.from_bytes(b"no picture"), "image"),
        )
    ),
    Interleaved(
        (
            Part("code", "}", raw="```\n}\n```", label="code1"),
            Part("code", media=TONE, label="code2"),
        )
    ),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "m/natural_science/math"


def test_every_answer_comes_back_byte_for_byte(tmp_path: Path) -> None:
    found = [response.output for response in there_and_back(tmp_path / "m", *ODD)]
    assert [held(output) for output in found if output is not None] == [
        held(output) for output in ODD
    ]


@pytest.mark.parametrize("output", [tagged("a"), ODD[-1]])
def test_the_kinds_that_were_not_asked_for_come_back(
    output: Interleaved, tmp_path: Path
) -> None:
    export_unim(
        tmp_path / "m",
        task_of("unim", [Trial(unim_sample(), output=output, left_out=("video",))]),
    )
    found = response_to(read_output(tmp_path / "m"))
    assert (found.output, found.left_out) == (output, ("video",))


def test_a_record_of_a_plain_answer_has_nothing_of_ours(
    tmp_path: Path, place: Path
) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image/img_0501_01.png").write_bytes(HARE.read())
    given: dict[str, Media | str] = {
        "image1": Media.from_path(tmp_path / "image/img_0501_01.png"),
        "code1": "{",
    }
    asked = Interleaved.from_text("Draw <image1> with <code1>.", given)
    sample = Sample(
        "natural_science/math/501",
        (Message("user", asked),),
        metadata=unim_sample().metadata,
    )
    answer = Trial(sample, output=tagged("done: <<image2>>", image2=HARE))
    export_unim(tmp_path / "m", task_of("unim", [answer]))
    assert json.loads((place / "answers.jsonl").read_text()) == {
        "domain": "natural_science",
        "subdomain": "math",
        "id": "501",
        "difficulty_level": 3,
        "input": {
            "modal": {"image1": "image/img_0501_01.png", "code1": "{"},
            "content": "Draw <image1> with <code1>.",
        },
        "output": {
            "modal": {"image2": "image/img_0501_02.png"},
            "content": "done: <<image2>>",
        },
    }
    assert (place / "image/img_0501_02.png").read_bytes() == HARE.read()


def test_repeats_have_files_of_their_own_as_a_script_scores_a_file(
    tmp_path: Path, place: Path
) -> None:
    trials = [
        unim_trial(tagged(f"{FIRST} {repeat}", image1=HARE), repeat=repeat)
        for repeat in range(2)
    ]
    done = export_unim(tmp_path / "m", task_of("unim", trials))
    answers = read_output(tmp_path / "m")
    assert sorted(file.name for file in place.glob("*.jsonl")) == [
        "answers.jsonl",
        "answers_repeat1.jsonl",
    ]
    assert sorted(file.name for file in (place / "image").iterdir()) == [
        "img_0001_01.png",
        "img_0001_repeat1_01.png",
    ]
    assert [response_to(answers, repeat=repeat).text for repeat in range(2)] == [
        f"{FIRST} 0",
        f"{FIRST} 1",
    ]
    assert "answers_repeat<n>.jsonl" in done.notes[-1]


def test_a_large_file_is_continued_in_another_one(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_FILE_BYTES", 800)
    answers = [tagged(f"{number} {'a' * 100}") for number in range(4)]
    assert [
        response.output for response in there_and_back(tmp_path / "m", *answers)
    ] == answers
    assert sorted(file.name for file in place.iterdir()) == [
        "answers.jsonl",
        "answers_part2.jsonl",
    ]


@pytest.mark.parametrize("number", ["../../x", "é", "x" * 300, "0001"])
def test_an_id_never_becomes_a_path_and_no_two_share_a_file(
    number: str, tmp_path: Path, place: Path
) -> None:
    other = tagged(FIRST, image1=Media.from_bytes(picture(colour=9)))
    export_unim(
        tmp_path / "m", unim_task({number: tagged(FIRST, image1=HARE), "1": other})
    )
    answers = read_output(tmp_path / "m")
    assert (response_to(answers, number).output, response_to(answers).output) == (
        tagged(FIRST, image1=HARE),
        other,
    )
    assert len(list((place / "image").iterdir())) == 2


def test_failures_are_no_empty_answers_and_come_back_as_what_they_were(
    tmp_path: Path, place: Path
) -> None:
    unasked = ErrorInfo("unsupported", "it takes no audio")
    done = export_unim(tmp_path / "m", unim_task([tagged("a"), FAILED, unasked]))
    answers = read_output(tmp_path / "m")
    assert [gap.partition(";")[0] for gap in done.gaps] == ["answers: 1", "answers: 1"]
    assert len((place / "answers.jsonl").read_text().splitlines()) == 1
    assert [response_to(answers, number).error for number in "123"] == [
        None,
        FAILED,
        unasked,
    ]
    assert answers.counts == {str(tmp_path / "m"): 3}
    export_unim(tmp_path / "failed", unim_task([FAILED]))
    assert response_to(read_output(tmp_path / "failed")).error == FAILED


def test_other_benchmarks_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in UniM"):
        export_unim(
            tmp_path / "m", task_of("tiny", [Trial(row_sample(0), output=ODD[0])])
        )


def test_what_the_layout_has_no_place_for_is_reported(tmp_path: Path) -> None:
    done = export_unim(
        tmp_path / "m",
        unim_task([*ODD[:3], tagged("<image1> and <image2>", image1=HARE)]),
    )
    assert [note.partition(";")[0] for note in done.notes] == [
        "answers: 1",
        "answers: 1",
        "answers: 1",
        "media files: 4",
        "tags: 1",
    ]
    assert (done.answers, done.media, done.gaps) == (4, 6, ())


def test_a_level_that_is_not_one_is_left_out(tmp_path: Path, place: Path) -> None:
    known = unim_sample()
    odd = replace(known, metadata={**known.metadata, "difficulty": ["easy"]})
    export_unim(tmp_path / "m", task_of("unim", [Trial(odd, output=tagged("done"))]))
    assert "difficulty_level" not in json.loads((place / "answers.jsonl").read_text())
