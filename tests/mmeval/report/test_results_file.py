import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NoReturn

import pytest

from mmeval.dataset.sampling import Subset
from mmeval.errors import StorageError, UsageError
from mmeval.findings.finding import Finding
from mmeval.records.score import Result
from mmeval.report.results_file import write_results
from mmeval.settings.report_options import refuse_taken
from mmeval.task.task import CombinedNumber
from tests.support.outcomes import (
    CONTEXT,
    NO_JUDGE,
    TASKS,
    THREE,
    document,
    outcome,
    result,
)
from tests.support.readers import Number, read_numbers

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 5)


def test_a_reader_of_the_layout_finds_every_number_and_the_rest_stands_beside_it() -> (
    None
):
    made = document(*THREE)
    assert read_numbers(made) == [
        Number("a", "half", "none", 0.25, 0.1, "1.0", True),
        Number("b", "half", "none", None, None, "1.0", True),
        Number("g", "half", "none", 0.4, None, "3", True),
    ]
    assert [number.task for number in read_numbers(made, "groups")] == ["g"]
    lost = result(
        "a",
        failed=2,
        unscored=1,
        bounds=(0.35, 0.65),
        ci95=(0.3, 0.7),
        bounds_ci95=(0.2, 0.8),
        slice="level=hard",
    )
    ours = document(lost)["mmeval"]
    assert [*map(Result.from_json, ours["results"])] == [lost]
    assert (ours["not_comparable"], ours["counts"]["new"]) == (["b"], 9)
    metric = ours["metrics"]["a"]["half"]
    made_of = {"version": "2", "range": [0, 1], "outputs": ["half"], "judged": False}
    assert made_of.items() <= metric.items()


def test_tasks_that_use_the_reference_are_named_and_what_a_metric_lacks_is_a_finding() -> (
    None
):
    told = (replace(TASKS[0], uses_reference=True), TASKS[1])
    marked = [
        document(result("a"), tasks=own)["mmeval"]["uses_reference"]
        for own in (TASKS, told)
    ]
    assert marked == [[], ["a"]]
    lacks = replace(TASKS[0].metrics[0], lacks=(NO_JUDGE,))
    judged = document(
        result("a"), tasks=(replace(TASKS[0], metrics=(lacks,)), TASKS[1])
    )["mmeval"]
    (found,) = map(Finding.from_json, judged["findings"])
    subject = replace(NO_JUDGE.subject, task="a")
    assert found == replace(NO_JUDGE, subject=subject)


@pytest.mark.parametrize(
    ("missing", "status", "without"),
    [
        ("skip", "inapplicable", ["y"]),
        ("inapplicable", "inapplicable", []),
        ("inapplicable", "unsupported", ["y"]),
    ],
)
def test_a_number_that_leaves_out_what_does_not_apply_is_not_without_it(
    missing: Literal["skip", "inapplicable"], status: str, without: list[str]
) -> None:
    made = replace(
        TASKS[0],
        numbers=(CombinedNumber("mean", ("half", "y"), (0, 1), missing=missing),),
    )
    parts = (
        result("a"),
        result("a", None, metric="y", **{status: 10}),
        result("a", metric="mean", weights={"half": 1.0}),
    )
    ours = document(*parts, tasks=(made, TASKS[1]))["mmeval"]
    assert [*ours["metrics"]["a"]["mean"]["without"]] == without


def test_a_subset_and_which_samples_were_asked_are_described_without_opening_the_data_set() -> (
    None
):
    subset = Subset(10, 4, ("limit", "stratify"))
    chosen = {"a": lambda index, repeat: index in (0, 1, 2, 5)}
    ours = document(result("a"), subsets={"a": subset}, chosen=chosen)["mmeval"]
    assert ours["subset"] == {
        "a": {"of": 10, "chosen": 4, "how": ["limit", "stratify"]}
    }
    assert ours["asked"]["a"] == {"repeats": 1, "samples": [[0, 2], [5, 5]]}
    assert ours["asked"]["b"]["samples"] is None

    def gone() -> NoReturn:
        raise AssertionError("opened")

    made = document(
        result("a", n=4),
        result("b", n=0),
        tasks=(replace(TASKS[0], dataset=gone), TASKS[1]),
    )
    assert made["n-samples"] == {
        "a": {"original": 10, "effective": 4},
        "b": {"original": 10, "effective": 0},
    }


def test_settings_are_recorded_without_secrets_and_the_users_words_cannot_replace_them() -> (
    None
):
    config = document(context=replace(CONTEXT, bootstrap_iters=500))["config"]
    expected = {
        "model_args": "model=m,api_key=***",
        "limit": 5,
        "note": "nightly",
        "random_seed": 0,
        "team": {"api_key": "***"},
        "bootstrap_iters": 500,
    }
    assert expected.items() <= config.items()
    refuse_taken({"note": "x"}, "--metadata")
    with pytest.raises(UsageError, match=r"--metadata: .* limit, model;"):
        refuse_taken({"model": "gpt-9", "limit": 1, "note": "x"}, "--metadata")


def test_the_file_is_named_by_its_time_and_lies_where_the_context_puts_it(
    tmp_path: Path,
) -> None:
    for context, path in (
        (CONTEXT, "results"),
        (replace(CONTEXT, stem="mine", folder=tmp_path / "here"), "here/mine"),
    ):
        written = write_results(outcome(tmp_path, tasks=TASKS), context, moment=MOMENT)
        assert written == tmp_path / f"{path}_2026-01-31T12-00-00.000005.json"
    assert json.loads(written.read_text())["model_name_sanitized"] == "org__model"
    written.unlink()
    written.mkdir()
    with pytest.raises(StorageError, match="mine_2026-01-31T"):
        write_results(outcome(tmp_path, tasks=TASKS), context, moment=MOMENT)
