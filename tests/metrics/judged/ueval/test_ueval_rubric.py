from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.metric import MetricScores, bind, load_metric
from mmeval.metric.apply import score_judged
from mmeval.program import Call, Role
from mmeval.records import Response, Sample, Trial, user
from tests.support.judging import driven
from tests.support.pictures import even, medium

RED, BLUE = medium(even(8, 8, (255, 0, 0))), medium(even(8, 8, (0, 0, 255)))
YES = '{"criteria_met": true}'
NO = '{"criteria_met": false}'
UNSURE = '{"criteria_met": "not sure"}'
REFUSED = Response.failed("bad_reply", "no object")
GONE = Response.failed("timeout", "too late")
TEXTS = ("Words one.", "Words two.", "Words three.")
PICTURES = ("Sight one.", "Sight two.")
ANSWER = (
    text_part("First fold."),
    media_part(RED),
    text_part("Then cut."),
    media_part(BLUE),
)


class Done(NamedTuple):
    scores: MetricScores
    calls: list[Call]

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(score.value for score in self.scores.values())

    @property
    def statuses(self) -> tuple[str, ...]:
        return tuple(score.status for score in self.scores.values())


def trial(answer: Sequence[Part] | None = ANSWER, **labels: Any) -> Trial:
    own = {
        "task": "art",
        "text_rubrics": list(TEXTS),
        "image_rubrics": list(PICTURES),
        **labels,
    }
    output = None if answer is None else Interleaved(tuple(answer))
    return Trial(Sample("s", (user("How do I fold it?"),), metadata=own), output=output)


def judged(
    about: Trial, *replies: str | Response, profile: str = "standard", **switches: Any
) -> Done:
    """Scores where the judge gives the replies in their order, the last one to all that
    follow."""
    waiting = list(replies)
    bound = bind(load_metric("ueval_rubric"), switches, profile)
    say = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]  # noqa: E731
    scores, steps = driven(score_judged(bound, about, Role), say)
    return Done(scores, [call for step in steps for call in step])


def shown(call: Call) -> tuple[str, tuple[Media, ...]]:
    content = call.request.messages[-1].content
    return content.text, content.media()


def test_a_side_is_the_share_of_its_criteria_that_are_met_and_the_evidence_says_which() -> (
    None
):
    done = judged(
        trial(), YES, NO, UNSURE, '{"criteria_met": "yes", "explanation": "red"}', NO
    )
    assert done.values == (pytest.approx(1 / 3), 0.5)
    text, image = (score.evidence for score in done.scores.values())
    assert [row["met"] for row in text["criteria"]] == [True, False, False]
    assert text["criteria"][2] == {
        "criterion": "Words three.",
        "met": False,
        "raw": "not sure",
        "reply": UNSURE,
        "remark": "not_sure",
    }
    assert {**text, "criteria": 0} == {
        "criteria": 0,
        "met": 1,
        "total": 3,
        "not_sure": 1,
        "odd_value": 0,
        "missing_key": 0,
    }
    assert image["criteria"][0]["raw"] == "yes"
    assert image["criteria"][0]["explanation"] == "red"
    assert image["pictures"] == 2


@pytest.mark.parametrize(("task", "text_in_image"), [("art", True), ("paper", False)])
def test_each_template_shows_what_the_benchmark_says_and_no_more(
    task: str, text_in_image: bool
) -> None:
    posing = (
        text_part("Cut it.\nThe criterion: a cat.\n"),
        media_part(RED, "image"),
        media_part(BLUE),
    )
    done = judged(trial(posing, task=task), YES)
    assert len(done.calls) == 5
    for call, criterion in zip(done.calls, (*TEXTS, *PICTURES), strict=True):
        text, pictures = shown(call)
        of_text = criterion in TEXTS
        assert "How do I fold it?" in text
        assert ("Cut it." in text) == (of_text or text_in_image)
        assert pictures == (() if of_text else (RED, BLUE))
        assert [other for other in (*TEXTS, *PICTURES) if other in text] == [criterion]
        # The words of the answer end before the criterion, which is the last text
        # before the pictures.
        if "Cut it." in text:
            assert (
                text.index("a cat.")
                < text.index("answer ends")
                < text.index(f"The criterion: {criterion}")
            )
        parts = call.request.messages[-1].content.parts
        assert [
            part.kind
            for part in parts
            if part.kind == "image" or (part.text or "").strip()
        ] == (["text"] if of_text else ["text", "image", "image"])
        assert (parts[0].text or "").rstrip().endswith(f"The criterion: {criterion}")
        assert '"criteria_met"' in text
        assert call.request.params.temperature is None


def test_the_answers_place_of_a_picture_is_not_shown_and_neither_is_hidden_reasoning() -> (
    None
):
    hidden = (
        Part("reasoning", "I will fold."),
        *ANSWER,
        Part("image", raw="<<image3>>", label="image3"),
    )
    text, pictures = shown(judged(trial(hidden), YES).calls[-1])
    assert "First fold. Then cut." in text
    assert "will fold" not in text
    assert "<<image" not in text
    assert pictures == (RED, BLUE)


def test_a_side_without_criteria_or_not_asked_for_is_inapplicable_and_costs_no_call() -> (
    None
):
    done = judged(trial(text_rubrics=[], image_rubrics=None))
    assert done.statuses == ("inapplicable", "inapplicable")
    assert done.calls == []
    about = trial((text_part("First fold."),))
    text_only = judged(
        Trial(about.sample, output=about.output, left_out=("image",)), YES
    )
    assert text_only.values == (1.0, None)
    assert text_only.statuses == ("scored", "inapplicable")
    assert len(text_only.calls) == 3
    official = judged(
        Trial(about.sample, output=about.output, left_out=("image",)),
        YES,
        profile="official",
    )
    assert official.statuses == ("scored", "inapplicable")
    assert len(official.calls) == 3


NO_PICTURE = Media.from_bytes(b"This is no picture.", "a.png")


@pytest.mark.parametrize(
    ("answer", "standard", "calls"),
    [
        ((), (0, 0), 0),
        ((text_part(" \n"), media_part(RED)), (0, 1), 2),
        ((text_part("Fold."),), (1, 0), 3),
        ((text_part("Fold."), media_part(NO_PICTURE, "image")), (1, 0), 3),
        (
            (text_part("Fold."), Part("image", raw="<<image1>>", label="image1")),
            (1, 0),
            3,
        ),
    ],
    ids=[
        "empty",
        "no text",
        "no picture",
        "a picture that is none",
        "a picture that is not there",
    ],
)
def test_an_empty_side_is_not_met_without_a_call_or_asked_about(
    answer: Sequence[Part], standard: tuple[int, int], calls: int
) -> None:
    done = judged(trial(answer), YES)
    assert done.values == standard
    assert len(done.calls) == calls
    assert [len(score.evidence["criteria"]) for score in done.scores.values()] == [3, 2]
    official = judged(trial(answer), YES, profile="official")
    assert official.values == (1, 1)
    assert len(official.calls) == 5


def test_many_pictures_and_a_long_criterion_are_shown_whole() -> None:
    pictures = [medium(even(4, 4, (shade, 0, 0))) for shade in range(40)]
    long = "It shows a red kite. " * 1000
    done = judged(
        trial(
            [text_part("PictureCase."), *map(media_part, pictures)],
            image_rubrics=[long],
        ),
        YES,
    )
    text, seen = shown(done.calls[-1])
    assert long in text
    assert seen == tuple(pictures)
    assert done.scores["ueval_image"].evidence["pictures"] == 40


@pytest.mark.parametrize(
    ("lost", "reply", "status", "bounds"),
    [
        ("unscored", REFUSED, "unscored", (1 / 3, 2 / 3)),
        ("wrong", REFUSED, "scored", None),
        ("wrong", GONE, "unscored", (1 / 3, 2 / 3)),
    ],
)
def test_a_criterion_without_a_verdict_leaves_its_side_open_or_counts_as_not_met(
    lost: str, reply: Response, status: str, bounds: Any
) -> None:
    for profile in ("standard", "official"):
        text, image = judged(
            trial(), YES, NO, reply, YES, profile=profile, lost=lost
        ).scores.values()
        assert text.status == status
        assert image.value == 1
        assert text.bounds == (bounds and pytest.approx(bounds))
        assert text.evidence["criteria"][2]["met"] is None
        assert text.evidence.get("unread") == (None if bounds else 1)


def test_official_replies_that_say_nothing_are_counted() -> None:
    text = judged(
        trial(), '{"criteria_met": 1}', '{"met": true}', YES, profile="official"
    ).scores["ueval_text"]
    counts = {
        key: text.evidence[key]
        for key in ("met", "not_sure", "odd_value", "missing_key")
    }
    assert text.value == pytest.approx(1 / 3)
    assert counts == {"met": 1, "not_sure": 0, "odd_value": 1, "missing_key": 1}


def test_the_kind_of_question_decides_the_template_and_an_unknown_one_is_unscored() -> (
    None
):
    about = trial(task=None, task_type="paper")
    by_labels, released = judged(about, YES), judged(about, YES, kinds="released")
    assert [
        "First fold." in shown(done.calls[-1])[0] for done in (by_labels, released)
    ] == [False, True]
    kinds = [
        done.scores["ueval_image"].evidence["kind"] for done in (by_labels, released)
    ]
    assert kinds == ["closed", "open"]
    done = judged(trial(task="cooking"))
    assert done.statuses == ("unscored", "unscored")
    assert done.calls == []
    assert "'cooking'" in done.scores["ueval_text"].reason
    assert judged(trial(None)).statuses == ("unscored", "unscored")
