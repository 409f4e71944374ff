from __future__ import annotations

from collections import Counter

import pytest

from mmeval.generation import Tally
from mmeval.outcome import lost_complaints


@pytest.mark.parametrize(
    ("failed", "advice"),
    [
        ({"server": 2}, "the same command asks them again"),
        (
            {"too_long": 2},
            "they fail again when they are asked again; --max_unscored says how many are tolerated",
        ),
        ({"server": 2, "bad_request": 1}, "the same command asks them again, which cannot help 1 of them"),
    ],
    ids=["of the way", "of the request", "both"],
)
def test_asking_again_is_advised_only_where_it_can_help(failed: dict[str, int], advice: str) -> None:
    (said,) = lost_complaints(Tally(failed=Counter(failed)), again="the same command")

    assert said.partition("); ")[2] == advice
