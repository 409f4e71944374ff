from typing import Any

import pytest

from mmeval.content import Interleaved, Part, text_part
from mmeval.metrics.text.exact_match import exact_match
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("answer", "target", "switches", "value"),
    [
        *[(" Paris\n", "Paris", {}, 1), (" Paris\n", "Paris", {"strip": False}, 0), ("paris", "Paris", {}, 0)],
        *[("STRASSE", "straße", {"ignore_case": True}, 1), ("Paris.", "Paris", {}, 0), ("", "", {}, 1)],
        *[("Paris.", "Paris", {"ignore_punctuation": True}, 1), ("Paris", ["Rome", "Paris"], {}, 1)],
    ],
)
def test_texts_are_compared(answer: str, target: str | list[str], switches: dict[str, Any], value: int) -> None:
    assert score_of(exact_match, trial(answer, target), **switches).value == value


def test_hidden_reasoning_is_left_out_and_without_references_it_is_unscored() -> None:
    answer = Interleaved((Part("reasoning", text="Rome?", raw="<think>Rome?</think>"), text_part("Paris")))
    assert score_of(exact_match, trial(answer, "Paris")).value == 1
    assert score_of(exact_match, trial("a")).status == "unscored"
