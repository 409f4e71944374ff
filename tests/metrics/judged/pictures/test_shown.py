from typing import Any

import pytest

from mmeval.content import Media
from tests.support.picture_judging import answer, judged, trial_of
from tests.support.pictures import even, medium, picture_trial
from tests.support.tiny_media import picture, wav

YES = answer("yes")
ODD: list[dict[str, Any]] = [{"size": (1, 1)}, {"mode": "RGBA"}, {"mode": "I;16"}]


@pytest.mark.parametrize("options", ODD, ids=str)
@pytest.mark.parametrize("region", ["whole", "bbox"])
def test_any_picture_that_can_be_decoded_is_shown(options: dict[str, Any], region: str) -> None:
    given = medium(even(40, 40, (9, 9, 9)))
    trial = picture_trial(Media.from_bytes(picture(**options)), given=(given,), bbox=[9, 9, 30, 30], object="a")
    done = judged("judge_presence", trial, YES, region=region)
    assert (done.score.value, len(done.calls)) == (1.0, 1)


def test_a_sound_is_no_picture() -> None:
    done = judged("judge_presence", trial_of("", Media.from_bytes(wav()), object="a"), YES)
    assert (done.score.value, done.calls) == (0.0, [])
