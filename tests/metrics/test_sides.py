from mmeval.metrics.sides import Sides, sides_of
from mmeval.records import Score
from tests.support.trials import trial


def test_both_sides_of_an_answered_trial_and_a_missing_one_that_is_named() -> None:
    sides = sides_of(trial("a", ["b", "c"]))
    assert isinstance(sides, Sides)
    assert (sides.answer.text, [reference.text for reference in sides.references]) == ("a", ["b", "c"])
    no_answer, no_reference = sides_of(trial(None, "b")), sides_of(trial("a"))
    assert isinstance(no_answer, Score) and isinstance(no_reference, Score)
    assert (no_answer.status, no_reference.status) == ("unscored", "unscored")
    assert ("answer" in no_answer.reason, "reference" in no_reference.reason) == (True, True)
