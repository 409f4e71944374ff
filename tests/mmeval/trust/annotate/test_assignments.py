"""Which trial a rater rates next."""

from typing import Any

from mmeval.trust.annotate.assignments import (
    HELD_SECONDS,
    Assignment,
    Assignments,
    SessionOptions,
)
from mmeval.trust.annotate.question import AnnotationQuestion
from mmeval.trust.annotate.trials import TrialToRate
from mmeval.trust.records import Draw, Value

QUESTION = AnnotationQuestion("text", "q", "?")


def trials(count: int, **more: Any) -> list[TrialToRate]:
    rows = []
    for number in range(count):
        name = f"t{number}"
        rows.append(
            TrialToRate(name, QUESTION, 0, name, name, "task", Draw(), **more),
        )
    return rows


def assignments(count: int = 6, overlap: int = 1, **options: Any) -> Assignments:
    names = ("ann", "bob", "cid")
    return Assignments(trials(count), SessionOptions(names, overlap, **options))


def rate_all(
    session: Assignments, rater: str, value: Value = 1.0, now: float = 0.0
) -> list[Assignment]:
    """What a rater is given until nothing is open."""
    rated: list[Assignment] = []
    while (assignment := session.next(rater, now)) is not None:
        session.add(rater, assignment, value)
        rated.append(assignment)
    return rated


def places(rated: list[Assignment]) -> list[int]:
    return [assignment.place for assignment in rated]


def test_each_rater_has_an_order_of_their_own() -> None:
    session = assignments(overlap=2)
    ann, bob = rate_all(session, "ann"), rate_all(session, "bob")
    assert sorted(places(ann)) == sorted(places(bob)) == list(range(6))
    assert ann != bob


def test_the_same_trial_comes_until_it_is_rated() -> None:
    session = assignments()
    assert session.next("ann", 0.0) == session.next("ann", 1.0)


def test_a_trial_is_rated_by_as_many_raters_as_it_needs() -> None:
    session = assignments(overlap=2)
    for rater in ("ann", "bob"):
        rate_all(session, rater)
    assert rate_all(session, "cid") == []


def test_a_trial_on_another_screen_is_not_given_away() -> None:
    session = assignments(count=1)
    session.next("ann", 0.0)
    assert session.next("bob", 1.0) is None


def test_a_trial_that_was_left_on_a_screen_is_open_again() -> None:
    session = assignments(count=1)
    session.next("ann", 0.0)
    assert session.next("bob", HELD_SECONDS + 1) == Assignment(0, 1)


def test_a_further_rater_decides_where_raters_differ() -> None:
    session = assignments(overlap=2, adjudicate=True)
    rate_all(session, "ann", 1.0)
    for assignment in rate_all(session, "bob", 1.0)[:2]:
        session.add("bob", assignment, 0.0)
    assert len(rate_all(session, "cid")) == 2


def test_some_trials_are_shown_twice_after_others() -> None:
    session = assignments(count=40, again=0.5)
    rated = rate_all(session, "ann")
    again = [assignment for assignment in rated if assignment.pass_number == 2]
    assert 10 < len(again) < 30
    for assignment in again:
        first = rated.index(Assignment(assignment.place, 1))
        assert rated.index(assignment) - first > 5 or assignment in rated[40:]


def test_a_rater_rates_no_more_than_allowed() -> None:
    assert len(rate_all(assignments(per_rater=4), "ann")) == 4


def test_every_rater_rates_trials_with_a_known_answer() -> None:
    options = SessionOptions(("ann", "bob"), 1)
    session = Assignments(trials(3, gold=1.0), options)
    assert len(rate_all(session, "ann")) == len(rate_all(session, "bob")) == 3


def test_each_run_of_a_pair_is_first_equally_often() -> None:
    session = Assignments(
        trials(20, a="x", b="y"),
        SessionOptions(("ann",), 1),
    )
    turned = []
    for place in range(20):
        turned.append(
            session.is_turned("ann", Assignment(place, 1)),
        )
    assert sum(turned) == 10
    assert turned != [place % 2 == 0 for place in range(20)]
    assert turned != [place % 2 == 1 for place in range(20)]


def test_the_second_pass_of_a_pair_is_turned_round() -> None:
    session = Assignments(
        trials(1, a="x", b="y"),
        SessionOptions(("ann",), 1),
    )
    first = session.is_turned("ann", Assignment(0, 1))
    assert session.is_turned("ann", Assignment(0, 2)) is not first


def test_what_remains_counts_down() -> None:
    session = assignments(count=3)
    assert session.remaining("ann", 0.0) == 3
    assignment = session.next("ann", 0.0)
    assert assignment is not None
    session.add("ann", assignment, 1.0)
    assert session.remaining("ann", 0.0) == 2
