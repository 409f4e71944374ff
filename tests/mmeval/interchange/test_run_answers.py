"""Answers of run folders, read as the trials that they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.parts import Part
from mmeval.errors import CorruptMediaError, MissingDataError, UsageError
from mmeval.interchange.contract import Absent, StoredAnswer
from mmeval.interchange.own import read_own
from mmeval.records.sample import Sample, user
from mmeval.run.options import BackendSpec
from tests.support.stored_run import Told, text, write_run
from tests.support.toy import picture, run_toy, sample, task

Json = dict[str, Any]
SHA = "a" * 64


def drawn(answer: list[Json] | None, **more: Any) -> Told:
    return Told([text("Draw.")], answer, sample="s", **more)


def one(folder: Path, answer: str = "a hare") -> Path:
    return write_run(folder, [drawn([text(answer)])])


def changed(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}) + "\n")


def stored(folder: Path, *, words: str = "Draw.", sample: str = "s", task: str = "told", repeat: int = 0) -> Any:
    """``Any``: a StoredAnswer or an Absent, which the test inspects."""
    answers = read_own(folder)
    try:
        return answers.answer(task, Sample(sample, (user(words),)), repeat)
    finally:
        answers.close()


def test_an_answer_has_its_parts_and_the_model_that_gave_it(tmp_path: Path) -> None:
    found = stored(one(tmp_path))
    assert isinstance(found, StoredAnswer)
    assert found.response.output is not None
    assert found.response.output.parts == (Part("text", "a hare", raw="a hare"),)
    assert (found.response.served, found.response.usage.input_tokens, found.response.latency) == ("teller-1", 0, 0.0)
    assert (read_own(tmp_path).model, read_own(tmp_path).counts, read_own(tmp_path).remarks) == (
        "teller",
        {"told": 1},
        [],
    )


def test_a_failure_is_replayed_as_the_failure_that_it_was(tmp_path: Path) -> None:
    error = {"kind": "unsupported", "message": "takes no image"}
    assert stored(write_run(tmp_path, [drawn(None, error=error)])).response.error.to_json() == error


def test_a_sample_that_cannot_be_asked_has_no_answer(tmp_path: Path) -> None:
    mended = sample("s1", "Draw.")
    outcome = run_toy(tmp_path, task(rows=[sample(), replace(mended, fault="torn")]), model=BackendSpec("reference"))
    answers = read_own(outcome.folder)
    found = answers.answer("toy", mended, 0)
    answers.close()
    assert isinstance(found, Absent) and "'s1', repeat 0" in found.reason
    assert answers.counts == {"toy": 1}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"task": "other", "words": "Paint."}, "task other; "),
        *(
            ({"sample": "t"}, "'t', repeat 0"),
            ({"repeat": 1}, "'s', repeat 1"),
            ({"words": "Paint."}, "another question"),
        ),
    ],
)
def test_there_is_no_answer_to_what_was_not_asked(asked: dict[str, Any], words: str, tmp_path: Path) -> None:
    found = stored(one(tmp_path), **asked)
    assert isinstance(found, Absent)
    assert words in found.reason


@pytest.mark.parametrize(
    ("part", "words"),
    [
        *(({"type": "smell"}, "'smell'"), ({"type": "text", "text": 7}, "no text"), ("words", "not str")),
        *(({"type": "text", "text": "a", "raw": 7}, "no text"), ({"type": "image", "label": 7}, "no text")),
        ({"type": "image", "media": {"sha256": "../../x", "mime": "image/png", "size": 3}}, "SHA-256"),
        ({"type": "image", "media": {"sha256": SHA, "mime": "image/png", "size": 3}}, "folder media/"),
        ({"type": "image", "media": 7}, "record is damaged"),
    ],
)
def test_a_damaged_answer_is_none(part: Any, words: str, tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [drawn([part])]))
    assert isinstance(found, Absent)
    assert words in found.reason


def test_another_file_is_never_taken_for_a_medium(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"a" * 20)
    row = {"sha256": SHA, "mime": "image/png", "size": 20, "path": str(tmp_path / "secret")}
    [taken] = stored(write_run(tmp_path / "run", [drawn([{"type": "image", "media": row}])])).response.output.media()
    with pytest.raises(CorruptMediaError):
        taken.read()


def test_a_medium_is_found_in_the_store_of_the_folder(tmp_path: Path) -> None:
    made = picture(1)
    row = {"sha256": made.sha256, "mime": "image/png", "size": made.size, "path": "/gone/x.png"}
    folder = write_run(tmp_path, [drawn([{"type": "image", "media": row}])])
    place = folder / "media" / made.sha256[:2] / f"{made.sha256}.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(made.read())
    assert [taken.read() for taken in stored(folder).response.output.media()] == [made.read()]
    place.write_bytes(b"cut")
    assert isinstance(stored(folder), Absent)


def test_the_digest_is_that_of_the_answers_and_not_of_their_place(tmp_path: Path) -> None:
    same = write_run(tmp_path / "same", [drawn([text("a hare")])], results={})
    more = write_run(tmp_path / "more", [drawn([text("a hare")]), Told([text("?")], [text("b")])])
    assert read_own(one(tmp_path / "one")).digest == read_own(same).digest != read_own(more).digest


def test_the_only_run_below_a_folder_is_found_and_of_several_one_has_to_be_named(tmp_path: Path) -> None:
    one(tmp_path / "runs/m/default")
    assert read_own(tmp_path / "runs").model == "teller"
    one(tmp_path / "runs/n/default")
    with pytest.raises(UsageError, match="several runs"):
        read_own(tmp_path / "runs")
    with pytest.raises(MissingDataError):
        read_own(tmp_path / "runs/m/default/media")


@pytest.mark.parametrize(
    ("changes", "words"), [({"format": 99}, "another format"), ({"tasks": ["told"]}, "is damaged")]
)
def test_a_run_folder_that_cannot_be_read_is_refused(changes: Json, words: str, tmp_path: Path) -> None:
    changed(one(tmp_path) / "run.json", **changes)
    with pytest.raises(UsageError, match=words):
        read_own(tmp_path)


def test_a_damaged_trial_has_no_answer_and_a_damaged_sample_is_left_out(tmp_path: Path) -> None:
    file = one(tmp_path) / "trials" / "told.jsonl"
    changed(file, x=[7])
    found = stored(tmp_path)
    assert isinstance(found, Absent) and found.place == ("told", 0)
    assert "damaged" in found.reason
    changed(file, x=[["0", "model", "lost"]])
    assert "journal" in stored(tmp_path).reason
    changed(tmp_path / "samples" / "told.jsonl", sample={"id": "s"})
    assert (read_own(tmp_path).counts, len(read_own(tmp_path).remarks)) == ({"told": 0}, 1)


def test_a_task_that_was_renamed_is_known_by_its_questions(tmp_path: Path) -> None:
    found = stored(one(tmp_path), task="renamed")
    assert (found.place, found.response.text) == (("told", 0), "a hare")
