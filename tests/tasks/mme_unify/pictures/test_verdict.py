import pytest

from mmeval.tasks.mme_unify.pictures.verdict import Tie, wins


@pytest.mark.parametrize(
    ("similarities", "tie", "winner"),
    [
        ([0.1, 0.3, 0.2], "wrong", 1),
        ([0.3, 0.3, 0.2], "wrong", None),
        ([0.3, 0.3, 0.2], "first", 0),
        ([-0.1, -0.2], "wrong", 0),
        ([0.0, 0.0], "first", 0),
        ([0.5], "wrong", 0),
    ],
)
def test_the_nearest_wins(
    similarities: list[float], tie: Tie, winner: int | None
) -> None:
    assert [at for at in range(len(similarities)) if wins(similarities, at, tie)] == [
        winner
    ] * (winner is not None)
