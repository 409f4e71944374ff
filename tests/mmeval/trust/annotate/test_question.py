from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.trust.annotate.question import (
    AnnotationQuestion,
    choice_options,
    criteria_of,
    level_options,
    yes_no_options,
)

RUBRIC = AnnotationQuestion(
    "rubric",
    "rubric",
    "Which are met?",
    criteria=criteria_of([{"criterion": "a hare", "weight": 2}, "an owl"]),
)
ERRORS = AnnotationQuestion(
    "labels", "errors", "Which?", criteria=criteria_of(["blurred", "cut"])
)
GRADE = AnnotationQuestion(
    "grade", "polite", "How polite?", level_options(["rude", "fair", "polite"])
)


def values(question: AnnotationQuestion, chosen: Any) -> dict[str, Any]:
    return {answer.question: answer.value for answer in question.answers(chosen)}


def test_a_level_is_rated_by_its_place() -> None:
    assert values(GRADE, 2) == {"polite": 3.0}


def test_levels_as_shares_go_from_0_to_1() -> None:
    options = level_options(
        {1: "bad", 3: "fair", 5: "good"},
        as_share=True,
    )
    assert [option.value for option in options] == [0.0, 0.5, 1.0]


def test_a_choice_is_rated_by_its_word() -> None:
    options = choice_options({"hare": "long ears", "owl": ""})
    question = AnnotationQuestion("choice", "animal", "Which?", options)
    assert values(question, 0) == {"animal": "hare"}


def test_no_is_rated_1_where_no_is_wanted() -> None:
    options = yes_no_options(yes=0.0)
    question = AnnotationQuestion("yes_no", "rude", "Is it rude?", options)
    assert values(question, 1) == {"rude": 1.0}


def test_a_rubric_has_the_weighted_share_last() -> None:
    answers = RUBRIC.answers([True, False])
    assert [answer.question for answer in answers] == ["rubric/1", "rubric/2", "rubric"]
    assert answers[-1].value == pytest.approx(2 / 3)


def test_a_rubric_with_an_unjudged_criterion_has_no_share() -> None:
    assert values(RUBRIC, [True, None]) == {
        "rubric/1": 1.0,
        "rubric/2": None,
        "rubric": None,
    }


def test_error_labels_are_counted() -> None:
    assert values(ERRORS, [1]) == {"errors/1": 0.0, "errors/2": 1.0, "errors": 1.0}


@pytest.mark.parametrize("question", [RUBRIC, ERRORS, GRADE])
def test_a_rater_may_say_nothing(question: AnnotationQuestion) -> None:
    assert values(question, None) == {question.name: None}


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        (GRADE, 3),
        (GRADE, -1),
        (GRADE, True),
        (GRADE, "2"),
        (RUBRIC, [True]),
        (RUBRIC, [1, 0]),
        (ERRORS, [2]),
        (ERRORS, 1),
        (AnnotationQuestion("text", "t", "?"), "  "),
        (AnnotationQuestion("text", "t", "?"), "x" * 20_001),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    question: AnnotationQuestion, chosen: Any
) -> None:
    with pytest.raises(UsageError):
        question.answers(chosen)


def test_a_browser_gets_no_value_of_an_option() -> None:
    assert GRADE.to_json()["options"][0] == {"name": "1", "text": "rude"}
