from __future__ import annotations

from typing import Any

import pytest

from mmeval.content.media import Media
from tests.support.picture_judging import RED, answer, judged, trial_of
from tests.support.pictures import even, medium, picture_trial
from tests.support.tiny_media import picture, wav

YES = answer("yes")
ODD: dict[str, dict[str, Any]] = {
    "one pixel": {"size": (1, 1)},
    "transparent": {"mode": "RGBA"},
    "sixteen bits": {"mode": "I;16"},
    "grey": {"mode": "L"},
    "JPEG": {"form": "JPEG"},
}


@pytest.mark.parametrize("options", ODD.values(), ids=ODD)
@pytest.mark.parametrize("region", ["whole", "bbox"])
def test_any_picture_that_can_be_decoded_is_shown(options: dict[str, Any], region: str) -> None:
    given = medium(even(40, 40, (9, 9, 9)))
    trial = picture_trial(Media.from_bytes(picture(**options)), given=(given,), bbox=[9, 9, 30, 30], object="a")
    done = judged("judge_presence", trial, YES, region=region)
    assert (done.score.value, len(done.calls)) == (1.0, 1)


def test_a_sound_is_no_picture() -> None:
    done = judged("judge_presence", trial_of("", Media.from_bytes(wav()), object="a"), YES)
    assert (done.score.value, done.calls) == (0.0, [])


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_answer_with_ten_thousand_places_is_0(profile: str) -> None:
    places = "".join(f"<image_start><image_{number}><image_end>" for number in range(10_000))
    done = judged("judge_self_count", trial_of(f"{places}<count>4</count>", RED, object="kites"), YES, profile)
    assert (done.score.value, done.calls) == (0.0, [])


def test_a_picture_to_be_edited_that_is_damaged_is_no_fault_of_the_answer() -> None:
    damaged = Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    trial = picture_trial(even(40, 40, (9, 9, 9)), given=(damaged,), bbox=[9, 9, 30, 30], object="a")
    assert judged("judge_presence", trial, YES, region="bbox").score.status == "unscored"
