"""A run whose answers come from a Ray cluster of one node; clusters of several, and what
fails in them, are in ../kills/test_ray.py."""

from pathlib import Path

import pytest

from mmeval.errors import EXIT_OK
from tests.support.cli import mmeval_process
from tests.support.parallel import answered, notes
from tests.support.questions import questions, toy_environment

pytest.importorskip("ray")


def test_a_run_starts_a_cluster_answers_there_and_leaves_nothing_of_it(
    tmp_path: Path,
) -> None:
    model = (
        "--model",
        "toy_parallel",
        "--model_args",
        f"folder={tmp_path},max_batch_size=2,delay=0.1",
    )
    engine = ("--engine", "ray,address=local,workers=2,cpus=0.5,gpus=0")
    ended = mmeval_process(
        *questions(tmp_path),
        *model,
        *engine,
        env=toy_environment(tmp_path),
        cwd=tmp_path,
    )
    assert (ended.code, ended.warnings) == (EXIT_OK, ["this model is a toy"])
    assert "ray" not in f"{ended.out}{ended.err}".lower(), "it is quiet"
    assert answered(tmp_path) == sorted(f"question {i}" for i in range(12))
    processes = {note.pid for note in notes(tmp_path)}
    assert not any(Path(f"/proc/{process}").exists() for process in processes)
    left = {file.name for file in tmp_path.glob("runs/*/default/workers/*")}
    # The first worker may answer every row before the second one is asked.
    assert "lock" in left
    assert left <= {"lock", "model-1.log", "model-2.log"}


def test_a_run_is_scored_again_in_a_cluster_judge_and_metrics(tmp_path: Path) -> None:
    command = questions(tmp_path)
    env = toy_environment(tmp_path)
    assert (
        mmeval_process(
            *command, "--model", "reference", "--predict_only", env=env, cwd=tmp_path
        ).code
        == EXIT_OK
    )
    (run,) = tmp_path.glob("runs/reference/default")
    # What this judge replies is no verdict.
    judge = (
        "--metrics",
        "exact_match,toy_verdict",
        "--role",
        f"judge=toy_parallel,folder={tmp_path}",
    )
    engine = ("--engine", "ray,address=local,workers=1,cpus=0.5,gpus=0,score_workers=1")
    ended = mmeval_process(
        "score",
        str(run),
        *judge,
        *engine,
        "--max_unscored",
        "12",
        env=env,
        cwd=tmp_path,
    )
    assert (ended.code, len(answered(tmp_path)), "1.000" in ended.out) == (
        EXIT_OK,
        12,
        True,
    ), ended.err
    assert (run / "workers" / "judge-1.log").is_file(), "an actor has answered"
