import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.interchange.contract import AnswerPlace, AnswerSource, MissingAnswer
from mmeval.interchange.own import read_own
from mmeval.records.sample import Sample, user

TIME = "2026-01-31T12-00-00.000000"


def write(
    folder: Path, *rows: dict[str, Any], task: str = "t", time: str = TIME
) -> Path:
    file = folder / f"samples_{task}_{time}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def row(*answers: str | None, id_: str = "1", **more: Any) -> dict[str, Any]:
    parts = [
        None if words is None else [{"type": "text", "text": words}]
        for words in answers
    ]
    return {"doc": Sample(id_, (user("?"),)).to_json(), "parts": parts, **more}


def words_of(
    answers: AnswerSource,
    task: str = "t",
    id_: str = "1",
    repeat: int = 0,
    words: str = "?",
) -> str:
    """The words of an answer, or the reason why there is none."""
    found = answers.answer(task, Sample(id_, (user(words),)), repeat)
    if isinstance(found, MissingAnswer):
        return found.reason
    return (
        found.response.text
        if found.response.error is None
        else found.response.error.kind
    )


def test_answers_are_known_by_task_sample_and_repeat(tmp_path: Path) -> None:
    bad = row(None, id_="3", error=[{"kind": "bad_sample", "message": "torn"}])
    bad["doc"]["fault"] = "torn"
    write(tmp_path, row("a", "b"), bad, row("c", id_="2"))
    write(tmp_path, row("d"), task="u")
    answers = read_own(tmp_path)
    assert words_of(answers) == "a"
    assert words_of(answers, repeat=1) == "b"
    assert words_of(answers, id_="2") == "c"
    assert words_of(answers, task="u") == "d"
    found = answers.answer("t", Sample("2", (user("?"),)), 0)
    assert (answers.counts, found.place) == ({"t": 3, "u": 1}, AnswerPlace("t", 2))
    for asked, words in (
        ({"task": "v"}, "of v; there are files of: t, u"),
        ({"id_": "2", "repeat": 1}, "'2', repeat 1"),
        ({"id_": "3"}, "'3', repeat 0"),
        ({"words": "!"}, "another question"),
    ):
        assert words in words_of(answers, **asked)


def test_of_several_files_of_a_task_the_newest_is_read_with_a_remark(
    tmp_path: Path,
) -> None:
    write(tmp_path, row("new"), time=TIME.replace("2026", "2027"))
    old = write(tmp_path, row("old"))
    answers = read_own(tmp_path)
    assert (words_of(answers), len(answers.remarks)) == ("new", 1)
    assert "of 2 " in answers.remarks[0]
    named = read_own(old)  # it answers whatever task asks
    assert (words_of(named, "another"), named.remarks) == ("old", [])
    digests = [read_own(write(tmp_path, row(words))).digest for words in "aab"]
    assert digests[0] == digests[1] != digests[2]


def test_what_else_a_line_has_of_an_answer_is_kept(tmp_path: Path) -> None:
    error = {"kind": "too_long", "message": "too long"}
    more: dict[str, Any] = {
        "error": [None, error],
        "finish_reason": ["length", "error"],
        "warnings": [["cut"], []],
    }
    answers = read_own(
        write(tmp_path, row("a", None, **more), row("b", id_="2", finish_reason=["?"]))
    )
    found, other = (answers.answer("t", Sample(id_, (user("?"),)), 0) for id_ in "12")
    assert not isinstance(found, MissingAnswer) and not isinstance(other, MissingAnswer)
    assert found.response.finish_reason == "length"
    assert found.response.warnings == ("cut",)
    assert (other.response.finish_reason, other.response.warnings) == ("stop", ())
    assert words_of(answers, repeat=1) == "too_long"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"doc": {"id": "1"', "cut off"),
        ('{"doc": {"id": 1}, "parts": []}', "not a line"),
        ('{"doc": {"id": "1"}, "parts": {}}', "not a line"),
        ('{"doc": {"id": "1"}, "parts": []}', "question is damaged"),
        (
            '{"doc": {"id": "1", "input": [{"role": "user", "content": [7]}]}, '
            '"parts": []}',
            "question is damaged",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(
    line: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / f"samples_t_{TIME}.jsonl").write_text(line)
    with pytest.raises(UsageError, match=f":1: .*{words}"):
        read_own(tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        {"warnings": [7]},
        {"parts": [7]},
        {"parts": [[7]]},
        {"parts": [None]},
        {"parts": [None], "error": [{}]},
    ],
)
def test_a_line_with_fields_of_other_types_has_no_answer(
    more: dict[str, Any], tmp_path: Path
) -> None:
    answers = read_own(write(tmp_path, row("a", **more)))
    found = answers.answer("t", Sample("1", (user("?"),)), 0)
    assert isinstance(found, MissingAnswer)
    assert found.place == AnswerPlace("t", 0)
