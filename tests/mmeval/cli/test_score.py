from pathlib import Path

import pytest

from mmeval.__main__ import main
from tests.support.lm_eval_reader import latest, read_numbers
from tests.support.tiny_benchmark import write_benchmark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three rows that was answered and not scored."""
    tasks = write_benchmark(tmp_path / "tasks")
    where = ["--include_path", str(tasks), "--output_path", str(tmp_path / "runs")]
    assert main(["-M", "reference", "-t", "tiny", "--predict_only", "--score_workers", "0", *where]) == 0
    return tmp_path / "runs" / "reference" / "default"


def score(folder: Path, *words: str) -> int:
    return main(["score", str(folder), "--score_workers", "0", *words])


def test_the_model_in_the_report_is_the_one_that_answered(folder: Path) -> None:
    score(folder, "--metadata", '{"note": "again"}')

    document = latest(folder)[0]
    assert (document["model_name"], document["model_source"]) == ("reference", "reference")
    assert document["config"]["note"] == "again"


def test_the_report_shows_the_settings_that_the_run_was_made_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_benchmark(tmp_path / "tasks")
    where = ["--include_path", str(tasks), "--output_path", str(tmp_path / "runs"), "--score_workers", "0"]
    made = ["--gen_kwargs", "top_k=5", "--system_instruction", "be brief", "--profile", "official", "--batch_size", "2"]
    assert main(["-M", "reference", "-t", "tiny", *where, *made]) == 0
    header = capsys.readouterr().out.splitlines()[0]
    run = latest(tmp_path / "runs")[0]
    (tasks / "data" / "test.jsonl").unlink()  # a report of what is kept needs no data set

    assert score(tmp_path / "runs" / "reference" / "default") == 0

    assert capsys.readouterr().out.splitlines()[0] == header
    again = latest(tmp_path / "runs")[0]
    for key in ("config", "system_instruction", "n-samples"):
        assert again[key] == run[key]
    assert again["configs"]["tiny"]["profile"] == "official"


@pytest.mark.parametrize("source", ["flag", "file", "environment"])
def test_other_metrics_are_computed_from_each_source(
    source: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "again.yaml").write_text("metrics: [choice, exact_match]\n")
    words: dict[str, tuple[str, ...]] = {
        "flag": ("--metrics", "choice,exact_match"),
        "file": ("--config", str(tmp_path / "again.yaml")),
        "environment": (),
    }
    if source == "environment":
        monkeypatch.setenv("MMEVAL_METRICS", "choice,exact_match")

    score(folder, *words[source])

    assert [number.metric for number in read_numbers(latest(folder)[0])] == ["choice", "exact_match"]
    assert "MMEVAL_METRICS" not in capsys.readouterr().err
