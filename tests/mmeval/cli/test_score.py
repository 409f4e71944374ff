from pathlib import Path

import pytest

from mmeval.__main__ import main
from tests.support.lm_eval_reader import latest, read_numbers
from tests.support.questions import write_benchmark


def score(folder: Path, *words: str) -> int:
    return main(
        [
            "score",
            str(folder / "runs" / "reference" / "default"),
            "--score_workers",
            "0",
            *words,
        ]
    )


def answered(folder: Path, *words: str) -> Path:
    """A run of three rows; the folder of its data."""
    tasks = write_benchmark(folder / "tasks")
    where = [
        "--include_path",
        str(tasks),
        "--output_path",
        str(folder / "runs"),
        "--score_workers",
        "0",
    ]
    assert main(["-M", "reference", "-t", "tiny", *where, *words]) == 0
    return tasks / "tiny_data"


def test_the_report_shows_the_model_and_settings_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        "--gen_kwargs",
        "top_k=5",
        "--system_instruction",
        "be brief",
        "--profile",
        "official",
        "--batch_size",
        "2",
    ]
    data = answered(tmp_path, *made)
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
    assert (again["configs"]["tiny"]["profile"], again["model_name"]) == (
        "official",
        "reference",
    )


def test_a_run_of_bundled_samples_stays_one(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    command = [
        "-M",
        "reference",
        "-t",
        "mmmg_audio_text_order",
        "--data",
        "bundled",
        "--output_path",
        runs,
    ]
    assert (main([*command, "--score_workers", "0"]), score(tmp_path)) == (0, 0)
    assert (
        latest(tmp_path / "runs")[0]["configs"]["mmmg_audio_text_order"]["data"]
        == "bundled"
    )


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
