from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Message, Sample
from mmeval.report.progress_bar import Quiet
from mmeval.report.samples_file import sample_rows
from mmeval.run.options import BackendSpec, RunOptions, RunOutcome
from mmeval.run.runner import run
from mmeval.task.selection import select
from tests.support import toy
from tests.support.tiny_benchmark import write_benchmark


def finished(tmp_path: Path, *, repeats: int = 1, predict_only: bool = False) -> RunOutcome:
    from mmeval.task.task import TaskOverrides

    tasks = write_benchmark(tmp_path / "tasks")
    selection = select(["tiny"], include_path=[tasks], overrides=TaskOverrides(repeats=repeats))
    options = RunOptions(BackendSpec("reference"), tmp_path / "runs", score_workers=0, predict_only=predict_only)
    return run(selection, options, progress=Quiet())


def rows(outcome: RunOutcome, wanted: Callable[[int, int], bool] = lambda index, repeat: True) -> list[object]:
    found = sample_rows(outcome.folder, outcome.selection.tasks[0], outcome.score_sets.get("tiny"), wanted)
    return [
        (row.index, [t.output.text for t in row.trials if t.output], [s["exact_match"].value for s in row.scores if s])
        for row in found
    ]


def test_each_sample_comes_once_with_all_its_repeats_in_order(tmp_path: Path) -> None:
    assert rows(finished(tmp_path, repeats=2)) == [(i, [f"answer {i}"] * 2, [1.0, 1.0]) for i in range(3)]


def test_only_what_is_wanted_comes_with_its_own_scores(tmp_path: Path) -> None:
    outcome = finished(tmp_path, repeats=2)

    assert rows(outcome, lambda index, repeat: index == 1 and repeat == 1) == [(1, ["answer 1"], [1.0])]


def test_a_sample_without_content_has_its_reason_and_no_prompt(tmp_path: Path) -> None:
    def prompt(row: Sample) -> tuple[Message, ...]:
        return (row.input[0],)  # which a sample without content has not

    rows = [toy.sample("s0"), Sample("s1", (), fault="row 2: torn")]
    of = replace(toy.task(rows=rows), prompt=prompt)
    outcome = toy.run_toy(tmp_path, of, model=BackendSpec("reference"))

    sound, bad = sample_rows(outcome.folder, of, outcome.score_sets["toy"], lambda index, repeat: True)

    assert (len(sound.prompt), bad.prompt, bad.sample.fault) == (1, (), "row 2: torn")
    assert bad.trials[0].error == ErrorInfo("bad_sample", "row 2: torn")


def test_a_run_without_scores_has_answers(tmp_path: Path) -> None:
    assert rows(finished(tmp_path, predict_only=True)) == [(i, [f"answer {i}"], []) for i in range(3)]
