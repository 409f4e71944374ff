from dataclasses import replace
from typing import Any

import pytest

from mmeval.media import Interleaved, media_part, text_part
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records import Response, Trial
from tests.support.judging import judged
from tests.support.toy import picture, sample

YES, NO = (f'{{"reason": "r", "verdict": "{word}"}}' for word in ("yes", "no"))
ANSWER = Interleaved(
    (
        text_part("A "),
        text_part("hare."),
        media_part(picture()),
        text_part(" "),
        text_part("B"),
    )
)
UNUSABLE: list[tuple[Any, str]] = [
    ("Is it red?", "list"),
    ([""], "question 1 "),
    ([{"question": "x", "parent": 2}], "question 1 "),
    (["x", {"question": "x", "part": "left"}], "question 2 "),
    ([{"question": "x", "part": "image"}], "question 1 "),
    ([{"question": "x", "id": 1.5}], "question 1 "),
    ([{"question": "x", "parents": "1"}], "question 1 "),
]


def trial(*questions: Any, output: Interleaved = ANSWER) -> Trial:
    return Trial(sample(questions=list(questions)), output=output)


def test_the_score_is_the_share_of_yes_and_the_judge_sees_the_part_alone() -> None:
    about = {"question": "Is it red?", "parents": [1], "part": "image1"}
    done = judged(
        "question_graph",
        trial("Is it a hare?", about, {"question": "B?", "part": "text2"}),
        YES,
        YES,
        NO,
    )
    assert done.score.value == 2 / 3
    assert done.score.evidence["asked"] == [1, 3, 2]
    done = judged("question_graph", trial("Is it a hare?", about), YES, NO)
    assert done.score.value == 0.5
    whole, part = (
        [item.kind for item in asked.messages[-1].content.parts] for asked in done.asked
    )
    assert whole == ["text", "image", "text"]
    assert part == ["text", "image", "text"]
    assert [
        "hare" in words.partition("The question")[0] for words in done.questions
    ] == [True, False]
    assert done.score.evidence["said"]["2"] == {"reason": "r", "verdict": False}


def test_a_part_that_the_answer_lacks_is_no_with_what_is_below_it() -> None:
    rows = (
        {"id": "a", "question": "x", "part": "image2"},
        {"id": "b", "question": "y", "parents": ["a"]},
    )
    score = judged("question_graph", trial(*rows)).score
    assert score.value == 0.0
    assert score.evidence["not_asked"] == {
        "a": "the answer has no image2",
        "b": "a is no",
    }
    assert (
        judged(
            "question_graph", trial("x", output=Interleaved((text_part(" "),)))
        ).score.value
        == 0.0
    )


def test_what_the_model_was_not_asked_for_is_left_out() -> None:
    image = {"id": "a", "question": "x", "part": "image1"}
    unasked = replace(
        trial(image, {"question": "y", "parents": ["a"]}), left_out=("image",)
    )
    assert judged("question_graph", unasked, YES).score.evidence == {
        "asked": [2],
        "verdicts": {"2": "yes"},
        "said": {"2": {"reason": "r", "verdict": True}},
    }
    assert (
        judged(
            "question_graph", replace(trial(image), left_out=("image",))
        ).score.status
        == "inapplicable"
    )


def test_the_switches_change_what_is_asked_and_what_a_loss_is() -> None:
    rows = ("x", {"question": "y", "parents": [1]})
    assert (
        judged(
            "question_graph", trial(*rows), YES, dependencies="never_asked"
        ).score.value
        == 0.5
    )
    unread = Response.failed("bad_reply", "prose")
    assert judged("question_graph", trial(*rows), unread).score.bounds == (0.0, 1.0)
    assert (
        judged("question_graph", trial(*rows), unread, lost="wrong").score.value == 0.0
    )
    shown = (
        judged("question_graph", trial("x"), YES, show_input=True).questions
        + judged("question_graph", trial("x"), YES).questions
    )
    assert ["task begins" in words for words in shown] == [True, False]
    assert (
        judged("question_graph", trial("x"), YES, YES, NO, repeats=3).score.value == 1.0
    )


def test_a_row_without_questions_is_inapplicable_and_one_that_cannot_be_used_unscored() -> (
    None
):
    assert judged("question_graph", trial()).score.status == "inapplicable"
    for questions, words in UNUSABLE:
        done = judged(
            "question_graph", Trial(sample(questions=questions), output=ANSWER)
        )
        assert (done.score.status, words in done.score.reason) == ("unscored", True), (
            questions
        )
    near = judged("question_graph", Trial(sample(question=["x"]), output=ANSWER))
    assert near.score.status == "unscored"
    assert "'questions'" in near.score.reason


@pytest.mark.parametrize("parts", [("image3", "text2"), ("image1",), ()])
def test_a_dry_run_supposes_an_answer_with_every_part(parts: tuple[str, ...]) -> None:
    rows = [{"question": f"{part}?", "part": part} for part in parts]
    bound = bind(load_metric("question_graph"))
    given = trial(
        *rows, output=Interleaved((text_part("words"), media_part(picture())))
    )
    done = judged("question_graph", bound.supposed(given), *[YES] * len(rows))
    assert len({request.digest for request in done.asked}) == len(rows)
