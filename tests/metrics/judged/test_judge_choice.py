from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric
from mmeval.records import Trial
from tests.support.judging import judged
from tests.support.toy import reply, sample


def trial(**labels: Any) -> Trial:
    return Trial(sample(**labels), output=reply("A waltz.").output)


def choice(name: str) -> str:
    return f'{{"reason": "r", "choice": "{name}"}}'


def test_the_wanted_option_is_1_and_any_other_0_unless_each_has_a_value_or_the_row_its_own() -> (
    None
):
    for said, value in {"Dance.": 1.0, "song": 0.0}.items():
        votes = [choice(name) for name in (said, "song" if value else "dance", said)]
        done = judged(
            "judge_choice",
            trial(),
            *votes,
            options=["dance", "song"],
            wanted="dance",
            repeats=3,
        )
        assert done.score.value == value
        assert done.score.evidence["choice"] == ("dance" if value else "song")
    valued = {"options": ["a", "b"], "values": {"a": 0.25, "b": 0.75}}
    sure, unsure = (
        judged("judge_choice", trial(), choice(said), **valued).score
        for said in ("b", "not sure")
    )
    assert sure.value == 0.75
    assert sure.bounds is None
    assert unsure.value is None
    assert unsure.bounds == (0.25, 0.75)
    row = trial(kinds={"dance": "it has steps", "song": ""}, right="song")
    done = judged(
        "judge_choice", row, choice("song"), options_key="kinds", wanted_key="right"
    )
    assert '- "dance": it has steps\n- "song"\n' in done.questions[0]
    assert done.score.value == 1.0


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ({"options_key": "gone", "wanted": "a"}, "'gone'"),
        ({"options": ["a"], "wanted": "a"}, "two options"),
        ({"options": ["a", "b"], "wanted": "c"}, "'c'"),
        ({"options": ["a", "b"], "values": {"a": 1}}, "'b'"),
    ],
)
def test_options_that_do_not_fit_leave_it_unscored_or_are_refused(
    switches: dict[str, Any], words: str
) -> None:
    done = judged("judge_choice", trial(), **switches)
    assert done.score.status == "unscored"
    assert done.asked == []
    assert words in done.score.reason
    for value in (1.1, -0.1, True):
        with pytest.raises(UsageError, match="'values'"):
            bind(load_metric("judge_choice"), {"values": {"a": value}})
