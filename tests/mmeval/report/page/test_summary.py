from pathlib import Path
from typing import Any

import pytest

from mmeval.report.page.index import Asked
from mmeval.report.page.summary import lead, notes
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run

TRIAL = Told([text("a")], [text("b")])
NUMBER = {"task": "told", "metric": "right", "value": 0.5, "n": 10, "scored": 10}


def run(tmp_path: Path, **ours: Any) -> StoredRun:
    """Ten trials of the task Told."""
    results = {"results": [NUMBER], **ours}
    return StoredRun(
        write_run(
            tmp_path / "run",
            [TRIAL] * 10,
            results=results,
            config={"task_alias": "Told"},
        )
    )


def lacks(words: list[str], shown: str) -> list[str]:
    return [one for one in words if one not in shown]


ALL = Asked(10, 10, 10)
FOREIGN = "no number compares with a published one."


@pytest.mark.parametrize(
    ("asked", "tally", "ours", "words"),
    [
        (
            ALL,
            {"scored": 10},
            {},
            "teller was asked 10 samples of told; no judge was asked.",
        ),
        (
            Asked(10, 10, 40),
            {"scored": 40},
            {},
            "10 samples of told, 40 trials with repeats; ",
        ),
        (
            Asked(3, 10, 3),
            {"unsupported": 7, "scored": 3},
            {},
            "3 of 10 samples of told, as the others need kinds",
        ),
        (
            Asked(9, 10, 9),
            {"failed": 1, "scored": 9},
            {},
            "9 of 10 samples of told, as the others are damaged; ",
        ),
        (
            Asked(0, 10, 0),
            {"unsupported": 10, "uncounted": 2},
            {},
            "0 of 10 samples of told, as the others need kinds",
        ),
        (
            ALL,
            {},
            {"judges": {"told": [{"role": "judge", "asked": "j", "served": "j-26"}]}},
            "; the judge was j-26.",
        ),
        (ALL, {}, {"not_comparable": ["told"]}, f"no judge was asked and {FOREIGN}"),
    ],
    ids=["all", "repeats", "unsupported", "bad samples", "none", "judge", "bundled"],
)
def test_one_sentence_has_what_was_really_asked_of_whom(
    asked: Asked,
    tally: dict[str, int],
    ours: dict[str, Any],
    words: str,
    tmp_path: Path,
) -> None:
    (sentence,) = lead(run(tmp_path, **ours), tally, asked)
    assert (words in sentence, sentence.count(".")) == (True, 1)


def test_an_unfinished_run_has_how_far_it_is_and_the_command_for_its_numbers(
    tmp_path: Path,
) -> None:
    found = StoredRun(write_run(tmp_path / "a run", [TRIAL]))
    shown = " ".join(
        lead(found, {"scored": 16, "failed": 2, "unscored": 6}, Asked(24, 24, 24))
    )
    words = [
        "24 trials were made",
        ", 16 of them scored",
        ", 2 failed.",
        f"mmeval score '{tmp_path / 'a run'}'",
    ]
    assert lacks(words, shown) == []


def test_what_keeps_a_number_from_being_used_is_noted(tmp_path: Path) -> None:
    found = notes(
        run(
            tmp_path,
            subset={"told": {"of": 300, "chosen": 10, "how": ["limit"]}},
            unfinished={"told": {"made": 10, "of": 40}},
            findings=[{"kind": "failed", "cause": "the server was busy"}],
        )
    )
    words = [
        "unfinished: 10 of 40 ",
        "subset: 10 of 300 samples (chosen by limit)",
        "failed: the server was busy",
    ]
    assert [word in note for word, note in zip(words, found, strict=True)] == [True] * 3


def test_a_run_that_was_told_what_references_say_has_a_note_of_it(
    tmp_path: Path,
) -> None:
    (note,) = notes(run(tmp_path, uses_reference=["told"]))
    assert ("reference information" in note, "told" in note) == (True, True)


def test_a_note_names_the_tasks_that_do_not_compare_where_others_do(
    tmp_path: Path,
) -> None:
    (note,) = notes(run(tmp_path, not_comparable=["other"]))
    assert (
        "other," in note,
        notes(run(tmp_path, not_comparable=["told", "other"])),
    ) == (True, [])
