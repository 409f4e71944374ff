from datetime import UTC, datetime
from pathlib import Path

from mmeval.trust.ratings_file import RatingsFile, ratings_path
from mmeval.trust.records import Draw, Rating
from mmeval.trust.rows import read_ratings

RATING = Rating(
    "t1",
    "ann",
    None,
    pass_number=2,
    at=datetime(2026, 11, 30, tzinfo=UTC),
    draw=Draw("random", 0.5),
    labels={"language": "en"},
)


def test_a_rating_is_read_back_as_it_was_added(tmp_path: Path) -> None:
    file = ratings_path(tmp_path, "quality")
    with RatingsFile(file) as ratings:
        ratings.add([RATING])
    assert read_ratings(file) == [RATING]


def test_ratings_are_added_and_never_replaced(tmp_path: Path) -> None:
    file = ratings_path(tmp_path, "quality")
    for value in (1.0, 2.0):
        with RatingsFile(file) as ratings:
            ratings.add([Rating("t1", "ann", value)])
    assert [rating.value for rating in read_ratings(file)] == [1.0, 2.0]


def test_a_line_that_was_cut_off_is_removed_before_the_next(tmp_path: Path) -> None:
    file = ratings_path(tmp_path, "quality")
    with RatingsFile(file) as ratings:
        ratings.add([Rating("t1", "ann", 1.0)])
    with file.open("ab") as torn:
        torn.write(b'{"trial": "t2"')
    with RatingsFile(file) as ratings:
        ratings.add([Rating("t3", "ann", 3.0)])
    assert [rating.trial for rating in read_ratings(file)] == ["t1", "t3"]


def test_the_name_of_ratings_cannot_leave_the_run(tmp_path: Path) -> None:
    file = ratings_path(tmp_path, "../../elsewhere")
    assert file.resolve().is_relative_to(tmp_path.resolve())
