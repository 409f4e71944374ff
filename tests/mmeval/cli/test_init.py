from pathlib import Path

import pytest

from mmeval.__main__ import main


def test_a_folder_that_exists_is_refused_by_name_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "herbench").mkdir()

    assert main(["init", "benchmark", "herbench", "--output_path", str(tmp_path)]) == 2
    assert f"{tmp_path}/herbench exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["herbench"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "x"], 'did you mean "benchmark"'),
        (["metric", "x", "--subtasks", "2"], "--subtasks goes with a benchmark"),
        (["benchmark", "x", "--subtasks", "0"], "--subtasks: a whole number of 1 or more"),
        (["benchmark", "x", "--subtasks", "5000"], "at most 200"),
        (["benchmark", "x", "--subtask", "2"], 'did you mean "--subtasks"'),
    ],
)
def test_misuse_is_answered_with_what_is_right(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", *words, "--output_path", str(tmp_path / "new")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
