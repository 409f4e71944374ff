"""Ratings of answers that a run has replaced say nothing about it."""

import shutil
from pathlib import Path

import pytest

from mmeval.results.stored_run import StoredRun
from mmeval.trust.rated_answers import ratings_of_kept_answers, warn_of_strangers
from mmeval.trust.records import Rating, ScoreRow
from tests.support.annotation import asked, run_to_rate, served
from tests.support.cli import mmeval

METRIC = {"outputs": ["polite_metric"], "range": [0, 1], "version": "1"}
METRICS = {"greeting": {"polite_metric": METRIC}}


def rated(run: Path, ask: Path, count: int) -> list[Rating]:
    """Ratings of answers of a run, as the page for raters keeps them."""
    with served(run, ask=ask, raters=("ann",)) as session:
        for _ in range(count):
            session.rater("ann").rate(1)
        return session.ratings


def kept(ratings: list[Rating], run: Path) -> list[Rating]:
    return ratings_of_kept_answers(ratings, {"": StoredRun(run)})


def test_ratings_of_the_answers_of_a_run_are_kept(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 3)
    ratings = rated(run, asked(tmp_path), 3)
    assert kept(ratings, run) == ratings


def test_ratings_of_earlier_answers_are_left_out(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 3)
    ratings = rated(run, asked(tmp_path), 3)
    changed = run_to_rate(tmp_path / "changed", 3, answer="Goodbye")
    assert kept(ratings, changed) == []


def test_ratings_without_a_digest_are_kept(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 3)
    ratings = [Rating("greeting/guest-0/0", "ann", 1.0)]
    assert kept(ratings, run) == ratings


def test_a_correction_rests_on_no_rating_of_an_earlier_answer(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 24)
    rated(run, asked(tmp_path), 24)
    ratings = tmp_path / "run/ratings/people/ratings.jsonl"
    shutil.copy(ratings, tmp_path / "people.jsonl")
    shutil.rmtree(run)
    run_to_rate(
        run,
        24,
        answer="Goodbye",
        results={"metrics": METRICS},
    )
    flags = ("--ratings", tmp_path / "people.jsonl", "--metric", "polite_metric")
    ended = mmeval("calibrate", run, *flags)
    assert "not corrected: fewer than 20 ratings" in ended.out
    assert "ratings of answers that have changed, left out: 24" in ended.err


def test_names_of_another_form_are_said_with_an_example_of_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ratings = [Rating("greeting-0", "ann", 1.0)]
    warn_of_strangers(ratings, [ScoreRow("greeting/0/0", "judge", 0.5)])
    assert "'greeting-0'" in caplog.text
    assert "'greeting/0/0'" in caplog.text


def test_nothing_is_said_if_any_rated_trial_has_a_score(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ratings = [Rating("a", "ann", 1.0), Rating("b", "ann", 1.0)]
    warn_of_strangers(ratings, [ScoreRow("b", "judge", 0.5)])
    assert not caplog.text
