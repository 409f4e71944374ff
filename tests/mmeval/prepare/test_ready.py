"""``prepare`` finds what ``check`` finds."""

from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.authoring.task_checks import check
from mmeval.dataset.hub import OutOfReachError
from mmeval.errors import MissingDataError
from mmeval.findings.finding import Finding
from mmeval.prepare.ready import check_data, hub_findings
from mmeval.prepare.sources import HubSource, build_tasks
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.servers import at_hub
from tests.support.task_folder import write_files, write_rows

ROW = {"id": "a", "input": "q", "reference": "r", "gender": "female"}
BY_HAND = "by_hand:\n  - {path: gold, source: a page, note: a form}\n"
PINNED = f"dataset_path: org/absent\nrevision: {'a' * 40}\n"
HEAD = "task: t\nmetadata: {version: 1}\nmetric_list:\n  - metric: exact_match\n"
FAULTS = {
    "no data set": PINNED,
    "a data set without a commit": "dataset_path: org/absent\n",
    "no folder": "dataset_path: ./gone\n",
    "an empty folder": "dataset_path: empty\n",
    "no loader's option": "dataset_path: rows\ndataset_kwargs: {no_option: 1}\n",
    "files by hand": f"dataset_path: ./gone\n{BY_HAND}",
    "a bad row": "dataset_path: bad\n",
    "a missing medium": "dataset_path: torn\n",
    "no weights": "  - metric: speaker_gender\ndataset_path: rows\n",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_data_or_weights_is_the_finding_of_check(
    tmp_path: Path, fault: str
) -> None:
    write_files(tmp_path, {"t.yaml": HEAD + FAULTS[fault], "empty/x": ""})
    write_rows(tmp_path / "rows", ROW)
    write_rows(tmp_path / "bad", ROW, {"id": "b"})
    medium = {"input": "<<image1>>", "media": {"image1": {"base64": "Zm9v"}}}
    write_rows(tmp_path / "torn", ROW, {**ROW, "id": "c", **medium})
    file = str(tmp_path / "t.yaml")
    with at_hub("", tmp_path, offline=True):
        tasks = build_tasks(choose([file], TaskIndex()), TaskOverrides())
        (found,) = check_data(tasks, {}, weights=False)
        checked = list(check([file]))

    assert checked
    assert set(found.findings) == set(checked)
    assert found.ready == all(one.severity != "error" for one in checked)


def test_weights_that_were_asked_for_are_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": HEAD + FAULTS["no weights"]})
    write_rows(tmp_path / "rows", ROW)
    tasks = build_tasks(
        choose([str(tmp_path / "t.yaml")], TaskIndex()), TaskOverrides()
    )
    (without,) = check_data(tasks, {}, weights=False)
    (asked,) = check_data(tasks, {}, weights=True)
    assert (without.ready, asked.ready) == (True, False)
    assert {replace(one, severity="warning") for one in asked.findings} == {
        *without.findings
    }


def test_data_that_the_hub_does_not_give_are_a_finding_of_the_task_and_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    write_files(tmp_path, {"t.yaml": HEAD + PINNED})
    tasks = build_tasks(
        choose([str(tmp_path / "t.yaml")], TaskIndex()), TaskOverrides()
    )
    source = HubSource("org/absent", "a" * 40)
    error = OutOfReachError("no", reason="it is off")
    (found,) = check_data(tasks, {source: error}, weights=False)
    (missing,) = found.findings
    with at_hub("", tmp_path):
        (machine,) = hub_findings({source: error}, weights=False)
    assert (missing.kind, missing.remedy) == ("missing_data", "mmeval prepare {TASK}")
    assert (machine.kind, machine.cause) == ("machine", "it is off")
    assert machine.remedy == "HF_DATASETS_OFFLINE=0 mmeval prepare {TASK}"


def test_weights_that_the_hub_refuses_are_missing_weights() -> None:
    source = HubSource("org/model", "main", "model", ("config.json",))
    error = MissingDataError("it is gated")
    (found,) = hub_findings({source: error}, weights=True)
    assert isinstance(found, Finding)
    assert (found.kind, found.severity) == ("missing_weights", "error")
    assert found.subject.name == "org/model"
