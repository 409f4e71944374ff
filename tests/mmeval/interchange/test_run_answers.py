import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import CorruptMediaError, MissingDataError, UsageError
from mmeval.interchange.contract import MissingAnswer
from mmeval.interchange.own import read_own
from mmeval.media.parts import Part
from mmeval.records.sample import Sample, user
from tests.support.stored_runs import WrittenTrial, rewritten, text, write_run
from tests.support.toy import picture

Json = dict[str, Any]
PNG = {"sha256": "a" * 64, "mime": "image/png", "size": 3}


def drawn(answer: list[Json] | None, **more: Any) -> WrittenTrial:
    return WrittenTrial([text("Draw.")], answer, sample="s", **more)


def one(folder: Path, answer: str = "a hare") -> Path:
    return write_run(folder, [drawn([text(answer)])])


def changed(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}) + "\n")


def stored(
    folder: Path,
    *,
    words: str = "Draw.",
    sample: str = "s",
    task: str = "told",
    repeat: int = 0,
) -> Any:
    """``Any``: a StoredAnswer or a MissingAnswer, which the test inspects."""
    answers = read_own(folder)
    try:
        return answers.answer(task, Sample(sample, (user(words),)), repeat)
    finally:
        answers.close()


def test_an_answer_of_several_calls_is_refused_where_one_was(tmp_path: Path) -> None:
    refused = drawn(
        [text("I cannot.")],
        reply={"finish_reason": "refused"},
        steps=[("model", [text("A fox.")])],
    )
    found = stored(write_run(tmp_path, [refused]))
    assert found.response.is_refused


def test_an_answer_has_its_parts_and_the_model_that_gave_it(tmp_path: Path) -> None:
    response, run = stored(one(tmp_path)).response, read_own(tmp_path)
    assert response.output.parts == (Part("text", "a hare", raw="a hare"),)
    assert response.served == "teller-1"
    assert (response.usage.input_tokens, response.latency) == (0, 0.0)
    assert (run.model, run.counts, run.remarks) == ("teller", {"told": 1}, [])
    renamed = stored(tmp_path, task="renamed")  # known by its questions
    assert (renamed.place, renamed.response.text) == (("told", 0), "a hare")


def test_an_answer_that_failed_has_its_error(tmp_path: Path) -> None:
    error = {"kind": "unsupported", "message": "takes no image"}
    found = stored(write_run(tmp_path, [drawn(None, error=error)]))
    assert found.response.error.to_json() == error


def test_there_is_no_answer_to_what_was_not_asked(tmp_path: Path) -> None:
    asked: dict[str, dict[str, Any]] = {
        "task other; ": {"task": "other", "words": "Paint."},
        "'t', repeat 0": {"sample": "t"},
        "'s', repeat 1": {"repeat": 1},
        "another question": {"words": "Paint."},
    }
    folder = one(tmp_path)
    for words, question in asked.items():
        found = stored(folder, **question)
        assert isinstance(found, MissingAnswer)
        assert words in found.reason


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "smell"}, "'smell'"),
        ({"type": "text", "text": 7}, "must be a string"),
        ({"type": "text", "text": 0}, "must be a string"),
        ("words", "not str"),
        ({"type": "image", "label": 7}, "must be a string"),
        ({"type": "image", "media": {**PNG, "sha256": "../../x"}}, "SHA-256"),
        ({"type": "image", "media": 7}, ""),
        ({"type": "image", "media": PNG}, "folder media/"),
    ],
)
def test_a_damaged_answer_is_none(part: Any, words: str, tmp_path: Path) -> None:
    found = stored(write_run(tmp_path, [drawn([part])]))
    assert isinstance(found, MissingAnswer)
    assert words in found.reason


def test_a_medium_is_found_in_the_store_of_the_folder_and_another_file_is_never_taken_for_it(
    tmp_path: Path,
) -> None:
    made = picture(1)
    (tmp_path / "secret").write_bytes(b"a" * made.size)
    row = {
        **PNG,
        "sha256": made.sha256,
        "size": made.size,
        "path": str(tmp_path / "secret"),
    }
    folder = write_run(tmp_path / "run", [drawn([{"type": "image", "media": row}])])
    with pytest.raises(CorruptMediaError):
        stored(folder).response.output.media()[0].read()
    place = folder / "media" / made.sha256[:2] / f"{made.sha256}.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(made.read())
    (tmp_path / "secret").unlink()
    assert [taken.read() for taken in stored(folder).response.output.media()] == [
        made.read()
    ]
    place.write_bytes(b"cut")
    assert isinstance(stored(folder), MissingAnswer)


def test_the_digest_is_that_of_the_answers_and_not_of_their_place(
    tmp_path: Path,
) -> None:
    same = write_run(tmp_path / "same", [drawn([text("a hare")])], results={})
    more = write_run(
        tmp_path / "more",
        [drawn([text("a hare")]), WrittenTrial([text("?")], [text("b")])],
    )
    assert (
        read_own(one(tmp_path / "one")).digest
        == read_own(same).digest
        != read_own(more).digest
    )


def test_the_only_run_below_a_folder_is_found_and_of_several_one_has_to_be_named(
    tmp_path: Path,
) -> None:
    one(tmp_path / "runs/m/default")
    assert read_own(tmp_path / "runs").model == "teller"
    one(tmp_path / "runs/n/default")
    with pytest.raises(MissingDataError, match="runs/n/default"):
        read_own(tmp_path / "runs")
    with pytest.raises(MissingDataError):
        read_own(tmp_path / "runs/m/default/media")
    changed(tmp_path / "runs/n/default/run.json", format=99)
    with pytest.raises(UsageError, match="cannot read"):
        read_own(tmp_path / "runs/n/default")


def test_a_damaged_trial_has_no_answer_and_a_damaged_sample_is_left_out(
    tmp_path: Path,
) -> None:
    file = one(tmp_path) / "trials" / "told.jsonl"
    rewritten(file, x=[7])
    found = stored(tmp_path)
    assert isinstance(found, MissingAnswer) and found.place == ("told", 0)
    assert "damaged" in found.reason
    rewritten(file, x=[["0", "model", "lost"]])
    assert "journal" in stored(tmp_path).reason
    rewritten(tmp_path / "samples" / "told.jsonl", sample={"id": "s"})
    assert (read_own(tmp_path).counts, len(read_own(tmp_path).remarks)) == (
        {"told": 0},
        1,
    )
