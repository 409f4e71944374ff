from pathlib import Path
from typing import Any

import pytest

from mmeval.report.page.summary import notes, sentences
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run

NUMBER = {"task": "told", "metric": "right", "value": 0.5, "n": 10, "scored": 10}


def run(tmp_path: Path, *, asked: int = 10, number: dict[str, Any] | None = None, **ours: Any) -> StoredRun:
    told = [Told([text("a")], [text("b")])] * asked
    results = {"results": [{**NUMBER, **(number or {})}], **ours}
    return StoredRun(write_run(tmp_path / "run", told, results=results, config={"task_alias": "Told"}))


def said(tmp_path: Path, **more: Any) -> str:
    return " ".join(sentences(run(tmp_path, **more), {}))


def test_it_says_who_was_asked_what(tmp_path: Path) -> None:
    assert said(tmp_path).startswith("teller (backend reference) was asked 10 samples of Told, by the protocol single.")


def test_it_says_how_sure_a_number_is(tmp_path: Path) -> None:
    assert (
        "told: right is 0.5000; with 95 % confidence it lies between 0.2000 and 0.8000, from 10 independent groups of "
        "trials." in said(tmp_path, number={"ci95": [0.2, 0.8], "clusters": 10})
    )


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ({}, "All 10 trials were scored by every metric."),
        (
            {"scored": 9, "failed": 1},
            "9 of 10 trials were scored by every metric; 1 failed. None of these counts as zero.",
        ),
        ({"scored": 8, "unscored": 2}, "8 of 10 trials were scored by every metric; 2 could not be scored."),
        (
            {"scored": 0, "value": None, "unsupported": 10},
            "10 could not be asked, because the model does not take or give",
        ),
        ({"value": None, "scored": 0, "unscored": 10}, "right has no value."),
        ({"scored": 4, "inapplicable": 6}, "All 10 trials were scored by every metric that applies to the answer."),
        ({"value": None, "scored": 0, "inapplicable": 10}, "right has nothing to score."),
        ({"value": None, "suspended": True}, "right has no value, as scoring was suspended."),
        ({"scored": 9, "failed": 1, "bounds": [0.45, 0.55]}, "could move it to between 0.4500 and 0.5500."),
    ],
    ids=["all", "failed", "unscored", "unsupported", "no value", "some", "none", "suspended", "bounds"],
)
def test_it_says_what_stands_behind_a_number(number: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert words in said(tmp_path, number=number)


def test_a_metric_that_the_whole_task_lacks_takes_no_trial_from_the_others(tmp_path: Path) -> None:
    lacks = {**NUMBER, "metric": "quality", "value": None, "scored": 0, "unavailable": 8, "unsupported": 2}
    both = [{**NUMBER, "scored": 8, "unsupported": 2}, lacks]
    found = run(tmp_path, results=both)
    words = " ".join(sentences(found, {}))
    assert "8 of 10 trials were scored by every metric but quality, which cannot be computed here; 2 could not" in words


def test_an_unfinished_run_says_how_far_it_is(tmp_path: Path) -> None:
    found = StoredRun(write_run(tmp_path / "a run", [Told([text("a")], [text("b")])]))
    words = " ".join(sentences(found, {"scored": 16, "failed": 2, "unscored": 6}))
    assert "24 trials were made, 16 of them scored, 2 failed." in words
    assert f"mmeval score '{tmp_path / 'a run'}'" in words


def test_it_says_who_judged_and_what_was_spent(tmp_path: Path) -> None:
    words = said(
        tmp_path,
        judges={"told": [{"role": "judge", "asked": "j", "served": "j-2026"}]},
        spent={"usd": 0.305, "calls": 1203, "input_tokens": 84210, "output_tokens": 9120, "images": 0},
    )
    assert "The judge was j-2026." in words
    assert "Spent in this run folder: 1,203 calls, 84,210 tokens in and 9,120 out; 0.30 USD." in words


def test_what_keeps_a_number_from_being_used_is_noted(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        not_comparable=["told"],
        subset={"told": {"of": 300, "chosen": 10, "how": ["limit"]}},
        unfinished={"told": {"made": 10, "of": 40}},
        complaints=["1 trial failed"],
    )
    assert notes(found) == [
        "Not comparable with published numbers: told, asked on the few samples that ship with the task.",
        "told is unfinished: 10 of 40 trials were made.",
        "told is a subset: 10 of 300 samples (chosen by limit).",
        "1 trial failed",
    ]
