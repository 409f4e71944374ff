from collections.abc import Mapping
from typing import Any

import pytest

from mmeval.media import Interleaved
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.mme_unify_choice import letter_of

OPTIONS = ["A. a green kite", "B. two boats", "C. a wall", "D. snow"]
MANY = ["（A）左", "（B）右", "（C）上", "（D）下", "（E）无"]


@pytest.mark.parametrize(
    ("answer", "options", "letter"),
    [
        ("c", OPTIONS, "C"),
        ("E", OPTIONS, None),
        ("e.", MANY, "E"),
        ("", OPTIONS, None),
        ("answer: a wall", OPTIONS, "C"),
        ("Answer: B. (option E is missing)", OPTIONS, "B"),
        ("I see two boats.", OPTIONS, "B"),
        ("snow on a wall", OPTIONS, None),
        ("右", MANY, "B"),
        ("yes", ["A. Yes", "B. No"], "A"),
        ("", ["A. ", "B. "], None),
    ],
)
def test_the_letter_of_an_answer(
    answer: str, options: list[str], letter: str | None
) -> None:
    assert letter_of(answer, options) == letter


def scored(
    answer: str, labels: Mapping[str, Any] | None = None, **switches: Any
) -> Score:
    sample = Sample(
        "1",
        (),
        metadata={"choice": OPTIONS, "answer": "A"} if labels is None else labels,
    )
    bound = bind(
        load_metric("mme_unify_choice"), switches, switches.pop("profile", "standard")
    )
    return score_one(bound, Trial(sample, output=Interleaved.from_text(answer)))[
        "mme_unify_choice"
    ]


@pytest.mark.parametrize(
    ("script", "right"),
    [
        ("understanding", ["A"]),
        ("al", ["A"]),
        ("sd", ["A", " A\n"]),
        ("csq", ["A", " A\n", "A.", "Answer: B", "BAD"]),
    ],
)
def test_the_official_profile_compares_as_the_script_of_the_task_does(
    script: str, right: list[str]
) -> None:
    answers = ["A", " A\n", "a", "A.", "Answer: B", "BAD", ""]
    values = {
        answer: scored(answer, script=script, profile="official").value
        for answer in answers
    }
    assert [answer for answer, value in values.items() if value == 1] == right
    assert scored("Answer: B", script=script) == Score(0.0, evidence={"found": "B"})
    assert scored("A.", script=script) == Score(1.0, evidence={"found": "A"})


@pytest.mark.parametrize(
    "labels",
    [{}, {"choice": "A: x", "answer": "A"}, {"choice": OPTIONS, "answer": "E"}],
)
def test_a_sample_without_options_is_unscored(labels: Mapping[str, Any]) -> None:
    assert scored("A", labels).status == "unscored"
