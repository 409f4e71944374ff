import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    MissingDataError,
    MissingError,
    UsageError,
)
from mmeval.findings.finding import Finding
from mmeval.report.progress_bar import QuietProgress
from mmeval.results.numbers import is_subset
from mmeval.run.options import BackendSpec, RescoreOptions, RunOutcome, UnfinishedTask
from mmeval.run.rescore.rescorer import rescore
from mmeval.system.json_lines import sealed_document
from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import Toy, asked_in, break_model, reply, run_toy

pytestmark = pytest.mark.usefixtures("toys")

TASK = """\
task: asked
dataset_path: data
output_modalities: [text]
metric_list:
  - metric: toy_yes
  - metric: toy_verdict
metadata: {version: 1}
"""
GROUP = (
    "group: all\ntask: [asked]\naggregate_metric_list:\n  - metric: toy_yes\n"
    "metadata: {version: 1}\n"
)
JUDGE = {"judge": BackendSpec("toy")}
STRICT = {"judge": BackendSpec("toy", {"model": "toy-strict"})}


def ran(
    tmp_path: Path,
    *texts: str,
    roles: Mapping[str, BackendSpec] | None = None,
    word: str = "yes",
    **options: Any,
) -> Path:
    """The folder of a run over questions that the toy model answers with their own
    words; ``toy_yes`` looks for the word."""
    task = (
        TASK.replace("toy_yes\n", f"toy_yes\n    word: {word}\n")
        if word != "yes"
        else TASK
    )
    folder = write_files(tmp_path / "tasks", {"asked.yaml": task, "all.yaml": GROUP})
    write_rows(
        folder / "data",
        *({"id": f"s{i}", "input": text} for i, text in enumerate(texts)),
    )
    selection = select(
        ["all"], [folder], options.pop("overrides", None), roles=frozenset(roles or ())
    )
    outcome = run_toy(
        tmp_path,
        *selection.tasks,
        groups=selection.groups,
        roles=roles or {},
        **options,
    )
    return outcome.folder


def again(
    folder: Path, *, roles: Mapping[str, BackendSpec] | None = None, **options: Any
) -> RunOutcome:
    made = RescoreOptions(
        folder=folder, roles=roles or {}, score_workers=0, retry_on_error=0, **options
    )
    return rescore(made, progress=QuietProgress())


def values(outcome: RunOutcome) -> dict[str, float | None]:
    return {
        f"{result.task} {result.metric}": result.value
        for result in (*outcome.results, *outcome.group_results)
    }


def test_a_run_that_only_predicted_is_scored_later_without_its_model_and_where_it_was_moved_to(
    tmp_path: Path,
) -> None:
    folder = ran(tmp_path, "yes", "no", predict_only=True).rename(tmp_path / "moved")
    outcome = again(folder, roles=JUDGE)
    assert values(outcome) == {
        "asked toy_yes": 0.5,
        "asked toy_verdict": 1.0,
        "all toy_yes": 0.5,
    }
    assert (outcome.exit_code, outcome.model_name, len(asked_in(tmp_path))) == (
        EXIT_OK,
        "toy",
        2,
    )


def test_the_notes_on_the_answers_are_those_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = replace(reply("yes"), finish_reason="length", warnings=("made smaller",))
    monkeypatch.setattr(Toy, "_usual", lambda *_: cut)
    found = again(ran(tmp_path, "yes", "no", roles=JUDGE), roles=JUDGE).findings
    assert [(one.kind, one.count) for one in found] == [("cut_off", 2), ("plugin", 2)]


def sets_of(folder: Path) -> dict[str, bytes]:
    return {
        path.parent.name: path.read_bytes()
        for path in folder.glob("scores/asked/*/scores.jsonl")
    }


def test_an_answer_that_failed_stays_failed(tmp_path: Path) -> None:
    break_model(tmp_path, "no")
    outcome = again(ran(tmp_path, "yes", "no", roles=JUDGE), roles=JUDGE)
    assert (outcome.counts.kept, outcome.counts.failed, outcome.exit_code) == (
        1,
        1,
        EXIT_INCOMPLETE,
    )
    assert outcome.results[0].failed == 1
    (failed,) = outcome.findings
    assert (failed.kind, failed.count) == ("failed", 1)


def test_a_damaged_answer_is_a_failed_trial_and_no_wrong_score(tmp_path: Path) -> None:
    folder = ran(tmp_path, "yes", "no", roles=JUDGE)
    segment = next((folder / "journal").glob("*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    # Of equal length, because a journal never changes once it is written.
    segment.write_bytes(
        b"".join(
            b"x" * (len(line) - 1) + b"\n" if b'"yes"' in line else line
            for line in lines
        )
    )
    assert again(folder, roles=STRICT).counts.failed == 1


def test_a_folder_without_a_run_or_a_metric_that_cannot_be_computed_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(MissingDataError, match=re.escape(str(tmp_path))):
        again(tmp_path)
    assert list(tmp_path.glob("run.lock")) == []
    with pytest.raises(MissingError, match=r"toy_verdict .*\n.*--judge "):
        again(ran(tmp_path, "yes", predict_only=True), metrics=("toy_verdict",))


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    folder = ran(tmp_path, "yes")
    with pytest.raises(UsageError, match="wrod"):
        again(folder, overrides=TaskOverrides(metric_args={"toy_yes": {"wrod": "x"}}))
    with pytest.raises(UsageError, match="toy_yse"):
        again(folder, metrics=("toy_yse",))
    with pytest.raises(UsageError, match="toy_yse"):
        again(folder, overrides=TaskOverrides(skip_metric=("toy_yse",)))


@pytest.mark.parametrize("file", ["samples", "trials", "scores"])
def test_a_damaged_record_is_named(
    tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = ran(tmp_path, "yes", "no", roles=JUDGE)
    (path,) = [
        path
        for path in (folder / file).rglob("*.jsonl")
        if path.name != "verdicts.jsonl"
    ]
    path.write_bytes(b"#" + path.read_bytes()[1:])
    again(folder, roles=JUDGE)
    assert [message.startswith(f"{path}:1: ") for message in caplog.messages] == [True]


def test_chosen_metrics_alone_make_a_set_of_their_own_and_another_scoring_has_all_again(
    tmp_path: Path,
) -> None:
    folder = ran(tmp_path, "yes", "no", roles=JUDGE)
    before = sets_of(folder)
    part = again(folder, metrics=("toy_yes",))
    assert values(part) == {"asked toy_yes": 0.5, "all toy_yes": 0.5}
    assert (part.left_aside, len(part.findings)) == ({"asked": ("toy_verdict",)}, 1)
    assert sets_of(folder).items() > before.items()
    break_model(tmp_path, "")
    judge = {
        "judge": BackendSpec(
            "toy",
            {"broken": str(tmp_path / "broken"), "log": str(tmp_path / "verdicts")},
        )
    }
    whole = again(folder, roles=judge)
    assert (whole.left_aside, whole.findings, values(whole)["asked toy_verdict"]) == (
        {},
        (),
        1.0,
    )


def test_a_metric_that_the_task_has_not_is_added_with_its_switches(
    tmp_path: Path,
) -> None:
    overrides = TaskOverrides(metric_args={"exact_match": {"ignore_case": True}})
    outcome = again(
        ran(tmp_path, "yes", "no"),
        metrics=("toy_pair", "exact_match"),
        overrides=overrides,
    )
    assert [result.metric for result in outcome.results] == [
        "toy_first",
        "toy_second",
        "exact_match",
    ]
    assert outcome.selection.tasks[0].metrics[1].bound.params["ignore_case"] is True
    assert len(asked_in(tmp_path)) == 2


def test_a_metric_that_the_run_skipped_is_added_later_or_skipped_again(
    tmp_path: Path,
) -> None:
    skipping = TaskOverrides(skip_metric=("toy_yes",))
    folder = ran(tmp_path, "yes", "oui", overrides=skipping, word="oui")
    for overrides in (TaskOverrides(), skipping):
        assert [
            result.metric for result in again(folder, overrides=overrides).results
        ] == ["toy_verdict"]
    outcome = again(folder, metrics=("toy_yes",))
    assert outcome.selection.tasks[0].metrics[0].bound.params == {"word": "oui"}
    assert values(outcome)["asked toy_yes"] == 0.5


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        (
            BackendSpec("toy", {"model": "j", "api_key": "***"}),
            MissingError,
            "api_key of",
        ),
        (BackendSpec("not_installed"), UsageError, "'not_installed'"),
    ],
    ids=["a secret", "a backend that is gone"],
)
def test_a_judge_of_the_run_that_cannot_be_made_again_is_an_error_with_the_whole_command(
    spec: BackendSpec, error: type[Exception], words: str, tmp_path: Path
) -> None:
    folder = ran(tmp_path, "yes", predict_only=True)
    assert again(folder, roles_of_run={"judge": spec}, metrics=("toy_yes",)).roles == {}
    with pytest.raises(error, match=words) as raised:
        again(folder, roles_of_run={"judge": spec}, metrics=("toy_verdict",))
    assert f": mmeval score {folder} --role " in str(raised.value)
    assert str(raised.value).endswith(" --metrics toy_verdict")


def test_a_subset_stays_one_and_a_folder_that_holds_more_than_was_asked_is_scored_whole(
    tmp_path: Path,
) -> None:
    part = again(ran(tmp_path / "part", *map(str, range(7)), limit=3, sample_shuffle=1))
    assert part.subsets["asked"].to_json() == {
        "of": 7,
        "chosen": 3,
        "how": ["limit", "shuffle"],
    }
    ran(tmp_path, "a", "b", "c")
    assert not is_subset(
        again(ran(tmp_path, "a", "b", "c", limit=1)).subsets["asked"].to_json()
    )


def test_the_results_of_a_run_that_was_stopped_have_how_far_it_came(
    tmp_path: Path,
) -> None:
    folder = ran(tmp_path, "yes", "no", predict_only=True)
    record = json.loads((folder / "run.json").read_text())
    assert record["data"]["asked"]["trials"] == 2
    record["data"]["asked"]["trials"], record["finished"] = 300, False
    (folder / "run.json").write_bytes(sealed_document(record))
    outcome = again(folder, roles=JUDGE)
    assert (outcome.unfinished, outcome.exit_code) == (
        {"asked": UnfinishedTask(2, 300)},
        EXIT_INCOMPLETE,
    )
    assert (outcome.findings[0].kind, outcome.findings[0].count) == ("subset", 2)


def unfinished(folder: Path, **more: Any) -> Finding:
    """The first finding of a scoring of a run that did not come to its end."""
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_bytes(
        sealed_document({**record, "finished": False, **more})
    )
    return again(folder, roles=JUDGE).findings[0]


def test_the_command_of_an_unfinished_run_goes_on_with_it(tmp_path: Path) -> None:
    command = "mmeval run --tasks asked"
    folder = ran(tmp_path, "yes", predict_only=True, command=command)
    assert unfinished(folder).remedy == command


def test_what_stopped_a_run_is_a_finding_of_its_scores(tmp_path: Path) -> None:
    folder = ran(tmp_path, "yes", predict_only=True)
    why = Finding("budget", cause="spent", remedy="--budget_calls N", severity="error")
    assert unfinished(folder, stopped=[why.to_json()]) == why
