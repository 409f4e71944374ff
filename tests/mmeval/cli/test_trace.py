from pathlib import Path

import pytest

from mmeval.__main__ import main
from tests.support.cli import QUIET
from tests.support.questions import write_benchmark
from tests.support.stored_runs import WrittenTrial, text, write_run

REASON = "The answer names no hare, and it shows none in its pictures. " * 5


def test_the_worst_answers_with_long_reasons_fit_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    score = {"value": 0.0, "status": "scored", "evidence": {"reason": REASON}}
    answers = []
    for place in range(12):
        name = f"natural_science/chemistry/{place}/{'long' * 30}"
        answers.append(
            WrittenTrial([text("draw")], [text("done")], {"right": score}, sample=name)
        )
    folder = write_run(tmp_path, answers, results={})
    assert main(["trace", str(folder)]) == 0
    listed = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert max(map(len, listed)) <= 80


def test_a_reason_takes_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score = {"value": 0.0, "status": "scored", "evidence": {"reason": REASON}}
    answer = WrittenTrial([text("draw")], [text("done")], {"right": score})
    folder = write_run(tmp_path / "run", [answer], results={})
    main(["trace", str(folder)])
    listed = capsys.readouterr().out.partition("\n\n")[0]
    assert len(listed.splitlines()) == 3


def test_the_command_for_the_steps_fits_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)
    score = {"value": 0.0, "status": "scored"}
    name = "general_area/sports/1"
    answer = WrittenTrial([text("draw")], [text("done")], {"right": score}, sample=name)
    write_run(Path("run"), [answer], results={})
    main(["trace", "run"])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  mmeval trace run --task told --sample \\",
        "    general_area/sports/1",
    ]


def test_a_sample_of_an_earlier_command_has_steps_without_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_benchmark(tmp_path / "tasks", "earlier", "later")
    command = ["-M", "reference", "--include_path", str(tasks), *QUIET]
    command += ["--output_path", str(tmp_path / "runs")]
    for name in ("earlier", "later"):
        assert main([*command, "--tasks", name]) == 0
    capsys.readouterr()
    run = str(tmp_path / "runs" / "reference" / "default")
    assert main(["trace", run, "--task", "earlier", "--sample", "0"]) == 0
    assert "scores" not in capsys.readouterr().out
