from typing import Any

import pytest

from mmeval.media import Interleaved, Media, media_part, text_part
from mmeval.records import Response, Trial
from tests.support.judging import judged
from tests.support.tiny_media import wav
from tests.support.toy import picture, sample

YES, NO, UNSURE = (
    f'{{"reason": "r", "met": "{word}"}}' for word in ("yes", "no", "not sure")
)
ANSWER = Interleaved(
    (text_part("A hare "), media_part(picture()), media_part(Media.from_bytes(wav())))
)
UNUSABLE: list[tuple[Any, str]] = [
    ([], "list"),
    ([""], "criterion 1 "),
    ([{"criterion": "x", "wieght": 2}], "criterion 1 "),
    (["x", {"criterion": "x", "weight": 0}], "criterion 2 "),
    (["x", {"criterion": "x", "weight": float("inf")}], "criterion 2 "),
    ([{"criterion": "x", "side": "left"}], "'left'"),
    ([{"criterion": "x", "kinds": ["smell"]}], "['smell']"),
    ([{"criterion": "x", "id": "1"}, {"criterion": "y", "id": 1}], "id"),
]


def trial(*criteria: Any, **labels: Any) -> Trial:
    return Trial(sample(rubric=list(criteria), **labels), output=ANSWER)


def test_each_criterion_is_asked_by_itself_and_one_without_a_verdict_leaves_bounds() -> (
    None
):
    done = judged(
        "rubric_judge",
        trial("One.", {"id": "b", "criterion": "Two.", "weight": 3}),
        YES,
        NO,
    )
    assert done.score.value == 0.25
    assert [("One." in asked, "Two." in asked) for asked in done.questions] == [
        (True, False),
        (False, True),
    ]
    assert done.score.evidence["criteria"] == [
        {"id": "1", "criterion": "One.", "weight": 1.0, "met": True, "reason": "r"},
        {"id": "b", "criterion": "Two.", "weight": 3.0, "met": False, "reason": "r"},
    ]
    row = trial("One.", "Two.", {"id": "c", "criterion": "Three.", "weight": 2})
    for third, cause in (
        (UNSURE, "unsure"),
        (Response.failed("timeout", "slow"), "lost"),
    ):
        score = judged("rubric_judge", row, YES, NO, third).score
        assert score.status == "unscored"
        assert score.bounds == (0.25, 0.75)
        assert score.cause == cause
        assert [one["met"] for one in score.evidence["criteria"]] == [True, False, None]


@pytest.mark.parametrize(
    ("row", "kinds", "words"),
    [
        ({}, ["text", "image", "audio", "text"], "A hare"),
        ({"side": "text"}, ["text"], "A hare <<image1>><<audio1>>"),
        ({"side": "media", "kinds": ["image"]}, ["text", "image", "text"], None),
        ({"kinds": ["audio"]}, ["text", "audio", "text"], "A hare"),
    ],
)
def test_the_judge_sees_the_side_that_a_criterion_speaks_of(
    row: dict[str, Any], kinds: list[str], words: Any
) -> None:
    (asked,) = judged("rubric_judge", trial({"criterion": "x", **row}), YES).asked
    content = asked.messages[-1].content
    assert [part.kind for part in content.parts] == kinds
    assert (words or "A hare") in content.raw if words else "A hare" not in content.raw
    (asked,) = judged(
        "rubric_judge", trial({"criterion": "x", **row}), YES, media=False
    ).asked
    assert "A hare <<image1>>" in asked.messages[-1].content.text


def test_a_rubric_that_cannot_be_used_is_unscored_and_no_judge_is_asked() -> None:
    near = judged("rubric_judge", Trial(sample(rubrik=["met?"]), output=ANSWER))
    assert near.score.status == "unscored"
    assert '"rubrik"' in near.score.reason
    for rubric, words in UNUSABLE:
        done = judged("rubric_judge", Trial(sample(rubric=rubric), output=ANSWER))
        assert done.score.status == "unscored"
        assert done.asked == []
        assert words in done.score.reason
