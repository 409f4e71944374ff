from collections.abc import Mapping
from typing import Any

import pytest

from mmeval.metrics.judged.ueval.rows import (
    criteria_of,
    kind_of,
    released_kind,
    row_fault,
    task_of,
)

Labels = Mapping[str, Any]


@pytest.mark.parametrize(
    ("labels", "task", "kind", "released"),
    [
        ({"task": "diagram"}, "diagram", "closed", "closed"),
        ({"task": " Space\n"}, "space", "closed", "closed"),
        ({"task": "  ", "task_type": "Paper"}, "paper", "closed", "open"),
        (
            {"task_type": "textbook", "question_type": "open"},
            "textbook",
            "closed",
            "open",
        ),
        ({"task": "exercise", "task_type": "paper"}, "exercise", "open", "open"),
        ({"task": "cooking", "question_type": " Closed"}, "cooking", "closed", "open"),
    ],
)
def test_the_kind_is_that_of_the_task_and_in_the_release_that_of_one_column(
    labels: Labels, task: str, kind: str, released: str
) -> None:
    assert task_of(labels) == task
    assert kind_of(labels) == kind
    assert released_kind(labels) == released
    assert kind_of(labels, "released") == released


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        ({"task": "cooking"}, "'cooking'"),
        ({}, "question_type"),
        ({"task": 7}, "question_type"),
        ({"task": "art", "text_rubrics": "One."}, "'text_rubrics'"),
        ({"task": "art", "image_rubrics": ["One.", " "]}, "criterion 2"),
        ({"task": "art", "image_rubrics": [{"criteria": "One."}]}, "criterion 1"),
    ],
)
def test_a_row_that_cannot_be_judged_says_why(labels: Labels, word: str) -> None:
    assert word in row_fault(labels)


def test_criteria_are_texts_or_objects_and_a_side_may_have_none() -> None:
    labels = {
        "task": "art",
        "text_rubrics": ["One.", {"criterion": "Two.", "tags": ["x"]}],
        "image_rubrics": None,
    }
    assert criteria_of(labels, "text_rubrics") == ("One.", "Two.")
    assert criteria_of(labels, "image_rubrics") == criteria_of(labels, "other") == ()
    assert row_fault(labels) == row_fault({"task": "cooking"}, "released") == ""
