from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.metric.model_files_error import WeightsError
from mmeval.records.sample import Sample
from mmeval.results.task_results import Unscored
from mmeval.run.complaints import lost_complaints, most_frequent, unasked_complaints
from mmeval.run.options import RunCounts
from mmeval.run.outcome import exit_code, last_line
from mmeval.run.progress import RunTally
from tests.support.outcomes import outcome


def test_asking_again_is_advised_only_where_it_can_help() -> None:
    for failed, advice in (
        ({"server": 2}, (True, False, False)),
        ({"too_long": 2}, (False, True, False)),
        ({"server": 2, "bad_request": 1}, (True, True, True)),
    ):
        (complaint,) = lost_complaints(RunTally(failed=Counter(failed)), again="AGAIN")
        found = complaint.partition("); ")[2]
        assert ("AGAIN" in found, "corrected" in found, " 1 " in found) == advice


def test_samples_that_cannot_be_asked_are_named_apart_from_what_failed() -> None:
    tally = RunTally(failed=Counter(bad_sample=2, server=1))
    tally.bad.add("ask", Sample("s1", (), fault="row 2: torn"), repeats=2)
    bad, named, failed = lost_complaints(tally, again="the same command")
    assert (bad.startswith("1 sample (2 trials) "), failed.startswith("1 trial failed (server 1)")) == (True, True)
    assert named == "ask: sample 's1': row 2: torn"


def test_that_no_trial_can_be_asked_is_a_complaint() -> None:
    (complaint,) = unasked_complaints(RunCounts(unsupported=6))
    assert " 6 " in complaint
    (single,) = unasked_complaints(RunCounts(unsupported=1))
    assert " 6 " not in single
    for other in ({"unsupported": 0}, {"kept": 1}, {"new": 1}, {"failed": 1}):
        assert list(unasked_complaints(RunCounts(**{"unsupported": 6, **other}))) == []


@pytest.mark.parametrize(
    ("counts", "code", "why"),
    [
        (RunCounts(new=4, failed=1, unscored=2), 3, "1 trial failed, 2 "),
        (RunCounts(unsupported=2), 3, "asked"),
        (RunCounts(new=4), 3, "suspended"),
        (RunCounts(new=4), 2, "error: row 3"),
        (RunCounts(new=4, failed=1), 0, ""),
    ],
    ids=["lost", "unsupported", "suspended", "an error", "tolerated"],
)
def test_the_last_line_gives_the_reason(counts: RunCounts, code: int, why: str, tmp_path: Path) -> None:
    made = replace(outcome(tmp_path, tasks=()), counts=counts, exit_code=code, error="row 3" if code == 2 else "")
    assert why in last_line(made) and bool(last_line(made)) == bool(code)


def test_the_exit_code_depends_on_whether_more_was_lost_than_tolerated() -> None:
    assert exit_code(RunCounts(unsupported=2), 5) == 3
    cases = [(0, 0, 0, 0), (1, 0, 0, 3), (0, 1, 0, 3), (1, 1, 2, 0), (2, 1, 2, 3), (3, 0, 0.1, 3), (0, 20, 0.999, 3)]
    for failed, unscored, tolerated, code in cases:
        assert exit_code(RunCounts(new=20 - failed, failed=failed, unscored=unscored), tolerated) == code


def test_a_share_tolerates_just_so_many_of_a_hundred() -> None:
    for percent in range(1, 100):
        counts = [RunCounts(new=100, unscored=lost) for lost in (percent, percent + 1)]
        assert [exit_code(each, percent / 100) for each in counts] == [0, 3], percent


def test_reasons_that_differ_in_what_they_quote_are_one() -> None:
    for reasons, text in (
        (["no 'mock 12'", "no 'mock 34...", "no ''"], " (for example, no 'mock 12')"),
        *((["gone", "gone"], " (gone)"), (["open", "close"], " (1 of them: open)")),
        *((["x" * 500], f" ({'x' * 200}...)"), ([], "")),
    ):
        assert most_frequent(Counter(Unscored(reason, "lost") for reason in reasons)) == text


def test_what_to_do_about_the_files_of_a_model_is_not_cut_off(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    error = WeightsError(tmp_path, f"cannot be loaded: model.safetensors is damaged ({'header ' * 40})")
    text = most_frequent(Counter([Unscored(f"WeightsError: {error.of_hub('me/scorer')}", "lost")]))
    assert "model me/scorer" in text
    assert f"...; delete {tmp_path / 'model.safetensors'}, then run: " in text
