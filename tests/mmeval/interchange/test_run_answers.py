"""Answers of run folders, read as the trials that they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.parts import Part
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import Absent, StoredAnswer
from mmeval.interchange.own import read_own
from mmeval.records.sample import Sample, user
from mmeval.run.options import BackendSpec
from tests.support.stored_run import Told, text, write_run
from tests.support.toy import picture as medium
from tests.support.toy import run_toy, sample, task

Json = dict[str, Any]


def told(answer: list[Json] | None, **more: Any) -> Told:
    return Told([text("Draw.")], answer, sample="s", **more)


def stored(folder: Path, *, words: str = "Draw.", sample: str = "s", task: str = "told", repeat: int = 0) -> Any:
    """``Any``: a StoredAnswer or an Absent, which the test looks into."""
    answers = read_own(folder)
    try:
        return answers.answer(task, Sample(sample, (user(words),)), repeat)
    finally:
        answers.close()


def test_an_answer_has_its_parts_and_says_who_gave_it(tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [told([text("a hare")])]))

    assert isinstance(found, StoredAnswer)
    assert found.response.output is not None
    assert found.response.output.parts == (Part("text", "a hare", raw="a hare"),)
    assert (found.response.served, found.response.usage.input_tokens, found.response.latency) == ("teller-1", 0, 0.0)
    assert read_own(tmp_path).model == "teller"


def test_a_failure_is_replayed_as_the_failure_that_it_was(tmp_path: Path) -> None:
    error = {"kind": "unsupported", "message": "takes no image"}

    assert stored(write_run(tmp_path, [told(None, error=error)])).response.error.to_json() == error


def test_a_sample_that_cannot_be_asked_has_no_answer(tmp_path: Path) -> None:
    mended = sample("s1", "Draw.")
    outcome = run_toy(tmp_path, task(rows=[sample(), replace(mended, fault="torn")]), model=BackendSpec("reference"))
    answers = read_own(outcome.folder)

    found = answers.answer("toy", mended, 0)
    answers.close()

    assert isinstance(found, Absent) and "has no answer to 's1', repeat 0" in found.reason
    assert answers.counts == {"toy": 1}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"task": "other", "words": "Paint."}, "has no task other; its tasks are: told"),
        ({"sample": "t"}, "has no answer to 't', repeat 0"),
        ({"repeat": 1}, "has no answer to 's', repeat 1"),
        ({"words": "Paint."}, "is another question"),
    ],
)
def test_there_is_no_answer_to_what_was_not_asked(asked: dict[str, Any], reason: str, tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [told([text("a hare")])]), **asked)

    assert isinstance(found, Absent)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "smell"}, "no kind of part"),
        ({"type": "text", "text": 7}, "words that are no text"),
        ({"type": "image", "media": {"sha256": "../../x", "mime": "image/png", "size": 3}}, "not the SHA-256"),
        ({"type": "image", "media": {"sha256": "a" * 64, "mime": "image/png", "size": 3}}, "bring the folder media/"),
        ({"type": "image", "media": 7}, "damaged"),
        ("words", "a part is an object"),
    ],
    ids=["kind", "words", "digest", "gone", "record", "text"],
)
def test_a_damaged_answer_is_none(part: Any, reason: str, tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [told([part])]))

    assert isinstance(found, Absent)
    assert reason in found.reason


def test_another_file_is_never_taken_for_a_medium(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"a" * 20)
    row = {"sha256": "a" * 64, "mime": "image/png", "size": 20, "path": str(secret)}
    found = stored(write_run(tmp_path / "run", [told([{"type": "image", "media": row}])]))

    [taken] = found.response.output.media()

    with pytest.raises(Exception, match="has changed since it was recorded"):
        taken.read()


def test_the_digest_is_that_of_the_answers_and_not_of_their_place(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [told([text("a hare")])])
    same = write_run(tmp_path / "same", [told([text("a hare")])], results={})
    more = write_run(tmp_path / "more", [told([text("a hare")]), Told([text("?")], [text("b")])])

    assert read_own(one).digest == read_own(same).digest != read_own(more).digest


def test_the_only_run_below_a_folder_is_found_and_of_several_one_has_to_be_named(tmp_path: Path) -> None:
    write_run(tmp_path / "runs/m/default", [told([text("a")])])
    assert read_own(tmp_path / "runs").model == "teller"

    write_run(tmp_path / "runs/n/default", [told([text("a")])])
    with pytest.raises(UsageError, match="several runs; name one"):
        read_own(tmp_path / "runs")
    with pytest.raises(MissingDataError, match="there is no run"):
        read_own(tmp_path / "runs/m/default/media")


def test_a_run_folder_of_another_format_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [told([text("a")])])
    (folder / "run.json").write_text(json.dumps({"format": 99, "mmeval": "9"}))

    with pytest.raises(UsageError, match="of another format"):
        read_own(folder)


def test_a_medium_is_found_in_the_store_of_the_folder(tmp_path: Path) -> None:
    made = medium(1)
    row = {"sha256": made.sha256, "mime": "image/png", "size": made.size, "path": "/gone/x.png"}
    folder = write_run(tmp_path, [told([{"type": "image", "media": row}])])
    place = folder / "media" / made.sha256[:2] / f"{made.sha256}.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(made.read())

    assert [taken.read() for taken in stored(folder).response.output.media()] == [made.read()]
    place.write_bytes(b"cut")
    assert isinstance(stored(folder), Absent)


def test_a_trial_with_fields_of_other_types_has_no_answer(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [told([text("a")])])
    file = folder / "trials" / "told.jsonl"
    file.write_text(json.dumps({**json.loads(file.read_text()), "x": [7]}) + "\n")

    found = stored(folder)

    assert isinstance(found, Absent)
    assert "its record is damaged" in found.reason


def test_tasks_that_are_no_object_are_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [told([text("a")])])
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "tasks": ["told"]}))

    with pytest.raises(UsageError, match=r"run\.json: is damaged"):
        read_own(folder)


def test_a_task_that_was_renamed_is_known_by_its_questions(tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [told([text("a hare")])]), task="renamed")

    assert found.place == ("told", 0)
    assert found.response.text == "a hare"
