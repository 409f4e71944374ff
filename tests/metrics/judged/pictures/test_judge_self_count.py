from __future__ import annotations

import pytest

from mmeval.records.trial import Trial
from tests.support.picture_judging import BLUE, RED, answer, judged, trial_of

IMAGE = "<image_start><image_0><image_end>"


def says(claim: str) -> Trial:
    return trial_of(f"Here: {IMAGE} {claim}", RED, object="kites")


@pytest.mark.parametrize(("letter", "value"), [("C", 1.0), ("B", 0.0), ("F", 0.0)])
def test_the_judge_must_count_what_the_answer_says(letter: str, value: float) -> None:
    done = judged("judge_self_count", says("<count>4</count>"), answer(letter))

    assert (done.score.value, done.score.evidence["claimed"], done.pictures()) == (value, 4, (RED,))


@pytest.mark.parametrize("claim", ["<count>7</count>", "<count>2</count>", "4", "<count>four</count>", ""])
def test_a_claim_out_of_range_or_none_is_0_and_nobody_is_asked(claim: str) -> None:
    for profile in ("standard", "official"):
        done = judged("judge_self_count", says(claim), "C", profile)

        assert (done.score.value, done.calls) == (0.0, [])
        assert done.score.evidence["reason"]


def test_the_release_reads_the_last_digit_of_a_claim_alone() -> None:
    standard, official = (
        judged("judge_self_count", says("<count>14</count>"), "C", p) for p in ("standard", "official")
    )

    assert (standard.score.value, standard.calls) == (0.0, [])
    assert (official.score.value, official.score.evidence["claimed"]) == (1.0, 4)


def test_blanks_around_a_number_do_not_matter_but_for_the_release() -> None:
    spaced = says("<count> 4 </count>")

    assert judged("judge_self_count", spaced, "C").score.value == 1.0
    assert judged("judge_self_count", spaced, "C", "official").score.value == 0.0


def test_other_ranges_can_be_asked_for() -> None:
    assert judged("judge_self_count", says("<count>7</count>"), "F", most=8).score.value == 1.0


@pytest.mark.parametrize(
    "trial",
    [
        trial_of("<count>4</count>", object="kites"),
        trial_of(f"{IMAGE}<image_start><image_1><image_end><count>4</count>", RED, BLUE, object="kites"),
        trial_of(f"{IMAGE}<image_start><image_1><image_end><count>4</count>", RED, object="kites"),
    ],
    ids=["none", "two", "two places"],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_answer_without_one_picture_in_one_place_is_0(trial: Trial, profile: str) -> None:
    done = judged("judge_self_count", trial, "C", profile)

    assert (done.score.value, done.calls) == (0.0, [])


def test_a_row_that_does_not_say_what_is_counted_is_unscored() -> None:
    assert judged("judge_self_count", trial_of("", RED), "C").score.status == "unscored"
