import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mmeval.dataset.sampling import Subset
from mmeval.errors import StorageError, UsageError
from mmeval.report.results_file import results_document, write_results
from mmeval.settings.report_options import ReportContext, refuse_taken
from mmeval.task.task import Group, GroupMetric
from tests.support.lm_eval_reader import Number, read_numbers
from tests.support.outcomes import outcome, result, task

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 5)
CONTEXT = ReportContext("openai", {"model": "m", "api_key": "sk-1"}, limit=5, metadata={"note": "nightly"})
GROUP = Group("g", "The group", ("a", "b"), (GroupMetric("half"),), version="3")


def document(folder: Path, *results: Any, **more: Any) -> dict[str, Any]:
    made = outcome(folder, *results, tasks=(task("a"), task("b", comparable=False)), groups=(GROUP,), **more)
    whole: dict[str, Any] = json.loads(json.dumps(results_document(made, CONTEXT, {"a": "hash"}), allow_nan=False))
    return whole


def test_a_reader_of_the_layout_finds_every_number(tmp_path: Path) -> None:
    made = document(tmp_path, result("a", 0.25), result("b", None, unavailable=10), result("g", 0.4, stderr=None))
    assert read_numbers(made) == [
        Number("a", "half", "none", 0.25, 0.1, "1.0", True),
        Number("b", "half", "none", None, None, "1.0", True),
        Number("g", "half", "none", 0.4, None, "3", True),
    ]
    assert [number.task for number in read_numbers(made, "groups")] == ["g"]


def test_the_harness_itself_prints_our_file(tmp_path: Path) -> None:
    make_table = pytest.importorskip("lm_eval.utils").make_table
    made = document(tmp_path, result("a", 0.25), result("b", None, unavailable=10), result("g", 0.4, stderr=None))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in make_table(made).splitlines()[2:]]
    assert [(line[0], line[4], line[5]) for line in lines] == [
        ("The group", "half", "↑"),
        ("- a", "half", "↑"),
        ("- b", "half", "↑"),
    ]
    assert [float(line[6] or "nan") for line in lines[:2]] == [0.4, 0.25]
    assert (lines[2][6], lines[2][8]) == ("", "N/A")
    assert "The group" in make_table(made, "groups")


def test_what_the_layout_has_no_place_for_stands_beside_it(tmp_path: Path) -> None:
    lost = result("a", failed=2, unscored=1, bounds=(0.35, 0.65), ci95=(0.3, 0.7))
    ours = document(tmp_path, lost, result("a", slice="level=hard"))["mmeval"]
    whole, part = ours["results"]
    assert (whole["n"], whole["scored"], whole["failed"], whole["unscored"]) == (10, 7, 2, 1)
    assert (whole["bounds"], whole["ci95"], part["slice"]) == ([0.35, 0.65], [0.3, 0.7], "level=hard")
    assert ours["not_comparable"] == ["b"]
    assert ours["metrics"]["a"]["half"]["version"] == "2"
    assert ours["counts"]["new"] == 9


def test_a_subset_is_described(tmp_path: Path) -> None:
    subset = Subset(31026, 3000, ("limit", "stratify"))
    ours = document(tmp_path, result("a"), subsets={"a": subset})["mmeval"]
    assert ours["subset"] == {"a": {"of": 31026, "chosen": 3000, "how": ["limit", "stratify"]}}


def test_which_trials_of_the_folder_were_asked_is_said_in_stretches(tmp_path: Path) -> None:
    def chosen(index: int, repeat: int) -> bool:
        return index in (0, 1, 2, 5)

    ours = document(tmp_path, result("a"), subsets={"a": Subset(10, 4, ("limit",))}, chosen={"a": chosen})["mmeval"]
    assert ours["asked"]["a"] == {"repeats": 1, "samples": [[0, 2], [5, 5]]}
    assert ours["asked"]["b"]["samples"] is None


def test_the_number_of_resamples_is_recorded_for_the_run_and_for_each_number(tmp_path: Path) -> None:
    made = outcome(tmp_path, result("a", bootstrap_iters=200), tasks=(task("a"),))
    written = results_document(made, replace(CONTEXT, bootstrap_iters=500), {})
    assert (written["config"]["bootstrap_iters"], written["mmeval"]["results"][0]["bootstrap_iters"]) == (500, 200)


def test_a_number_that_is_suspended_is_null_for_every_reader(tmp_path: Path) -> None:
    made = document(tmp_path, result("a", None, suspended=True, unscored=4, bounds=(0.3, 0.7)))
    assert (made["results"]["a"]["half,none"], made["results"]["a"]["half_stderr,none"]) == (None, "N/A")
    assert made["mmeval"]["results"][0]["suspended"] is True


def test_slices_do_not_replace_the_whole(tmp_path: Path) -> None:
    made = document(tmp_path, result("a", 0.25), result("a", 0.75, slice="level=hard"))
    assert made["results"]["a"]["half,none"] == 0.25


def test_samples_are_counted_in_the_data_set_and_in_the_run(tmp_path: Path) -> None:
    made = document(tmp_path, result("a", n=4), result("b", n=0))
    assert made["n-samples"] == {"a": {"original": 10, "effective": 4}, "b": {"original": 10, "effective": 0}}


def test_the_settings_are_recorded_without_secrets_and_with_the_users_own_words(tmp_path: Path) -> None:
    config = document(tmp_path)["config"]
    assert config["model_args"] == "model=m,api_key=***"
    assert (config["limit"], config["note"], config["random_seed"]) == (5, "nightly", 0)


def test_secrets_among_the_users_own_words_are_hidden(tmp_path: Path) -> None:
    context = ReportContext("m", metadata={"team": {"api_key": "sk-1"}})
    made = results_document(outcome(tmp_path, tasks=(task("a"),)), context, {})
    assert made["config"]["team"] == {"api_key": "***"}


def test_the_users_own_words_cannot_replace_what_the_file_says_of_the_run() -> None:
    refuse_taken({"note": "x"}, "--metadata")
    with pytest.raises(UsageError, match="--metadata: the results' config has limit, model of its own"):
        refuse_taken({"model": "gpt-9", "limit": 1, "note": "x"}, "--metadata")


def test_a_report_opens_no_data_set(tmp_path: Path) -> None:
    def gone() -> NoReturn:
        raise AssertionError("opened")

    made = outcome(tmp_path, result("a", n=4), tasks=(replace(task("a"), dataset=gone),))
    assert results_document(made, CONTEXT, {})["n-samples"] == {"a": {"original": 10, "effective": 4}}


def test_each_task_has_its_own_profile(tmp_path: Path) -> None:
    official = replace(task("b"), config={"profile": "official"})
    made = results_document(outcome(tmp_path, tasks=(task("a"), official)), CONTEXT, {})
    assert {name: config["profile"] for name, config in made["configs"].items()} == {"a": "standard", "b": "official"}


def test_a_system_instruction_is_recorded_with_its_hash(tmp_path: Path) -> None:
    context = ReportContext("m", system_instruction="be brief")
    made = results_document(outcome(tmp_path, tasks=(task("a"),)), context, {})
    assert made["system_instruction"] == "be brief"
    assert made["system_instruction_sha"] == "b0d336336bae9756708102764ccc977778d8c408df38d7050d69f9e4d22c9a43"


def test_the_file_is_named_by_its_time(tmp_path: Path) -> None:
    written = write_results(outcome(tmp_path, tasks=(task("a"),)), CONTEXT, moment=MOMENT)
    assert written == tmp_path / "results_2026-01-31T12-00-00.000005.json"
    assert json.loads(written.read_text())["model_name_sanitized"] == "org__model"


def test_the_context_may_put_it_elsewhere_under_another_name(tmp_path: Path) -> None:
    context = ReportContext("m", stem="mine", folder=tmp_path / "here")
    written = write_results(outcome(tmp_path, tasks=(task("a"),)), context, moment=MOMENT)
    assert written == tmp_path / "here" / "mine_2026-01-31T12-00-00.000005.json"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "results_2026-01-31T12-00-00.000005.json").mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        write_results(outcome(tmp_path, tasks=(task("a"),)), CONTEXT, moment=MOMENT)
