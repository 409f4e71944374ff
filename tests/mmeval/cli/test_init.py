from pathlib import Path

import pytest

from mmeval.__main__ import main


@pytest.mark.parametrize(
    "words",
    [
        *(["bench", "x"], ["metric", "x", "--subtasks", "2"], ["benchmark", "x", "--subtasks", "0"]),
        *(["benchmark", "x", "--subtasks", "201"], ["benchmark", "taken"]),
    ],
)
def test_what_is_refused_leaves_the_folder_as_it_is(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()

    assert main(["init", *words, "--output_path", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.rglob("*")] == ["taken"]


def test_the_most_subtasks_can_be_written(tmp_path: Path) -> None:
    assert main(["init", "benchmark", "many", "--subtasks", "200", "--output_path", str(tmp_path)]) == 0
    assert len(list(tmp_path.rglob("many_*.yaml"))) == 200
