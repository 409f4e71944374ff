from typing import Any

import pytest

from mmeval.metric import bind
from mmeval.metrics.text.numeric import numeric
from tests.support.trials import score_of, trial


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("3/4", "0.75", 1),
        ("1e3", "1,000.0", 1),
        ("4 and 5 make 9", "9", 1),
        ("4 and 5 make 8", "9", 0),
        ("-9", "9", 0),
        ("nine", "9", 0),
        ("9007199254740993", "9007199254740992", 0),
    ],
)
def test_the_last_number_of_the_answer_is_compared_exactly(
    answer: str, reference: str, value: int
) -> None:
    assert score_of(numeric, trial(answer, reference)).value == value


@pytest.mark.parametrize(
    ("switches", "value"),
    [
        ({}, 0),
        ({"tolerance": 0.1}, 1),
        ({"relative_tolerance": 0.02}, 0),
        ({"relative_tolerance": 0.03}, 1),
    ],
)
def test_numbers_within_a_tolerance_are_equal(
    switches: dict[str, Any], value: int
) -> None:
    assert score_of(numeric, trial("3.9", "4"), **switches).value == value


def test_the_number_is_read_where_the_answer_stands() -> None:
    answered = trial(r"\boxed{18} in 2 steps", "9 + 9 = 18")
    assert score_of(numeric, answered, extract="boxed").value == 1


def test_a_reference_without_a_number_is_known_before_the_run() -> None:
    answered = trial("9", "nine")
    score = score_of(numeric, answered)
    assert score.status == "unscored"
    assert bind(numeric).sample_fault(answered.sample) == score.reason


def test_an_answer_without_references_is_unscored() -> None:
    assert score_of(numeric, trial("9")).status == "unscored"


def test_a_number_beyond_floating_point_is_compared() -> None:
    assert score_of(numeric, trial("1e999", "1e999")).value == 1
