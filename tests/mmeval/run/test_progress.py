import pytest

from mmeval.run.progress import left_to_judge, opening


@pytest.mark.parametrize(
    ("kept", "new", "said"),
    [
        (0, 30, "asking 30 answers"),
        (0, 1, "asking 1 answer"),
        (120, 30, "kept 120 answers from 2026-01-31 12:00:00, asking 30 new"),
        (120, 0, "kept 120 answers from 2026-01-31 12:00:00, nothing new to ask"),
    ],
)
def test_the_first_line_says_what_is_kept_since_when_and_what_is_new(kept: int, new: int, said: str) -> None:
    assert opening(kept=kept, new=new, since="2026-01-31 12:00:00") == said


def test_where_some_are_known_as_bad_the_number_is_the_most_that_are_asked() -> None:
    said = [opening(kept=kept, new=3, since="", bad=True) for kept in (0, 2)]

    assert said == ["asking up to 3 answers: some samples cannot be asked", "kept 2 answers, asking 3 new"]


@pytest.mark.parametrize(("count", "said"), [(1, "1 answer is"), (1200, "1,200 answers are")])
def test_what_is_left_to_judge_is_counted(count: int, said: str) -> None:
    assert left_to_judge(count) == f"the model is done; {said} still to be judged"
