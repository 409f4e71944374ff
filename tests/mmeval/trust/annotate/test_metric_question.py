from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.trust.annotate.metric_question import MetricQuestion
from mmeval.trust.annotate.question import AnnotationQuestion


def question(labels: dict[str, Any] | None = None, **switches: Any) -> Any:
    return MetricQuestion("judge", switches).of(labels or {})


def ratings(asked: AnnotationQuestion) -> dict[str, Any]:
    return {option.name: option.value for option in asked.options}


def test_levels_are_graded_in_the_units_of_the_metric() -> None:
    asked = question(
        levels=["rude", "fair", "polite"],
        criterion="How polite?",
    )
    assert asked.text == "How polite?"
    assert ratings(asked) == {"1": 0.0, "2": 0.5, "3": 1.0}


def test_the_wanted_option_is_rated_1() -> None:
    asked = question(
        {"animals": ["hare", "owl"], "right": "owl"},
        question="Which?",
        options=(),
        options_key="animals",
        wanted_key="right",
    )
    assert ratings(asked) == {"hare": 0.0, "owl": 1.0}


def test_options_may_have_ratings_of_their_own() -> None:
    asked = question(
        question="?", options=["hare", "owl"], values={"hare": 0.2, "owl": 0.9}
    )
    assert ratings(asked) == {"hare": 0.2, "owl": 0.9}


def test_yes_is_rated_1_where_it_is_wanted() -> None:
    asked = question(question="Is it rude?", wanted=True)
    assert ratings(asked) == {"yes": 1.0, "no": 0.0}


def test_the_label_of_a_sample_decides_what_is_wanted() -> None:
    asked = question(
        {"rude": "no"},
        question="Is it rude?",
        wanted_key="rude",
    )
    assert ratings(asked) == {"yes": 0.0, "no": 1.0}


def test_the_criteria_are_those_of_the_sample() -> None:
    asked = question(
        {"rubric": ["a hare", "an owl"]},
        criteria="rubric",
    )
    assert [criterion.text for criterion in asked.criteria] == ["a hare", "an owl"]


def test_raters_see_what_the_judge_sees() -> None:
    asked = question(question="?", show_input=False, show_references=True)
    assert (asked.shows_input, asked.shows_references) == (False, True)


@pytest.mark.parametrize(
    "switches",
    [
        {"criteria": "rubric"},
        {"options": [], "question": "?"},
        {"question": "", "question_key": "asked"},
    ],
)
def test_a_sample_without_a_question_is_refused(switches: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        question(**switches)


def test_a_metric_without_a_question_needs_a_file() -> None:
    with pytest.raises(UsageError, match="--ask"):
        question(mode="robust")
