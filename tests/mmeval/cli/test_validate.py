from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.validate import CHECKS
from tests.support.task_folder import task, write_files, write_rows
from tests.support.tiny_benchmark import write_benchmark


def test_sound_tasks_have_no_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path)

    assert main(["validate", "tiny", "--include_path", str(folder)]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_a_finding_has_file_and_line_and_makes_the_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_benchmark(tmp_path) / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "exakt_match"))

    assert main(["validate", str(file)]) == 2

    finding, counts = capsys.readouterr().out.splitlines()
    assert f"{file}:7: error: " in finding
    assert "exact_match" in finding
    assert counts == "1 error, 0 warnings"


def test_a_judge_is_named_as_in_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = task("t", "dataset_path: rows").replace("exact_match", "judge_grade\n    criterion: it is good")
    write_files(tmp_path, {"t.yaml": written})
    write_rows(tmp_path / "rows", {"id": "a", "input": "q", "references": ["r"]})

    assert main(["validate", "t", "--include_path", str(tmp_path), "--judge", "openai", "--judge_args", "model=j"]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_rows_bound_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path)
    rows = folder / "data" / "test.jsonl"
    rows.write_text(rows.read_text() + '{"id": "0", "input": "again"}\n')

    assert main(["validate", str(folder / "tiny.yaml"), "--rows", "3"]) == 0
    assert main(["validate", str(folder / "tiny.yaml")]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing-like-it"], "unknown task"),
        (["tiny", "--rows", "0"], "whole number of 1 or more"),
        (["tiny", "--data", "bundle"], 'did you mean "bundled"'),
    ],
)
def test_misuse_is_a_usage_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_help_lists_exactly_the_checks_that_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", "--help"])

    _, _, checks = capsys.readouterr().out.partition("checks, in this order:\n")
    named = [line.split()[0] for line in checks.splitlines() if line.startswith("  ") and line[2] != " "]
    assert named == [item.name for item in CHECKS]


def test_bundled_data_and_a_folder_of_data_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "tiny", "--data", "bundled", "--data_dir", "x"]) == 2
    assert "--data and --data_dir exclude each other" in capsys.readouterr().err
