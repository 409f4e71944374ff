from __future__ import annotations

from typing import Any

import pytest

from mmeval.decode import image
from mmeval.records.response import Response
from mmeval.records.trial import Trial
from tests.support.picture_judging import BLUE, LOST, RED, answer, judged, trial_of
from tests.support.pictures import DAMAGED, even, medium, painted, picture_trial

YES, NO = answer("yes"), answer("no")
SCENE = "Taken as a whole"


def beach(*things: str) -> Trial:
    return trial_of("", RED, object=["a beach", *things])


@pytest.mark.parametrize(("said", "value"), [(YES, 1.0), (NO, 0.0)])
def test_one_description_is_there_or_not(said: str, value: float) -> None:
    done = judged("judge_presence", trial_of("", RED, object="exactly one kite"), said)

    assert (done.score.value, done.pictures()) == (value, (RED,))
    assert "shows this: exactly one kite" in done.questions[0]
    assert done.score.evidence["questions"][0]["reason"] == "so"


@pytest.mark.parametrize(("scene", "value"), [(YES, 0.5), (NO, 0.0)])
def test_without_its_scene_nothing_counts_and_with_it_the_share_of_the_rest(scene: str, value: float) -> None:
    says = {SCENE: scene, "kite": YES, "crab": NO}
    done = judged("judge_presence", beach("exactly one kite", "exactly one crab"), says, scene=True)

    assert (done.score.value, len(done.calls)) == (value, 3)


@pytest.mark.parametrize(
    ("scene", "tent", "value"), [(YES, NO, 1.0), (YES, YES, 0.0), (NO, NO, 0.0)], ids=["right", "tent", "no scene"]
)
def test_what_is_not_wanted_must_be_absent_from_the_scene(scene: str, tent: str, value: float) -> None:
    done = judged("judge_presence", beach("tents"), {SCENE: scene, "": tent}, scene=True, wanted=False)

    assert done.score.value == value


@pytest.mark.parametrize(
    ("scene", "tent", "value"),
    [("Yes", "No", 1.0), ("A beach.", "It has none", 1.0), ("In the snow", "No", 0.0), ("Yes", "Not sure", 1.0)],
)
def test_the_release_looks_for_no_beside_what_is_not_wanted_and_a_scene_without_it_holds(
    scene: str, tent: str, value: float
) -> None:
    says = {SCENE: scene, "": tent}
    done = judged("judge_presence", beach("tents"), says, "official", scene=True, wanted=False)

    assert done.score.value == value


def test_the_same_prose_is_read_by_the_release_and_refused_by_a_robust_reading() -> None:
    says = "There are no eyes here. No way"
    official, standard = (
        judged("judge_presence", beach(), says, profile).score for profile in ("official", "standard")
    )

    assert (official.value, standard.status) == (1.0, "unscored")  # "eyes" holds "yes"


def test_each_picture_shows_its_own_description_or_all_is_0() -> None:
    trial = trial_of("", RED, BLUE, object=["red", "blue"])
    right = judged("judge_presence", trial, YES, pictures="each")
    wrong = judged("judge_presence", trial, {"blue": NO, "": YES}, pictures="each")

    assert (right.score.value, wrong.score.value) == (1.0, 0.0)
    assert [right.pictures(at) for at in (0, 1)] == [(RED,), (BLUE,)]


def test_the_last_of_several_pictures_may_be_the_one_that_counts() -> None:
    trial = trial_of("one <image_start><image_0><image_end> two", RED, BLUE, object="blue")

    assert judged("judge_presence", trial, YES, pictures="last").pictures() == (BLUE,)
    assert judged("judge_presence", trial, YES, "official", pictures="last").pictures() == (BLUE,)


def test_of_an_edited_picture_the_judge_sees_the_box_in_the_size_of_the_original() -> None:
    original = even(100, 200, (0, 0, 255))
    edited = painted(even(50, 100, (0, 0, 255)), slice(20, 30), slice(40, 60), (255, 0, 0))
    trial = picture_trial(edited, given=(original,), bbox=[80, 40, 120, 60], object="a red box")
    done = judged("judge_presence", trial, YES, region="bbox")
    (crop,) = done.pictures()

    assert (done.score.value, image(crop).size, crop.name) == (1.0, (80, 40), "")
    assert image(crop).getpixel((40, 20)) == (255, 0, 0)
    assert image(judged("judge_presence", trial, YES, region="bbox", margin=20).pictures()[0]).size == (60, 30)


@pytest.mark.parametrize(
    ("trial", "switches", "reason"),
    [
        (trial_of("none", object="a"), {}, "0 pictures, not exactly one"),
        (trial_of("", RED, BLUE, object="a"), {}, "2 pictures, not exactly one"),
        (trial_of("", DAMAGED, object="a"), {}, "picture"),
        (trial_of("", RED, object=["a", "b"]), {"pictures": "each"}, "1 pictures, not exactly 2"),
        (trial_of("", RED, BLUE, RED, object=["a", "b"]), {"pictures": "each"}, "3 pictures, not exactly 2"),
        (trial_of("", RED, DAMAGED, object=["a", "b"]), {"pictures": "each"}, "picture"),
        (trial_of("none", object="a"), {"pictures": "last"}, "the answer has no picture"),
    ],
)
def test_an_answer_without_the_right_pictures_is_0_and_nobody_is_asked(
    trial: Trial, switches: dict[str, Any], reason: str
) -> None:
    done = judged("judge_presence", trial, YES, **switches)

    assert (done.score.value, done.calls) == (0.0, [])
    assert reason in done.score.evidence["reason"]


@pytest.mark.parametrize(
    ("labels", "switches", "reason"),
    [
        ({}, {}, "no descriptions under 'object'"),
        ({"object": ["a", 3]}, {}, "no descriptions under 'object'"),
        ({"object": "a"}, {"scene": True}, "no description but the scene"),
        ({"object": "a"}, {"region": "bbox"}, "must be a box"),
        ({"object": "a", "bbox": [1, 1, 3, 3]}, {"region": "bbox", "pictures": "last"}, "does not go with"),
        ({"object": "a", "bbox": [3, 3, 1, 1]}, {"region": "bbox"}, "is empty"),
    ],
)
def test_a_row_that_does_not_say_what_to_look_for_is_unscored(
    labels: dict[str, Any], switches: dict[str, Any], reason: str
) -> None:
    done = judged("judge_presence", trial_of("", RED, **labels), YES, **switches)

    assert (done.score.status, done.calls) == ("unscored", [])
    assert reason in done.score.reason


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ({SCENE: NO, "": LOST}, (0.0, None)),
        ({SCENE: YES, "kite": YES, "": LOST}, (None, (0.5, 1.0))),
        ({SCENE: LOST, "kite": YES, "": NO}, (None, (0.0, 0.5))),
    ],
    ids=["decided", "one lost", "scene lost"],
)
def test_a_lost_reply_costs_only_what_it_decides(says: dict[str, str | Response], expected: tuple[Any, Any]) -> None:
    score = judged("judge_presence", beach("exactly one kite", "exactly one crab"), says, scene=True).score

    assert (score.value, score.bounds) == expected


def test_without_an_answer_the_trial_is_unscored() -> None:
    for pictures in ("only", "last", "each"):
        assert judged("judge_presence", trial_of(None, object="a"), YES, pictures=pictures).score.status == "unscored"


def test_a_large_picture_is_shown_as_it_is() -> None:
    large = medium(even(300, 900, (1, 2, 3)))

    assert judged("judge_presence", trial_of("", large, object="a"), YES).pictures() == (large,)
