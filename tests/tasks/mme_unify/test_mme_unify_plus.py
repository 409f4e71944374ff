from mmeval.metric import bind, score_derived
from mmeval.records import Score
from mmeval.tasks.mme_unify.mme_unify_plus import mme_unify_plus

LOST, UNKNOWN = Score.lost("gone"), Score.unscored("no file")
UNAVAILABLE, INAPPLICABLE = Score.unavailable("no model"), Score.inapplicable("no move")


def plus(*scores: Score | float) -> Score:
    pieces = {
        str(at): one if isinstance(one, Score) else Score(one)
        for at, one in enumerate(scores)
    }
    return score_derived(bind(mme_unify_plus, {"of": [*pieces]}), pieces)[
        "mme_unify_plus"
    ]


def test_everything_has_to_be_right() -> None:
    assert [
        plus(1.0, 1.0).value,
        plus(1.0, 0.0).value,
        plus(1.0, 1.0, 0.875).value,
    ] == [1, 0, 0]
    assert plus(1.0, 0.5, 0.0).evidence == {"below": ["1", "2"]}


def test_what_does_not_apply_is_passed_over() -> None:
    assert [plus(1.0, INAPPLICABLE).value, plus(INAPPLICABLE, 0.0).value] == [1, 0]
    assert plus(INAPPLICABLE, INAPPLICABLE).status == "inapplicable"


def test_what_is_not_known_leaves_it_unscored_unless_something_is_wrong() -> None:
    assert plus(UNKNOWN, 0.0).value == 0
    unscored = plus(1.0, UNKNOWN, LOST)
    assert (unscored.status, unscored.bounds, unscored.cause) == (
        "unscored",
        (0, 1),
        "lost",
    )
    assert plus(UNAVAILABLE, 0.0).status == "unavailable"
