import pytest

from mmeval.errors import UsageError
from mmeval.trust.pairs.judgements import judgements_of
from mmeval.trust.records import Rating


def pair(value: str | None, *, first: str = "", pass_number: int = 1) -> Rating:
    return Rating("t", "ann", value, a="x", b="y", first=first, pass_number=pass_number)


def test_the_winner_is_named() -> None:
    (judgement,) = judgements_of([pair("b")])
    assert judgement.winner == "y"


def test_a_leaning_tie_has_no_winner_unless_forced() -> None:
    (judgement,) = judgements_of([pair("tie_a")])
    assert (judgement.winner, judgement.forced_winner) == ("", "x")


@pytest.mark.parametrize("first", ["b", "y"])
def test_the_side_shown_first_is_a_letter_or_a_name(first: str) -> None:
    (judgement,) = judgements_of([pair("a", first=first)])
    assert judgement.first == "y"


@pytest.mark.parametrize("rating", [pair(None), pair("a", pass_number=2)])
def test_cannot_say_and_second_passes_are_left_out(rating: Rating) -> None:
    assert judgements_of([rating]) == []


def test_an_unknown_outcome_is_an_error() -> None:
    with pytest.raises(UsageError, match="one of a, b, tie"):
        judgements_of([pair("left")])


def test_a_pair_of_the_same_model_is_an_error() -> None:
    with pytest.raises(UsageError, match="with itself"):
        judgements_of(
            [Rating("t", "ann", "a", a="x", b="x")],
        )
