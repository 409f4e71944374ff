"""Answers of samples files, with nothing beside them but their media."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.interchange.contract import Absent, Answers
from mmeval.interchange.own import read_own
from mmeval.records.sample import Sample, user

TIME = "2026-01-31T12-00-00.000000"


def write(folder: Path, *rows: dict[str, Any], task: str = "t", time: str = TIME) -> Path:
    file = folder / f"samples_{task}_{time}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def row(*answers: str | None, id_: str = "1", **more: Any) -> dict[str, Any]:
    parts = [None if words is None else [{"type": "text", "text": words}] for words in answers]
    return {"doc": Sample(id_, (user("?"),)).to_json(), "parts": parts, **more}


def said(answers: Answers, task: str = "t", id_: str = "1", repeat: int = 0, words: str = "?") -> str:
    """The words of an answer, or the reason why there is none."""
    found = answers.answer(task, Sample(id_, (user(words),)), repeat)
    if isinstance(found, Absent):
        return found.reason
    return found.response.text if found.response.error is None else found.response.error.kind


def test_a_sample_that_cannot_be_asked_has_no_answer(tmp_path: Path) -> None:
    bad = row(None, id_="2", error=[{"kind": "bad_sample", "message": "torn"}])
    bad["doc"]["fault"] = "torn"
    answers = read_own(write(tmp_path, row("a"), bad))

    assert (said(answers), answers.counts) == ("a", {"t": 1})
    assert "has no answer to '2', repeat 0" in said(answers, id_="2")


def test_answers_are_known_by_task_sample_and_repeat(tmp_path: Path) -> None:
    write(tmp_path, row("a", "b"), row("c", id_="2"))
    write(tmp_path, row("d"), task="u")
    answers = read_own(tmp_path)

    assert [said(answers, repeat=0), said(answers, repeat=1), said(answers, id_="2"), said(answers, "u")] == list(
        "abcd"
    )
    assert answers.counts == {"t": 3, "u": 1}
    assert "there is no samples file of v" in said(answers, "v")
    assert "no answer to '2', repeat 1" in said(answers, id_="2", repeat=1)
    assert "is another question" in said(answers, words="!")


def test_of_several_files_of_a_task_the_newest_is_read_aloud(tmp_path: Path) -> None:
    write(tmp_path, row("new"), time=TIME.replace("2026", "2027"))
    write(tmp_path, row("old"))
    answers = read_own(tmp_path)

    assert said(answers) == "new"
    assert answers.remarks == ["of 2 samples files the newest of each task are read"]


def test_a_file_that_is_named_answers_whatever_task_asks(tmp_path: Path) -> None:
    assert said(read_own(write(tmp_path, row("a"))), "another") == "a"


def test_what_else_a_line_says_of_an_answer_is_kept(tmp_path: Path) -> None:
    error = {"kind": "too_long", "message": "too long"}
    more: dict[str, Any] = {"error": [None, error], "finish_reason": ["length", "error"], "warnings": [["cut"], []]}
    answers = read_own(write(tmp_path, row("a", None, **more)))

    found = answers.answer("t", Sample("1", (user("?"),)), 0)

    assert not isinstance(found, Absent)
    assert (found.response.finish_reason, found.response.warnings) == ("length", ("cut",))
    assert said(answers, repeat=1) == "too_long"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"doc": {"id": "1"', r":1: the line is no JSON .*cut off"),
        ('{"doc": {"id": 1}, "parts": []}', ":1: this is no line of a samples file"),
        ('{"doc": {"id": "1"}, "parts": []}', ":1: its question is damaged"),
        (
            '{"doc": {"id": "1", "input": [{"role": "user", "content": [7]}]}, "parts": []}',
            ":1: its question is damaged",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / f"samples_t_{TIME}.jsonl").write_text(line)

    with pytest.raises(UsageError, match=reason):
        read_own(tmp_path)


def test_another_file_is_another_digest(tmp_path: Path) -> None:
    first = read_own(write(tmp_path, row("a"))).digest

    assert read_own(write(tmp_path, row("a"))).digest == first
    assert read_own(write(tmp_path, row("b"))).digest != first


def test_a_line_with_fields_of_other_types_has_no_answer(tmp_path: Path) -> None:
    assert "its line is damaged" in said(read_own(write(tmp_path, row("a", warnings=[7]))))
