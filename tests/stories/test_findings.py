"""A fault is the same finding wherever it is shown."""

from pathlib import Path

import pytest

from mmeval.findings.finding import Finding
from tests.support.faults import DOORS, NO_JUDGE, TEN, TWO, Fault, scene, task_text

FAULTS: dict[str, Fault] = {
    **TEN,
    "fewer rows than the task file states": Fault(
        "subset", files={"t.yaml": f"{task_text('t', 'rows')}expected: {{rows: 5}}\n"}
    ),
    "weights by hand": Fault("missing_weights", "  - metric: lpips\n"),
    "a number that is made of a missing one": Fault(
        "missing_role", f"{NO_JUDGE}  - metric: overall\n    of: [judge_yes_no]\n"
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_door_has_the_same_findings(name: str, tmp_path: Path) -> None:
    with scene(tmp_path, FAULTS[name]) as here:
        expected = here.findings("check")
        found = {door: here.findings(door, expected) for door in DOORS}
    assert FAULTS[name].kind in {finding.kind for finding in expected}
    assert found == dict.fromkeys(DOORS, expected)


def test_a_damaged_line_that_was_asked_again_is_found_at_no_door(
    tmp_path: Path,
) -> None:
    with scene(tmp_path, TEN["a damaged journal"]) as here:
        assert here.findings("check")
        here.run()
        here.score()
        found = {door: here.of_kind(door) for door in DOORS}
        report = here.command("report", here.run_folder)
    assert found == {door: list[Finding]() for door in DOORS}
    assert (report.code, "journal/" in report.err) == (0, False)


def test_a_budget_that_is_used_up_by_the_last_call_is_no_finding(
    tmp_path: Path,
) -> None:
    answered = Fault("budget", model="openai", answers=(TWO,), flags="--budget_calls 1")
    with scene(tmp_path, answered) as here:
        found = {door: here.findings(door) for door in DOORS}
    assert not any(found.values()), found


def test_data_that_lack_rows_are_stated_before_a_run_whose_flags_choose_samples(
    tmp_path: Path,
) -> None:
    with scene(tmp_path, FAULTS["fewer rows than the task file states"]) as here:
        whole = here.run()
        limited = here.run("--limit", "1")
    words = "the data have fewer samples than the task file expects"
    stated = [" ".join(done.err.split()).count(words) for done in (whole, limited)]
    assert stated == [0, 1]


def test_a_run_that_scores_nothing_lacks_no_judge(tmp_path: Path) -> None:
    fault = Fault("missing_role", NO_JUDGE, flags="--predict_only")
    with scene(tmp_path, fault) as here:
        assert [finding.kind for finding in here.findings("run")] == ["unscored"]
