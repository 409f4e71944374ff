import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main
from mmeval.cli.run import read_settings, show_config
from tests.support.questions import write_benchmark
from tests.support.readers import latest, read_samples


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Runs the reference backend over a task of three rows."""
    tasks = write_benchmark(tmp_path / "tasks")
    where = ["--include_path", str(tasks), "--output_path", str(tmp_path / "runs")]
    return ["--model", "reference", "--tasks", "tiny", "--score_workers", "0", *where]


def results(tmp_path: Path) -> dict[str, Any]:
    return latest(tmp_path / "runs")[0]


def test_samples_are_written_if_asked_for_and_only_those_of_this_run(
    command: list[str], tmp_path: Path
) -> None:
    main(command)
    main([*command, "--limit", "2", "--log_samples"])
    _, samples = latest(tmp_path / "runs")
    rows = read_samples(samples["tiny"])
    assert [
        (row["doc_id"], row["target"], row["resps"], row["exact_match"]) for row in rows
    ] == [
        (0, "answer 0", [["answer 0"]], 1.0),
        (1, "answer 1", [["answer 1"]], 1.0),
    ]
    assert results(tmp_path)["task_hashes"]["tiny"]


def test_the_configuration_that_is_shown_can_be_read_back(tmp_path: Path) -> None:
    given = {
        "model": "openai",
        "model_args": ["model=m,n=2"],
        "tasks": ["a,b"],
        "role": ["judge=empty,x=1"],
        "samples": '{"a": [1]}',
        "reasoning_tags": "none",
        "batch_size": "auto",
        "metric_args": '{"m": {"s": 1}}',
        "gen_kwargs": ['stop=["a", "no"]'],
        "include_path": ["x"],
        "seed": "3",
        "strict": "true",
    }
    settings = read_settings(given, {})
    file = tmp_path / "run.yaml"
    file.write_text(show_config(settings))
    again = read_settings({"config": str(file)}, {})
    again["config"] = settings["config"]
    assert again.keys() == settings.keys()
    for name, setting in settings.items():
        assert again[name].value == setting.value


def test_the_command_that_is_recorded_is_the_one_that_was_given(
    command: list[str], tmp_path: Path
) -> None:
    main([*command, "--metadata", '{"api_key": "sk-1"}'])
    record = json.loads(
        (tmp_path / "runs" / "reference" / "default" / "run.json").read_text()
    )
    assert record["sessions"][0]["command"].startswith("mmeval --model reference")
    assert "sk-1" not in json.dumps(record)
