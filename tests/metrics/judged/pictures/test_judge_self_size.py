from __future__ import annotations

from typing import Any

import pytest

from mmeval.records.trial import Trial
from tests.support.picture_judging import RED, answer, judged, trial_of

YES, NO = answer("yes"), answer("no")


def says(claim: str, **labels: Any) -> Trial:
    row = {"object": ["rug", "pea", "cup"], "relation": "size", **labels}
    return trial_of(f"<image_start><image_0><image_end> {claim}", RED, **row)


def test_every_two_things_must_be_in_the_order_that_is_said() -> None:
    claim = says('["pea", "cup", "rug"]')
    right, wrong = (
        judged("judge_self_size", claim, YES),
        judged("judge_self_size", claim, {"rug is obviously": NO, "": YES}),
    )

    assert (right.score.value, wrong.score.value, len(right.calls)) == (1.0, 0.0, 3)
    assert "exactly one pea and exactly one cup, and the cup is obviously larger than the pea" in right.questions[0]


@pytest.mark.parametrize(
    ("relation", "more"),
    [("size", "larger"), ("area", "larger"), ("volume", "bigger"), ("length", "longer"), ("height", "higher")],
)
def test_each_relation_has_its_word(relation: str, more: str) -> None:
    done = judged("judge_self_size", says('["pea", "cup", "rug"]', relation=relation, text="Mind the handle."), YES)

    assert f"the rug is obviously {more} than the cup. Mind the handle." in done.questions[2]


@pytest.mark.parametrize(
    "claim", ['["pea", "rug"]', '["pea",\n"cup", "rug"]', "['pea', 'cup', 'rug']", "pea, cup, rug"]
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_another_claim_is_0_and_nobody_is_asked(claim: str, profile: str) -> None:
    done = judged("judge_self_size", says(claim), "yes", profile)

    assert (done.score.value, done.calls) == (0.0, [])


def test_the_release_lets_a_list_name_a_thing_twice_and_takes_its_first_entries() -> None:
    claim = says('["pea", "pea", "cup", "rug"]')
    standard, official = (judged("judge_self_size", claim, "yes", profile) for profile in ("standard", "official"))

    assert (standard.score.value, standard.calls) == (0.0, [])
    assert (official.score.value, official.score.evidence["claimed"]) == (1.0, ["pea", "pea", "cup"])


@pytest.mark.parametrize("labels", [{"object": ["a"]}, {"relation": "age"}, {"relation": None}, {"text": 3}])
def test_a_row_that_does_not_say_what_is_compared_is_unscored(labels: dict[str, Any]) -> None:
    assert judged("judge_self_size", says('["pea", "cup", "rug"]', **labels), YES).score.status == "unscored"
