from pathlib import Path

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.results.board import (
    Board,
    BoardPublished,
    BoardRun,
    folders_of,
    read_board,
    write_board,
)


def test_a_written_board_is_read_back(tmp_path: Path) -> None:
    board = Board(
        "Ours & theirs",
        (
            BoardRun(tmp_path / "runs" / "a", "A: 1", "Open"),
            BoardPublished(tmp_path / "paper.csv", ("Emu3", "=1+1")),
        ),
    )
    write_board(tmp_path / "board.yaml", board)
    assert read_board(tmp_path / "board.yaml") == board


def test_a_path_below_the_board_is_written_relative_to_it(tmp_path: Path) -> None:
    write_board(tmp_path / "b.yaml", Board("", (BoardRun(tmp_path / "runs" / "a"),)))
    assert (tmp_path / "b.yaml").read_text() == "rows:\n- run: runs/a\n"


def test_a_path_starts_in_the_folder_of_the_board(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text("rows: [{run: a}, {published: p.csv}]\n")
    assert read_board(file).rows == (
        BoardRun(tmp_path / "a"),
        BoardPublished(tmp_path / "p.csv"),
    )


def test_a_path_may_start_in_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "b.yaml"
    file.write_text("rows: [{run: ~/a}]\n")
    assert read_board(file).rows == (BoardRun(tmp_path / "home" / "a"),)


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("rows:\n- {run: a, nmae: b}\n", 2, 'unknown key; did you mean "name"'),
        ("titel: x\nrows: [{run: a}]\n", 1, 'unknown key; did you mean "title"'),
        ("title: x\nrows: []\n", 2, "must be a list of runs"),
        ("rows:\n- a\n", 2, "must be {run: FOLDER} or {published: FILE}"),
        ("rows:\n- run: 7\n", 2, "must be text, not 7"),
        ("rows:\n- run: ''\n", 2, "must not be empty"),
        ("rows:\n- published: a\n  models: b\n", 3, "must be a list of names"),
    ],
)
def test_a_fault_of_a_board_is_found_in_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(text)
    with pytest.raises(TaskFileError) as error:
        read_board(file)
    assert error.value.line == line
    assert words in str(error.value)


def test_the_folders_of_a_board_are_those_of_its_runs(tmp_path: Path) -> None:
    file = tmp_path / "all.board.yaml"
    rows = (BoardRun(tmp_path / "a"), BoardPublished(tmp_path / "paper.csv"))
    write_board(file, Board("", rows))
    assert folders_of(file) == [tmp_path / "a"]


def test_any_other_path_stands_for_itself(tmp_path: Path) -> None:
    assert folders_of(tmp_path) == [tmp_path]


def test_a_board_without_runs_is_refused_in_place_of_runs(tmp_path: Path) -> None:
    file = tmp_path / "all.board.yaml"
    write_board(file, Board("", (BoardPublished(tmp_path / "paper.csv"),)))
    with pytest.raises(UsageError, match="lists no runs"):
        folders_of(file)
