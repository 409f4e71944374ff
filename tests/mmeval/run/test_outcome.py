from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.metric.model_files_error import WeightsError
from mmeval.records.sample import Sample
from mmeval.results.task_results import Unscored
from mmeval.run.complaints import lost_complaints, most_frequent, unasked_complaints
from mmeval.run.options import RunCounts
from mmeval.run.outcome import last_line
from mmeval.run.progress import RunTally
from tests.support.outcomes import outcome


@pytest.mark.parametrize(
    ("failed", "advice"),
    [
        ({"server": 2}, "the same command asks them again"),
        (
            {"too_long": 2},
            "they fail again when they are asked again, unless what is wrong is corrected; --max_unscored says how "
            "many are tolerated",
        ),
        (
            {"server": 2, "bad_request": 1},
            "the same command asks them again, which helps 1 of them only when what is wrong is corrected",
        ),
    ],
    ids=["of the way", "of the request", "both"],
)
def test_asking_again_is_advised_only_where_it_can_help(failed: dict[str, int], advice: str) -> None:
    (said,) = lost_complaints(RunTally(failed=Counter(failed)), again="the same command")
    assert said.partition("); ")[2] == advice


def test_samples_that_cannot_be_asked_are_told_by_name_apart_from_what_failed() -> None:
    tally = RunTally(failed=Counter(bad_sample=2, server=1))
    tally.bad.add("ask", Sample("s1", (), fault="test.jsonl: row 2: torn"), repeats=2)
    assert list(lost_complaints(tally, again="the same command")) == [
        "1 sample (2 trials) cannot be asked (bad_sample); correct the data, then the same command asks the rest, and "
        "what is answered is kept",
        "ask: sample 's1': test.jsonl: row 2: torn",
        "1 trial failed (server 1); the same command asks them again",
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (RunCounts(unsupported=6), ["none of the 6 trials could be asked, so there is no number: exit code 3"]),
        (RunCounts(unsupported=1), ["the only trial could not be asked, so there is no number: exit code 3"]),
        (RunCounts(unsupported=6, kept=1), []),
        (RunCounts(), []),
    ],
    ids=["several", "one", "one was asked", "no trials"],
)
def test_an_exit_code_for_want_of_trials_that_can_be_asked_has_its_reason(counts: RunCounts, said: list[str]) -> None:
    assert list(unasked_complaints(counts)) == said


@pytest.mark.parametrize(
    ("counts", "code", "said"),
    [
        (RunCounts(new=4, failed=1, unscored=2), 3, "exit code 3: 1 trial failed, 2 unscored; the warnings above say"),
        (RunCounts(unsupported=2), 3, "exit code 3: no trial could be asked; the warnings above say"),
        (RunCounts(new=4), 3, "exit code 3: scoring was suspended; the warnings above say"),
        (RunCounts(new=4), 2, "error: row 3 is no JSON"),
        (RunCounts(new=4, failed=1), 0, ""),
    ],
    ids=["lost", "unsupported", "suspended", "an error", "tolerated"],
)
def test_the_last_line_of_a_run_that_is_not_whole_says_why(
    counts: RunCounts, code: int, said: str, tmp_path: Path
) -> None:
    error = "row 3 is no JSON" if code == 2 else ""
    made = replace(outcome(tmp_path, tasks=()), counts=counts, exit_code=code, error=error)
    assert last_line(made).partition(" why, and what to do")[0] == said


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["no 'mock 12'", "no 'mock 34...", "no ''"], " (for example, no 'mock 12')"),
        (["gone", "gone"], " (gone)"),
        (["it doesn't open", "it doesn't close"], " (1 of them: it doesn't open)"),
        ([], ""),
    ],
    ids=["other words quoted", "the same", "other reasons", "none"],
)
def test_reasons_that_differ_in_what_they_quote_are_one(reasons: list[str], said: str) -> None:
    assert most_frequent(Counter(Unscored(reason, "lost") for reason in reasons)) == said


def test_what_to_do_about_the_files_of_a_model_is_not_cut_off(tmp_path: Path) -> None:
    fault = f"cannot be loaded: model.safetensors is damaged ({'header ' * 40})"
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    error = WeightsError(tmp_path, fault).of_hub("me/scorer")
    said = most_frequent(Counter([Unscored(f"WeightsError: {error}", "lost")]))
    assert "model me/scorer" in said
    assert said.endswith(
        f"...; delete {tmp_path / 'model.safetensors'}, then run: mmeval prepare TASK --weights; or name another model)"
    )


def test_the_cut_is_at_the_end_of_every_other_reason() -> None:
    assert most_frequent(Counter([Unscored("x" * 500, "final")])) == f" ({'x' * 200}...)"
