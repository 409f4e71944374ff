from pathlib import Path
from typing import Any

import pytest

from mmeval.metric import bind
from mmeval.metrics.image.networks.clip import CLIP
from mmeval.records import Sample, Trial
from mmeval.tasks.mme_unify.pictures.mme_unify_explanation import mme_unify_explanation
from tests.support.models import tiny
from tests.support.pictures import answer, vectors_file
from tests.support.trials import score_of, scored_together

OPTIONS = ["C: the door", "A: the roof", "```B: the wall```", "D: the wall"]
TEXTS = {
    "door": [8, 1, 0],
    "wall": [1, 0, 8],
    "C: the door": [9, 0, 0],
    "A: the roof": [0, 9, 0],
    "```B: the wall```": [0, 0, 9],
    "D: the wall": [0, 0, 9],
}


def asked(*given: str, right: str = "C", options: Any = OPTIONS) -> Trial:
    return Trial(
        Sample("1", (), metadata={"choice": options, "answer": right}),
        output=answer(*given),
    )


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    return vectors_file(tmp_path, TEXTS)


def values(vectors: str, trial: Trial, **switches: Any) -> tuple[Any, ...]:
    found = [
        score_of(mme_unify_explanation, trial, one, vectors=vectors, **switches)
        for one in PROFILES
    ]
    return tuple(score.value for score in found)


PROFILES = ("standard", "official")


def test_the_letter_is_the_one_before_the_option_or_that_of_its_place(
    vectors: str,
) -> None:
    assert values(vectors, asked(":door", "red")) == (1, 0)
    assert values(vectors, asked(":door", "red", right="A")) == (0, 1)
    assert values(vectors, asked(":door", "red", right="A"), letters="written") == (
        0,
        0,
    )


def test_an_exact_tie_is_wrong_or_the_first_wins(vectors: str) -> None:
    tied = asked(":wall", "red", right="B")
    assert values(vectors, tied, letters="written") == (0, 1)


@pytest.mark.parametrize("given", [(), (":",), (": \n", "red"), ("red",)])
def test_an_answer_without_a_text_is_wrong(
    given: tuple[str, ...], vectors: str
) -> None:
    assert values(vectors, asked(*given)) == (0, 0)


def test_in_the_script_an_answer_without_a_picture_is_wrong_too(vectors: str) -> None:
    assert values(vectors, asked(":door"), letters="written") == (1, 0)
    assert values(vectors, asked(":door", "missing"), letters="written") == (1, 1)


@pytest.mark.parametrize(
    "labels",
    [{"right": "E"}, {"options": "C: the door"}, {"options": [1]}, {"options": ["no"]}],
)
def test_a_sample_without_the_right_option_is_unscored(
    labels: Any, vectors: str
) -> None:
    trial = asked(":door", **labels)
    assert bind(mme_unify_explanation).sample_fault(trial.sample)
    assert values(vectors, trial) == (None, None)


def test_by_a_model_a_batch_scores_as_each_answer_alone() -> None:
    model = tiny("clip", CLIP)
    trials = [
        asked(f":{option}", "red", right=right)
        for option in OPTIONS[:2]
        for right in "CA"
    ] + [asked()]
    together = [
        score.value
        for score in scored_together(mme_unify_explanation, trials, model=model)
    ]
    assert (
        together
        == [score_of(mme_unify_explanation, one, model=model).value for one in trials]
        == [1, 0, 0, 1, 0]
    )
