from __future__ import annotations

from collections import Counter

import pytest

from mmeval.generation import Tally
from mmeval.options import RunCounts
from mmeval.outcome import lost_complaints, unasked_complaints


@pytest.mark.parametrize(
    ("failed", "advice"),
    [
        ({"server": 2}, "the same command asks them again"),
        (
            {"too_long": 2},
            "they fail again when they are asked again, unless what is wrong is corrected; --max_unscored says how "
            "many are tolerated",
        ),
        (
            {"server": 2, "bad_request": 1},
            "the same command asks them again, which helps 1 of them only when what is wrong is corrected",
        ),
    ],
    ids=["of the way", "of the request", "both"],
)
def test_asking_again_is_advised_only_where_it_can_help(failed: dict[str, int], advice: str) -> None:
    (said,) = lost_complaints(Tally(failed=Counter(failed)), again="the same command")

    assert said.partition("); ")[2] == advice


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (RunCounts(unsupported=6), ["none of the 6 trials could be asked, so there is no number: exit code 3"]),
        (RunCounts(unsupported=1), ["the only trial could not be asked, so there is no number: exit code 3"]),
        (RunCounts(unsupported=6, kept=1), []),
        (RunCounts(), []),
    ],
    ids=["several", "one", "one was asked", "no trials"],
)
def test_an_exit_code_for_want_of_trials_that_can_be_asked_has_its_reason(counts: RunCounts, said: list[str]) -> None:
    assert list(unasked_complaints(counts)) == said
