"""Runs of a model whose server mmeval starts: what is told before, and that nothing is
left."""

from pathlib import Path

import pytest

from tests.support.backend_runs import ServerRuns
from tests.support.cli import gone, mmeval

ROWS = [f"question {i}" for i in range(12)]


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
