from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.findings.finding import Finding, Kind
from mmeval.run.losses import lost_answers
from mmeval.run.options import RunCounts
from mmeval.run.outcome import is_tolerated, last_line, with_severities
from mmeval.run.progress import RunTally
from tests.support.outcomes import outcome, task


@pytest.mark.parametrize(
    ("kind", "remedy"), [("server", "AGAIN"), ("too_long", ""), ("bad_request", "")]
)
def test_asking_again_is_advised_only_where_it_can_help(kind: str, remedy: str) -> None:
    tally = RunTally(failed=Counter({kind: 2}))
    (found,) = lost_answers(tally, "AGAIN")
    assert (found.subject.name, found.count, found.remedy) == (kind, 2, remedy)


@pytest.mark.parametrize(
    ("failed", "unscored", "limit", "tolerated"),
    [
        (0, 0, 0, True),
        (1, 0, 0, False),
        (0, 1, 0, False),
        (1, 1, 2, True),
        (2, 1, 2, False),
    ],
)
def test_a_number_or_a_share_of_lost_trials_is_tolerated(
    failed: int, unscored: int, limit: float, tolerated: bool
) -> None:
    counts = RunCounts(new=20 - failed, failed=failed, unscored=unscored)
    assert is_tolerated(counts, limit) is tolerated


def test_a_run_that_could_ask_nothing_is_not_tolerated() -> None:
    assert not is_tolerated(RunCounts(unsupported=2), 5)


def test_a_share_tolerates_just_so_many_of_a_hundred() -> None:
    for percent in range(1, 100):
        counts = [RunCounts(new=100, unscored=lost) for lost in (percent, percent + 1)]
        found = [is_tolerated(each, percent / 100) for each in counts]
        assert found == [True, False], percent


@pytest.mark.parametrize(
    ("kind", "tolerated", "severity"),
    [
        ("failed", True, "warning"),
        ("failed", False, "error"),
        ("unsupported", False, "warning"),
        ("suspended", True, "error"),
    ],
)
def test_what_is_lost_is_an_error_unless_it_is_tolerated(
    kind: Kind, tolerated: bool, severity: str
) -> None:
    finding = Finding(kind, severity="error")
    (found,) = with_severities([finding], RunCounts(new=1), tolerated=tolerated)
    assert found.severity == severity


def test_the_last_line_counts_what_is_wrong_by_kind() -> None:
    findings = (
        Finding("failed", count=2, severity="error"),
        Finding("bad_sample", severity="error"),
        Finding("unsupported", count=8),
    )
    made = outcome(Path("runs"), tasks=(task("a"),), findings=findings)
    assert (
        last_line(replace(made, exit_code=3))
        == "exit code 3: failed 2, bad sample 1; see above"
    )


def test_a_run_without_errors_has_no_last_line() -> None:
    assert last_line(outcome(Path("runs"), tasks=(task("a"),))) == ""
