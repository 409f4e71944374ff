"""Answers written in the authors' layout and read from it: both ways without loss, and
hostile folders refused."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import sidecar
from mmeval.interchange.contract import (
    MANIFEST,
    AnsweredRun,
    AnsweredTask,
    AnswerPlace,
    ExportSummary,
    MissingAnswer,
    StoredAnswer,
)
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import ErrorInfo, Response, Sample, Trial, user
from mmeval.system import foreign_lines
from mmeval.tasks.mmmg.output_layout import seal
from mmeval.tasks.mmmg.output_reading import MmmgAnswers, read_output
from mmeval.tasks.mmmg.output_writing import write_output
from tests.support.interchange import held, row_sample, task_of
from tests.support.tiny_media import PLAIN_OBJ, picture, wav

HARE, TONE = Media.from_bytes(picture()), Media.from_bytes(wav(rate=22050))
FIRST = "<image_start><image_0><image_end>"
Json = dict[str, Any]


def answered_run(
    *answers: Interleaved | ErrorInfo | None, repeats: int = 1
) -> AnsweredRun:
    """A run of one task: its answers to row 0, then those to row 1; None where it has
    none."""
    return AnsweredRun("teller", (answered_task(answers, repeats=repeats),))


def answered_task(
    answers: Sequence[Interleaved | ErrorInfo | None],
    *,
    repeats: int = 1,
    file: str = "i_tiny",
    task: str = "tiny",
) -> AnsweredTask:
    trials = [
        Trial(row_sample(at // repeats, file), at % repeats, error=answer)
        if isinstance(answer, ErrorInfo)
        else Trial(row_sample(at // repeats, file), at % repeats, output=answer)
        for at, answer in enumerate(answers)
        if answer is not None
    ]
    return task_of(task, trials)


def exported(folder: Path, run: AnsweredRun) -> ExportSummary:
    """The folder of a model, written as ``mmeval export`` does."""
    folder.mkdir()
    done = write_output(run, folder)
    (folder / MANIFEST).write_text(json.dumps({"model": run.model, **done.manifest}))
    return done


def authors(
    folder: Path, *rows: Json, media: tuple[str, ...] = (), file: str = "i_tiny"
) -> Path:
    """A folder as the authors' scripts leave it."""
    for kind in ("image", "audio"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / f"{file}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    for name in media:
        (folder / name).write_bytes(picture() if name.endswith("png") else wav())
    return folder


def line(
    response: str,
    images: tuple[int, ...] = (),
    audios: tuple[int, ...] = (),
    **more: Any,
) -> Json:
    return {
        "response": response,
        "image_list": list(images),
        "audio_list": list(audios),
        **more,
    }


def answer(answers: MmmgAnswers, row: int, repeat: int = 0, **sample: Any) -> Response:
    found = answers.answer("tiny", row_sample(row, **sample), repeat)
    assert isinstance(found, StoredAnswer), found
    return found.response


def absent(answers: MmmgAnswers, row: int, repeat: int = 0, **sample: Any) -> str:
    found = answers.answer("tiny", row_sample(row, **sample), repeat)
    assert isinstance(found, MissingAnswer), found
    return found.reason


def test_rows_are_expanded_in_place_and_numbers_count_through_the_file(
    tmp_path: Path,
) -> None:
    rows = [
        line(FIRST, (at,), query={"instruction": "Draw a hare."}) for at in range(8)
    ]
    folder = authors(
        tmp_path / "Gemini2",
        *rows,
        media=tuple(f"image/i_tiny_{at}.png" for at in range(8)),
    )
    for at in range(8):
        (folder / f"image/i_tiny_{at}.png").write_bytes(picture(colour=(at, 0, 0)))
    answers = read_output(folder)
    output = answer(answers, 1, 2).output
    assert output is not None
    assert [medium.read() for medium in output.media()] == [picture(colour=(6, 0, 0))]
    assert (answers.model, answers.counts, answers.remarks) == (
        "Gemini2",
        {"i_tiny": 8},
        [],
    )


def test_a_missing_answer_has_a_reason_and_a_place_where_only_its_medium_is_missing(
    tmp_path: Path,
) -> None:
    given: Json = {"query": {"instruction": "Draw  a\nhare."}}
    rows = [
        line("a", **given),
        line("b", (3,)),
        line("c", query={"instruction": "Draw a fox."}),
    ]
    folder = authors(tmp_path, *rows)
    answers = read_output(folder, generations=1)
    assert answer(answers, 0).text == "a"
    assert "image/i_tiny_3.png" in absent(answers, 1)
    assert "'Draw a fox.'" in absent(answers, 2)
    assert " 3 " in absent(answers, 3)
    assert "--repeats 1" in absent(answers, 0, repeat=1)
    assert "i_huge.jsonl" in absent(answers, 0, file="i_huge")
    assert isinstance(answers.answer("t", Sample("1", (user("?"),)), 0), MissingAnswer)
    places = [answers.answer("tiny", row_sample(row), 0).place for row in (0, 1, 2)]
    assert places == [AnswerPlace("i_tiny", 0), AnswerPlace("i_tiny", 1), None]
    assert (
        answer(read_output(folder, generations=1, any_instruction=True), 2).text == "c"
    )


def test_a_number_of_lines_that_does_not_fit_is_remarked(tmp_path: Path) -> None:
    [remark] = read_output(authors(tmp_path, *[line("a")] * 6)).remarks
    assert re.findall(r" (\d+) ", remark.partition("i_tiny.jsonl:")[2]) == ["6", "4"]
    assert read_output(tmp_path, generations=3).remarks == []
    with pytest.raises(UsageError, match="generations=0"):
        read_output(tmp_path, generations=0)


def test_the_digest_covers_lines_and_media_and_no_file_outside(tmp_path: Path) -> None:
    folder = authors(tmp_path, line(FIRST, (0,)), media=("image/i_tiny_0.png",))
    first = read_output(folder).digest
    assert read_output(folder).digest == first
    (folder / "image/i_tiny_0.png").write_bytes(picture(colour=9))
    assert read_output(folder).digest != first
    (tmp_path / "secret.png").write_bytes(picture())
    folder = authors(tmp_path / "m", line("a"))
    first = read_output(folder).digest
    (folder / "image" / "i_tiny_0.png").symlink_to(tmp_path / "secret.png")
    assert read_output(folder).digest == first


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"image_list": []}\n', "i_tiny.jsonl:1: 'response'"),
        ('{"response": "a", "image_list": [-1]}\n', "'image_list'"),
        ('{"response": "a", "audio_list": ["../../x"]}\n', "'audio_list'"),
        ('{"response": "a", "mmeval": []}\n', "'mmeval'"),
    ],
    ids=["no response", "negative", "path", "own key"],
)
def test_a_damaged_file_is_refused_with_its_line(
    text: str, word: str, tmp_path: Path
) -> None:
    (tmp_path / "i_tiny.jsonl").write_text(text)
    with pytest.raises(UsageError, match=word):
        read_output(tmp_path)


def test_a_medium_outside_is_a_missing_file_of_its_answer_alone(
    tmp_path: Path,
) -> None:
    name = "image/out.png"
    (tmp_path / "secret.png").write_bytes(picture())
    folder = authors(tmp_path / "m", line("a"))
    (folder / "image" / "out.png").symlink_to(tmp_path / "secret.png")
    own = {"parts": [{"type": "image", "file": name}], "of": seal("a", {})}
    authors(folder, line("a", mmeval=own), line("b"))
    answers = read_output(folder, generations=1)
    assert repr(name) in absent(answers, 0)
    assert answer(answers, 1).text == "b"
    (remark,) = answers.remarks
    assert remark.startswith("missing files of answers: 1,") and repr(name) in remark


def test_media_root_finds_media_that_lie_elsewhere(tmp_path: Path) -> None:
    folder = authors(tmp_path / "m", line(FIRST, (0,)), media=("image/i_tiny_0.png",))
    (folder / "image").rename(tmp_path / "pictures")
    moved = f"image={tmp_path / 'pictures'}"
    answers = read_output(folder, generations=1, media_root=moved)
    output = answer(answers, 0).output
    assert output is not None
    assert [medium.read() for medium in output.media()] == [picture()]
    assert answers.remarks == []
    assert answers.digest != read_output(folder, generations=1).digest


@pytest.mark.parametrize(
    "part",
    [
        7,
        {"type": "smell"},
        {"type": "text", "text": 7},
        {"type": "image", "file": 7},
        {"type": "text", "raw": 1},
    ],
)
def test_damaged_parts_are_refused(part: object, tmp_path: Path) -> None:
    own = {"parts": [part], "of": seal("a", {})}
    answers = read_output(authors(tmp_path, line("a", mmeval=own)), generations=1)
    with pytest.raises(UsageError, match="damaged"):
        answer(answers, 0)


def test_huge_files_are_refused_and_parts_of_others_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {
        "parts": [{"type": "text", "text": "before it was edited"}],
        "of": seal("before", {}),
    }
    answers = read_output(authors(tmp_path, line("after", mmeval=own)), generations=1)
    assert answer(answers, 0).text == "after"
    folder = authors(
        tmp_path / "huge", line(FIRST + "a" * 100, (0,)), media=("image/i_tiny_0.png",)
    )
    monkeypatch.setattr(sidecar, "MAX_MEDIUM_BYTES", 10)
    assert "larger" in absent(read_output(folder, generations=1), 0)
    monkeypatch.setattr(foreign_lines, "MAX_LINE_BYTES", 100)
    with pytest.raises(UsageError, match="longer"):
        read_output(folder)


def test_the_folder_above_is_enough_where_it_holds_one_model(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="path="):
        read_output(tmp_path)
    authors(tmp_path / "output" / "Anole", line("a"))
    assert read_output(tmp_path / "output").model == "Anole"
    authors(tmp_path / "output" / "Janus", line("a"))
    with pytest.raises(UsageError, match="several"):
        read_output(tmp_path / "output")


MESH = Media.from_bytes(PLAIN_OBJ, "a.obj")
FILM = Media.from_bytes(b"\x00\x00\x00\x18ftypmp42" + b"0" * 50)
ODD = [
    Interleaved.from_text(f"a {FIRST}", {"image0": HARE}, spellings=("span",)),
    Interleaved((media_part(HARE), media_part(TONE))),
    Interleaved.from_text(
        "<<code1>> then <<video2>> and <<3d3>>",
        {"code1": "print(1)", "video2": FILM, "3d3": MESH},
    ),
    Interleaved(
        (
            Part("reasoning", "hm", raw="<think>hm</think>"),
            text_part("a \ud83d b"),
            media_part(HARE),
        )
    ),
    Interleaved((Part("reasoning", "hidden"), text_part(f"{FIRST} never came"))),
    Interleaved(),
    Interleaved(
        (
            Part("image", media=TONE, label="image0"),
            media_part(Media.from_bytes(b"no picture"), "image"),
        )
    ),
]


def test_every_answer_comes_back_byte_for_byte(tmp_path: Path) -> None:
    exported(tmp_path / "m", answered_run(*ODD))
    answers = read_output(tmp_path / "m")
    for row, output in enumerate(ODD):
        found = answer(answers, row).output
        assert found is not None
        assert held(found) == held(output)


def test_numbers_go_on_through_the_file_and_plain_answers_have_nothing_of_ours(
    tmp_path: Path,
) -> None:
    tasks = (
        answered_task(ODD[:2] * 2, repeats=2),
        answered_task(ODD[:1], file="i_next", task="next"),
    )
    exported(tmp_path / "m", AnsweredRun("m", tasks))
    rows = [
        json.loads(row)
        for row in (tmp_path / "m/i_tiny.jsonl").read_text().splitlines()
    ]
    assert [row["image_list"] for row in rows] == [[0], [1], [2], [3]]
    assert [row["audio_list"] for row in rows] == [[], [0], [], [1]]
    names = ["i_next_0.png", *(f"i_tiny_{at}.png" for at in range(4))]
    assert sorted(file.name for file in (tmp_path / "m/image").iterdir()) == names
    assert rows[0] == line(f"a {FIRST}", (0,), query={"instruction": "Draw a hare."})
    assert (tmp_path / "m/image/i_tiny_0.png").read_bytes() == HARE.read()


@pytest.mark.parametrize("output", [ODD[0], ODD[-1]], ids=["plain", "odd"])
def test_the_kinds_that_were_not_asked_for_come_back(
    output: Interleaved, tmp_path: Path
) -> None:
    trial = Trial(row_sample(0), output=output, left_out=("audio",))
    exported(tmp_path / "m", AnsweredRun("m", (task_of("tiny", [trial]),)))
    assert answer(read_output(tmp_path / "m"), 0).left_out == ("audio",)


def test_failures_and_gaps_keep_their_places(
    tmp_path: Path,
) -> None:
    failed = ErrorInfo("too_long", "the prompt is long")
    done = exported(
        tmp_path / "m", answered_run(ODD[0], failed, None, ODD[1], repeats=2)
    )
    answers = read_output(tmp_path / "m")
    assert answer(answers, 0, 1).error == failed
    assert absent(answers, 1, 0)
    assert held(answer(answers, 1, 1).output or Interleaved()) == held(ODD[1])
    assert answers.counts == {"i_tiny": 3}
    assert [gap.partition(";")[0] for gap in done.gaps] == ["answers: 1", "lines: 1"]


def test_content_that_the_layout_has_no_place_for_is_noted(tmp_path: Path) -> None:
    jpeg, slow = Media.from_bytes(picture("JPEG")), Media.from_bytes(wav(rate=8000))
    odd = Interleaved(
        (Part("reasoning", "hm"), media_part(jpeg), media_part(slow), media_part(FILM))
    )
    done = exported(tmp_path / "m", answered_run(odd))
    assert [note.partition(":")[0] for note in done.notes] == [
        "answers",
        "media files",
        "pictures",
        "sounds",
        "answers",
    ]
    assert (done.answers, done.media, done.gaps) == (1, 4, ())


BLACK, RED, GREY = (0, 0, 0), (255, 0, 0), (90, 90, 90)
PICTURES = {
    "palette": (picture(mode="P"), BLACK),
    "grey of 16 bits": (picture(mode="I;16", colour=90 * 257), GREY),
    "transparent": (picture(mode="RGBA", colour=(*RED, 0)), RED),
    "JPEG": (picture("JPEG", colour=GREY), GREY),
    "SVG": (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"><path d="M0 '
        b'0h8v4H0" fill="red"/></svg>',
        RED,
    ),
}
"""Files that are no RGB PNG, each with its one colour."""


@pytest.mark.parametrize("form", PICTURES)
def test_a_picture_of_another_form_is_written_as_an_rgb_png_and_comes_back_as_it_was(
    form: str, tmp_path: Path
) -> None:
    data, colour = PICTURES[form]
    output = Interleaved.from_text(
        FIRST, {"image0": Media.from_bytes(data)}, spellings=("span",)
    )
    done = exported(tmp_path / "m", answered_run(output, output))
    for number in range(2):
        with Image.open(tmp_path / f"m/image/i_tiny_{number}.png") as shown:
            found = (shown.format, shown.mode, shown.size, shown.getpixel((0, 0)))
        assert found == ("PNG", "RGB", (8, 4), colour)
    assert ([note[:12] for note in done.notes], done.media) == (["pictures: 2;"], 4)
    back = answer(read_output(tmp_path / "m"), 1).output
    assert back is not None
    assert held(back) == held(output)


def test_a_picture_that_is_none_keeps_its_bytes_and_is_counted(tmp_path: Path) -> None:
    torn = Interleaved(
        (media_part(Media.from_bytes(picture(mode="L")[:40])), media_part(HARE))
    )
    done = exported(tmp_path / "m", answered_run(torn))
    assert [note.partition(";")[0] for note in done.notes] == [
        "pictures: 1",
        "answers: 1",
    ]
    assert (tmp_path / "m/image/i_tiny_0.png").read_bytes() == picture(mode="L")[:40]
    assert not (tmp_path / "m/other").exists()


@pytest.mark.parametrize(
    ("rate", "channels", "noted"), [(22050, 1, 0), (22050, 2, 1), (44100, 1, 1)]
)
def test_a_sound_that_readers_will_resample_is_noted(
    rate: int, channels: int, noted: int, tmp_path: Path
) -> None:
    sound = Media.from_bytes(wav(rate=rate, channels=channels))
    done = exported(tmp_path / "m", answered_run(Interleaved((media_part(sound),))))
    assert sum("Hz" in note for note in done.notes) == noted


def test_other_benchmarks_have_no_place(tmp_path: Path) -> None:
    other = task_of("quiz", [Trial(Sample("1", ()), output=ODD[0])])
    with pytest.raises(UsageError, match="not in MMMG"):
        write_output(AnsweredRun("m", (other,)), tmp_path)


def test_the_number_of_generations_travels_with_an_export(tmp_path: Path) -> None:
    exported(tmp_path / "m", answered_run(*ODD[:6], repeats=3))
    assert held(
        answer(read_output(tmp_path / "m"), 1, 2).output or Interleaved()
    ) == held(ODD[5])
    (tmp_path / "m" / MANIFEST).write_text("{")
    with pytest.raises(UsageError, match=r"mmeval.json"):
        read_output(tmp_path / "m")
