"""Servers that runs start: one that dies, and one on another machine."""

import json
from pathlib import Path
from typing import Any

from tests.stories.test_servers import ROWS
from tests.support.backend_runs import ServerRuns
from tests.support.cli import gone, mmeval, results


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
