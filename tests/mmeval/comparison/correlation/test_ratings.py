from pathlib import Path

import pytest

from mmeval.comparison.correlation.ratings import (
    BoardValues,
    RatedTrial,
    Ratings,
    read_reference,
)
from mmeval.errors import TaskFileError, UsageError


def written(folder: Path, text: str) -> Path:
    file = folder / "reference.csv"
    file.write_text(text)
    return file


def test_a_board_has_a_value_for_each_model(tmp_path: Path) -> None:
    board = read_reference(written(tmp_path, "model,value\na,1087\nb,\n"))
    assert isinstance(board, BoardValues)
    assert board.values == {"a": 1087}


def test_the_rating_of_a_trial_is_the_mean_of_its_raters(tmp_path: Path) -> None:
    text = "task,sample,repeat,metric,value,rater\nt,s,1,m,2,x\nt,s,1,m,4,y\n"
    ratings = read_reference(written(tmp_path, text))
    assert isinstance(ratings, Ratings)
    assert ratings.values == {RatedTrial("t", "s", 1, "", "m"): 3}
    assert ratings.metrics == {"m"}
    assert not ratings.has_models


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,points\na,1\n", "the first line must name"),
        ("model,value\na,1\na,2\n", "occurs twice"),
        ("model,value\na,high\n", "must be a number"),
        ("model,value\na,nan\n", "must be a number"),
        ("model,value\n,1\n", "model is missing"),
        ("task,sample,repeat,value\nt,s,one,1\n", "whole number"),
        ('model,value\n"a,1\n', "not valid CSV"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TaskFileError, match=r"reference\.csv") as raised:
        read_reference(written(tmp_path, text))
    assert words in str(raised.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_reference(tmp_path / "absent.csv")
