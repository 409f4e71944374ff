from typing import Any

import pytest

from mmeval.report.layouts.cells import RunNumbers, StatedNumbers, tau_of
from mmeval.results.published import NumberKey, NumberKind, TableNumber
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import document, result

HALF: dict[str, Any] = {"value": 0.5, "n": 4, "scored": 2, "unsupported": 2}


class _Run(StoredRun):
    """A run that is only a results file."""

    def __init__(self, *results: dict[str, Any], **ours: Any) -> None:
        self.results = document(*results, **ours)


def cell(
    run: StoredRun, kind: NumberKind = "absolute", task: str = "a"
) -> tuple[str, float | None]:
    content = RunNumbers(run).of(NumberKey(task, "m", kind=kind))
    return content.state, content.value


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"value": 0.5}, ("known", 0.5)),
        ({"value": None, "scored": 0, "failed": 4}, ("lost", None)),
        ({"value": None, "scored": 0, "unavailable": 4}, ("lost", None)),
        ({"value": 0.5, "suspended": True}, ("lost", None)),
        ({"value": None, "scored": 0, "unsupported": 4}, ("cannot", None)),
        ({"value": None, "scored": 0, "inapplicable": 4}, ("cannot", None)),
    ],
    ids=["known", "failed", "unavailable", "suspended", "unsupported", "nothing"],
)
def test_the_state_of_a_number_follows_from_its_counts(
    fields: dict[str, Any], expected: tuple[str, float | None]
) -> None:
    assert cell(_Run(result("a", **fields))) == expected


def test_a_number_that_a_run_lacks_is_absent() -> None:
    assert cell(_Run(result("b"))) == ("absent", None)


def test_a_task_without_data_is_lost() -> None:
    assert cell(_Run(result("b"), left_out={"a": "no data"})) == ("lost", None)


def test_the_reason_of_an_unavailable_number_is_that_of_its_finding() -> None:
    finding = {
        "kind": "missing_role",
        "subject": {"task": "a", "metric": "rubric", "role": "judge"},
        "cause": "the run has no judge",
    }
    run = _Run(
        result("a", value=None, scored=0, unavailable=4),
        findings=[finding],
        metrics={"a": {"rubric": {"outputs": ["m"]}}},
    )
    content = RunNumbers(run).of(NumberKey("a", "m"))
    assert (content.reason, content.trials) == ("the run has no judge", 4)


def test_tau_is_the_share_of_supported_samples() -> None:
    assert cell(_Run(result("a", **HALF)), "tau") == ("known", 0.5)


def test_tau_leaves_out_faulty_samples() -> None:
    run = _Run(result("a", **HALF, faulty=2))
    found = RunNumbers(run).result(NumberKey("a", "m"))
    assert found is not None
    assert tau_of(found) == 0.0


def test_the_relative_value_is_tau_times_the_value() -> None:
    assert cell(_Run(result("a", **HALF)), "relative") == ("known", 0.25)


def test_the_relative_value_of_a_group_is_the_mean_of_its_members() -> None:
    run = _Run()
    run.results = document(
        result("g", value=0.75, n=8, unsupported=2),
        result("a", **HALF),
        result("b", value=1.0),
        groups={"g": ["a", "b"]},
    )
    assert cell(run, "relative", "g") == ("known", (0.25 + 1.0) / 2)


def test_a_hook_gives_what_no_row_has() -> None:
    key = NumberKey("a", "m", kind="half_width")
    numbers = RunNumbers(_Run(result("a", value=0.5)), [TableNumber(key, 0.1)])
    assert numbers.of(key).value == 0.1
    assert numbers.of(key._replace(kind="absolute")).value == 0.5


def test_tau_is_the_same_for_all_numbers_of_a_task() -> None:
    key = NumberKey("a", "m", kind="tau")
    numbers = StatedNumbers({key: TableNumber(key, 0.5)})
    assert numbers.of(key._replace(metric="other")).value == 0.5


@pytest.mark.parametrize(
    "part, state",
    [("domain=law", "known"), ("domain=art", "cannot"), ("level=1", "absent")],
    ids=["in the data", "not in the data", "not divided by this label"],
)
def test_a_slice_without_samples_is_not_lost(part: str, state: str) -> None:
    run = _Run(result("a"), result("a", value=0.5, slice="domain=law"))
    assert RunNumbers(run).of(NumberKey("a", "m", part)).state == state


def test_a_number_of_a_run_has_its_interval_and_its_samples() -> None:
    run = _Run(result("a", value=0.5, ci95=[0.25, 0.75], n=4, scored=3))
    content = RunNumbers(run).of(NumberKey("a", "m"))
    assert (content.interval, content.n) == ((0.25, 0.75), 3)


def test_a_relative_number_has_no_interval() -> None:
    run = _Run(result("a", **HALF, ci95=[0.25, 0.75]))
    content = RunNumbers(run).of(NumberKey("a", "m", kind="relative"))
    assert content.interval is None
