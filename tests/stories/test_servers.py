"""Runs of a model whose server mmeval starts: what its end costs, what is told before,
and that nothing is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval, results
from tests.support.processes import gone
from tests.support.server_runs import ServerRuns

ROWS = [f"question {i}" for i in range(12)]


def number(runs: ServerRuns) -> dict[str, Any]:
    (row,) = results(runs.folder)["mmeval"]["results"]
    return {name: row[name] for name in ("value", "scored", "n")}


def test_a_server_on_the_path_is_started_dies_is_started_again_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    runs = ServerRuns(tmp_path, ROWS, "dies 5")
    ended = runs.whole("--max_connections", "4")
    assert (ended.code, number(runs)) == (0, {"value": 1.0, "scored": 12, "n": 12}), (
        ended.err
    )
    assert len(runs.starts()) >= 3
    assert "is started again" in ended.warnings[0]
    assert runs.log().count("loading org/m") == len(runs.starts())
    assert gone(runs.processes())
    assert runs.run.name == "default"
    again = mmeval(*runs.command(), env=runs.environment)
    assert (again.code, len(runs.noted("asked"))) == (0, len(runs.noted("asked")))


def test_a_server_that_cannot_answer_ends_the_run_with_one_message(
    tmp_path: Path,
) -> None:
    runs = ServerRuns(tmp_path, ROWS, "memory")
    ended = runs.whole()
    assert (
        ended.code,
        "CUDA out of memory" in ended.error,
        "model-1.log" in ended.error,
    ) == (1, True, True)
    assert (runs.noted("asked"), gone(runs.processes())) == ([], True)


@pytest.mark.parametrize("command", ["dry run", "check", "ls"])
def test_before_a_run_no_server_is_started(command: str, tmp_path: Path) -> None:
    runs = ServerRuns(tmp_path, ROWS)
    flags = {
        "dry run": runs.command("--dry_run"),
        "check": ["check", *runs.command()[-4:]],
        "ls": ["ls", "backends", "vllm"],
    }[command]
    ended = mmeval(*flags, env=runs.environment)
    assert (ended.code, runs.starts()) == (0, []), ended.err
    assert {
        "dry run": "this machine",
        "check": "org/m (vllm), on this machine",
        "ls": "vLLM",
    }[command] in ended.out


def test_a_judge_has_a_server_of_its_own_and_a_log_of_its_own(tmp_path: Path) -> None:
    runs = ServerRuns(tmp_path, ROWS[:2])
    (tmp_path / "tasks" / "ask.yaml").write_text(
        "task: ask\nloader: interleaved\ndataset_path: ask_data\noutput_modalities: "
        "[text]\n"
        "metric_list:\n  - {metric: judge_grade}\nmetadata: {version: 1.0}\n"
    )
    runs.whole("--role", "judge=vllm,pretrained=org/judge")
    assert {model for _, model, _ in runs.starts()} == {"org/m", "org/judge"}
    assert (runs.run / "workers" / "judge-1.log").is_file()
    assert gone(runs.processes())


def test_equal_runs_on_other_machines_go_on_and_another_model_is_refused(
    tmp_path: Path,
) -> None:
    runs = ServerRuns(tmp_path, ROWS)
    assert runs.whole().code == 0
    assert [
        runs.whole(tensor_parallel_size=2).code,
        runs.whole(gpu_memory_utilization=0.5).code,
    ] == [0, 0]
    refused = runs.whole(max_model_len=4096)
    assert (refused.code, "max_model_len" in refused.error) == (2, True)
    assert sorted(runs.noted("asked")) == sorted(ROWS)
    lines = [
        json.loads(line)
        for file in runs.run.glob("journal/*.jsonl")
        for line in file.read_bytes().splitlines()
    ]
    assert {line["r"]["fingerprint"] for line in lines if "r" in line} == {
        "vllm 0.0.stand-in"
    }
