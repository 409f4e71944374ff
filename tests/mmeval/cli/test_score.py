from pathlib import Path

import pytest

from mmeval.__main__ import main
from tests.support.questions import write_benchmark
from tests.support.readers import latest, read_numbers


def score(folder: Path, *words: str) -> int:
    run = str(folder / "runs" / "reference" / "default")
    return main(["score", run, "--score_workers", "0", *words])


def answered(folder: Path, *words: str) -> Path:
    """A run of three rows; the folder of its data."""
    tasks = write_benchmark(folder / "tasks")
    where = ["--include_path", str(tasks), "--output_path", str(folder / "runs")]
    command = ["-M", "reference", "-t", "tiny", "--score_workers", "0"]
    assert main([*command, *where, *words]) == 0
    return tasks / "tiny_data"


def test_the_report_shows_the_model_and_settings_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "--gen_kwargs top_k=5 --system_instruction brief --profile official"
    data = answered(tmp_path, *made.split(), "--batch_size", "2")
    header = capsys.readouterr().out.splitlines()[0]
    run = latest(tmp_path / "runs")[0]
    (data / "test.jsonl").unlink()  # a report of what is kept needs no data set
    assert score(tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[0] == header
    again = latest(tmp_path / "runs")[0]
    for key in (
        "config",
        "configs",
        "system_instruction",
        "n-samples",
        "model_name",
        "model_source",
    ):
        assert again[key] == run[key]


def test_a_run_of_bundled_samples_stays_one(tmp_path: Path) -> None:
    task = "mmmg_audio_text_order"
    command = f"-M reference -t {task} --data bundled --score_workers 0".split()
    assert main([*command, "--output_path", str(tmp_path / "runs")]) == 0
    assert score(tmp_path) == 0
    assert latest(tmp_path / "runs")[0]["configs"][task]["data"] == "bundled"


def test_the_environment_may_name_metrics_and_a_flag_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answered(tmp_path, "--predict_only")
    monkeypatch.setenv("MMEVAL_METRICS", "choice,exact_match")
    score(tmp_path, "--metadata", '{"note": "again"}')
    document = latest(tmp_path / "runs")[0]
    assert [number.metric for number in read_numbers(document)] == [
        "choice",
        "exact_match",
    ]
    assert document["config"]["note"] == "again"
    assert "MMEVAL_METRICS" not in capsys.readouterr().err
