from mmeval.aggregate.scores import Scores
from mmeval.records.score import Score


def mixed_scores() -> Scores:
    """A value, an unscored answer with bounds, a failed one, and evidence only."""
    scores = Scores(range=(0, 1))
    scores.add_value("a", 0, 0.25)
    scores.add("b", 0, Score.unscored("no verdict", bounds=(0.0, 0.5)))
    scores.add("c", 0, "failed")
    scores.add("d", 0, Score(None, "scored", evidence={"counts": [1, 2]}))
    return scores


def test_the_statuses_of_a_column_are_those_of_its_rows() -> None:
    assert mixed_scores().statuses == ["scored", "unscored", "failed", "scored"]


def test_only_a_row_with_a_value_has_one_in_its_column() -> None:
    assert mixed_scores().values_or_none == [0.25, None, None, None]


def test_a_column_has_the_values_of_its_rows() -> None:
    scores = mixed_scores()
    assert scores.values_or_none == [row.value for row in scores]
