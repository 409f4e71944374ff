from typing import Any

import pytest

from mmeval.media import Media, media_part
from mmeval.metric import bind, load_metric
from tests.support.judging import LOST, RED, answer, judged_by_words, trial_of
from tests.support.pictures import picture_trial

KITE = trial_of("", RED, object="a kite")


def test_a_picture_stands_before_the_words_or_after_them_and_without_its_name() -> None:
    first = judged_by_words("judge_presence", KITE, answer("yes"))
    last = judged_by_words("judge_presence", KITE, answer("yes"), media_first=False)
    assert first.kinds == [["image", "text"]]
    assert last.kinds == [["text", "image"]]
    named = Media.from_bytes(RED.read(), name="exactly_one_kite.png")
    trial = picture_trial(named, object="a kite")
    (part, _) = (
        judged_by_words("judge_presence", trial, answer("yes"))
        .calls[0]
        .request.messages[0]
        .content.parts
    )
    assert part.raw == ""
    assert part.label == ""
    assert part.text is None
    assert part == media_part(named, "image")


@pytest.mark.parametrize("said", [LOST, "  "], ids=["lost", "blank"])
def test_a_lost_reply_leaves_the_trial_unscored_and_is_wrong_in_the_official_profile(
    said: str,
) -> None:
    says = {"": said}
    open_, wrong = (
        judged_by_words("judge_presence", KITE, says, profile).score
        for profile in ("standard", "official")
    )
    assert open_.status == "unscored"
    assert open_.bounds == (0.0, 1.0)
    assert open_.cause == "lost"
    assert wrong.value == 0.0
    assert wrong.evidence["questions"][0]["unread"] == 1
    assert wrong.evidence["questions"][0]["lost"]


def test_the_majority_of_repeats_decides_and_a_users_prompt_has_its_own_words() -> None:
    done = judged_by_words(
        "judge_presence",
        KITE,
        {"": [answer("yes"), answer("no"), answer("yes")]},
        repeats=3,
    )
    assert done.score.value == 1.0
    assert len(done.calls) == 3
    assert done.score.evidence["questions"][0]["spread"]["answer"] == pytest.approx(
        1 / 3
    )
    prompt: dict[str, Any] = {
        "prompt": {"text": "Is there {{ description }}? End with Yes or No."}
    }
    done = judged_by_words("judge_presence", KITE, "It flies. Yes", **prompt)
    assert done.questions == ["Is there a kite? End with Yes or No."]
    assert done.score.value == 1.0
    ours, theirs = (
        bind(load_metric("judge_presence"), switches) for switches in ({}, prompt)
    )
    assert ours.definition["prompt"] != theirs.definition["prompt"]
    assert len(theirs.prompts["prompt"]["sha256"]) == 64
