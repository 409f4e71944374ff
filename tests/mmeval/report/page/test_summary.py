from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.finding import Finding, Subject
from mmeval.report.page.index import SampleCounts
from mmeval.report.page.summary import in_words, lead, notes
from mmeval.results.stored_run import StoredRun
from tests.support.outcomes import NO_JUDGE
from tests.support.stored_runs import WrittenTrial, text, write_run

TRIAL = WrittenTrial([text("a")], [text("b")])
NUMBER = {"task": "told", "metric": "right", "value": 0.5, "n": 10, "scored": 10}


def run(tmp_path: Path, **ours: Any) -> StoredRun:
    """A run of ten trials."""
    results = {"results": [NUMBER], **ours}
    return StoredRun(write_run(tmp_path / "run", [TRIAL] * 10, results=results))


ALL = SampleCounts(10, 10, 10)
FOREIGN = "no number is comparable with published numbers."


@pytest.mark.parametrize(
    ("asked", "tally", "ours", "words"),
    [
        (
            ALL,
            {"scored": 10},
            {},
            "teller was run on told (samples: 10); no judge was called.",
        ),
        (
            SampleCounts(10, 10, 40),
            {"scored": 40},
            {},
            "(samples: 10, trials with repeats: 40); ",
        ),
        (
            SampleCounts(3, 10, 3),
            {"unsupported": 7, "scored": 3},
            {},
            "(samples: 3 of 10)",
        ),
        (
            SampleCounts(9, 10, 9),
            {"failed": 1, "scored": 9},
            {},
            "(samples: 9 of 10)",
        ),
        (
            SampleCounts(0, 10, 0),
            {"unsupported": 10, "uncounted": 2},
            {},
            "(samples: 0 of 10)",
        ),
        (
            ALL,
            {},
            {"judges": {"told": [{"role": "judge", "asked": "j", "served": "j-26"}]}},
            "; the judge was j-26.",
        ),
        (ALL, {}, {"not_comparable": ["told"]}, f"no judge was called and {FOREIGN}"),
    ],
    ids=["all", "repeats", "unsupported", "bad samples", "none", "judge", "bundled"],
)
def test_one_sentence_has_what_was_really_asked_of_whom(
    asked: SampleCounts,
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
    tally = {"scored": 16, "failed": 2, "unscored": 6}
    shown = " ".join(lead(found, tally, SampleCounts(24, 24, 24)))
    assert "Trials: 24 made, 16 scored, 2 failed." in shown
    assert f"mmeval score '{tmp_path / 'a run'}'" in shown


def test_the_findings_of_a_run_are_noted_but_for_what_was_missing_before_it(
    tmp_path: Path,
) -> None:
    failed = Finding("failed", Subject("told"), 1, 10, cause="the server was busy")
    subset = Finding("subset", Subject("told"), 10, 300, severity="note")
    rows = [one.to_json() for one in (failed, subset, NO_JUDGE)]
    found = notes(run(tmp_path, findings=rows))
    assert found == [*in_words([failed, subset])]


def test_a_run_that_was_told_what_references_say_has_a_note_of_it(
    tmp_path: Path,
) -> None:
    (note,) = notes(run(tmp_path, uses_reference=["told"]))
    assert "reference information" in note
    assert "told" in note


def test_what_the_first_sentence_states_of_all_tasks_is_no_note(
    tmp_path: Path,
) -> None:
    foreign = Finding("not_comparable", Subject("told"), severity="note")
    of_all = run(tmp_path, not_comparable=["told"], findings=[foreign.to_json()])
    assert notes(of_all) == []


def test_a_note_names_the_tasks_that_do_not_compare_where_others_do(
    tmp_path: Path,
) -> None:
    foreign = Finding("not_comparable", Subject("other"), severity="note")
    of_some = run(tmp_path, not_comparable=["other"], findings=[foreign.to_json()])
    assert notes(of_some) == [*in_words([foreign])]
