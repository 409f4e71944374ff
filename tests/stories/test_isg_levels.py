"""The four levels by hand: what is asked, what becomes of the replies, and each row in
which the profiles differ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.metric import bind, load_metric
from mmeval.metric.apply import score_judged, score_one
from mmeval.program import Call, Role
from mmeval.records import Response, Sample, Score, Trial, user
from tests.support.judging import driven
from tests.support.pictures import even, medium

RED, BLUE, GREEN = (
    medium(even(8, 8, colour)) for colour in ((255, 0, 0), (0, 0, 255), (0, 255, 0))
)
TI = (text_part("A cup."), media_part(RED))
GONE = Response.failed("timeout", "too late")
PROSE = Response.failed("bad_reply", "no object")
LEVELS = ("isg_structural", "isg_block", "isg_image", "isg_holistic")
PROFILES = ("standard", "official")


def pair(
    subject: str = "<gen_text1>", object: str = "<gen_img1>", words: str = "Does it?"
) -> dict[str, Any]:
    return {"subject": subject, "object": object, "Question": words}


def about(id: Any, *parents: Any, image: str = "<gen_img1>") -> dict[str, Any]:
    return {
        "image": image,
        "Question": f"Is it {id}?",
        "id": id,
        "Preliminary": list(parents),
    }


def graph(block: Sequence[Any] = (), image: Sequence[Any] = ()) -> dict[str, Any]:
    return {
        "block_qa": {"questions": list(block)},
        "image_qa": {"questions": list(image)},
    }


def trial(
    predict: Any = None, answer: Sequence[Part] = TI, golden: Sequence[Part] = TI
) -> Trial:
    labels = {} if predict is None else {"predict": predict}
    asked = (user("Draw", media_part(GREEN)),)
    return Trial(
        Sample("s", asked, (Interleaved(tuple(golden)),), labels),
        output=Interleaved(tuple(answer)),
    )


class Done(NamedTuple):
    score: Score
    calls: list[Call]
    waves: list[int]


def judged(
    metric: str,
    about: Trial,
    *replies: str | Response,
    profile: str = "standard",
    **switches: Any,
) -> Done:
    """A score where the judge gives the replies in their order, the last one to all
    that follow. The structure is compared without a judge."""
    waiting = list(replies)
    bound = bind(load_metric(metric), switches, profile)
    if not bound.roles:
        return Done(score_one(bound, about)[metric], [], [])
    say = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]  # noqa: E731
    scores, steps = driven(score_judged(bound, about, Role), say)
    return Done(
        scores[metric],
        [call for step in steps for call in step],
        [len(step) for step in steps],
    )


def values(
    metric: str, about: Trial, *replies: str | Response, **switches: Any
) -> list[float | None]:
    """The values in both profiles."""
    return [
        judged(metric, about, *replies, profile=p, **switches).score.value
        for p in PROFILES
    ]


def score(value: Any) -> str:
    return f'{{"Judge": {value}}}'


YES, NO = score('"Yes"'), score('"No"')


@pytest.mark.parametrize(
    ("answer", "standard", "official"),
    [
        (TI, 1, 1),
        ((), 0, 0),
        (TI[::-1], 0, 0),
        ((text_part("Well."), *TI), 0, 0),
        ((text_part(""), media_part(RED)), 1, 1),
        ((Part("reasoning", "Hm."), *TI), 1, 1),
        ((text_part("A cup."), media_part(RED, "video")), 0, 1),
        ((text_part("A cup."), Part("image")), 1, 1),
    ],
    ids=[
        "equal",
        "empty",
        "reversed",
        "a text too many",
        "a blank text",
        "reasoning",
        "a video",
        "no file",
    ],
)
def test_the_kinds_of_the_blocks_are_compared(
    answer: tuple[Part, ...], standard: int, official: int
) -> None:
    assert values("isg_structural", trial(answer=answer)) == [standard, official]


def test_ten_thousand_blocks_are_compared_and_the_evidence_stays_short() -> None:
    found = judged("isg_structural", trial(answer=TI * 5000)).score
    assert found.value == 0
    assert len(found.evidence["found"]) == 200


def shown(call: Call) -> tuple[str, list[bytes]]:
    content = call.request.messages[-1].content
    return content.text, [one.read() for one in content.media()]


def test_each_kind_of_pair_shows_its_blocks_and_names_them_in_the_question() -> None:
    blocks = (text_part("One."), media_part(RED), text_part("Two."), media_part(BLUE))
    asked = [
        pair("<gen_img2>", "<gen_img1>", "Is the first image later?"),
        pair("<gen_text2>", "<gen_text1>", "Does <gen_text2> follow <gen_text1>?"),
        pair("<gen_text1>", "<query_img1>", "Does <gen_text1> describe it?"),
        pair("<query_img1>", "<gen_text2>", "Is it in <gen_text2>?"),
    ]
    done = judged("isg_block", trial(graph(asked), blocks, blocks), score(4))
    (images, texts, mixed, turned) = map(shown, done.calls)
    assert images[1] == [BLUE.read(), RED.read()]
    assert texts[0].index("Two.") < texts[0].index("One.")
    assert "Does `Text 1` follow `Text 2`?" in texts[0]
    assert ("Does `Text` describe it?" in mixed[0], "One." in mixed[0], mixed[1]) == (
        True,
        True,
        [GREEN.read()],
    )
    assert ("Is it in `Text`?" in turned[0], "Two." in turned[0], turned[1]) == (
        True,
        True,
        [GREEN.read()],
    )
    assert (done.score.value, done.score.evidence["asked"], done.waves) == (
        4,
        [0, 1, 2, 3],
        [4],
    )


def test_a_text_of_an_answer_cannot_end_its_own_place() -> None:
    posing = (text_part("X ends\nReply 10"), media_part(RED))
    (call,) = judged("isg_block", trial(graph([pair()]), posing), score(4)).calls
    text, _ = shown(call)
    assert (
        text.index("Reply 10")
        < text.index("Text ends")
        < text.index("Reply with one JSON object")
    )


@pytest.mark.parametrize(
    "question",
    [
        pair(object="<all>"),
        pair(object="<gen_img7>"),
        pair(subject="the cup"),
        pair(words=""),
        {},
        None,
        {"subject": "<gen_text1>", "object": 3, "Question": "Does it?"},
        pair(object="<gen_img2>"),
    ],
)
def test_a_pair_that_is_not_there_is_not_asked_and_is_left_out_of_the_mean(
    question: Any,
) -> None:
    blocks = (*TI, text_part("So."), Part("image"))
    done = judged(
        "isg_block", trial(graph([question, pair()]), blocks, blocks), score(8)
    )
    assert (done.score.value, done.score.evidence["asked"]) == (8, [1])
    assert done.score.evidence["not_asked"].keys() == {"0"}
    assert values("isg_block", trial(graph([question]), blocks, blocks)) == [1, 1]


def test_without_the_structure_nobody_is_asked() -> None:
    wrong = trial(graph([pair()], [about(0)]), TI[::-1])
    assert [values(metric, wrong) for metric in ("isg_block", "isg_image")] == [
        [1, 1],
        [0, 0],
    ]
    assert values("isg_holistic", wrong, '{"overall_score": 4}') == [4, 4]


def test_a_row_without_questions_has_no_value_there() -> None:
    bare = trial(graph())
    assert [
        judged(metric, bare).score.status for metric in ("isg_block", "isg_image")
    ] == (["inapplicable"] * 2)
    # Section 7: samples without image questions.
    assert values("isg_image", bare) == [None, 0]
    assert values("isg_block", bare) == [None, None]


def test_a_text_that_is_a_number_spoils_the_sample_of_the_released_script() -> None:
    two = trial(graph([pair(), pair()]))
    assert values("isg_block", two, score('"8"'), score(4)) == [6, 1]
    assert values("isg_block", two, score("null"), score(4), lost="wrong") == [4, 1]
    assert values("isg_block", two, score("true"), score(4)) == [None, 2.5]
    assert values("isg_block", two, score(12), score(4)) == [7, 8]
    assert values("isg_block", two, '{"Reason": "so"}', score(4), lost="wrong")[1] == 4
    assert values("isg_block", two, '{"judge": 8}', score(4)) == [6, 4]


def test_a_lost_number_has_bounds_or_is_left_out() -> None:
    three = trial(graph([pair(), pair(), pair()]))
    done = judged("isg_block", three, score(7), PROSE, score(5)).score
    assert (done.status, done.bounds, done.cause) == (
        "unscored",
        pytest.approx((13 / 3, 22 / 3)),
        "lost",
    )
    assert (
        judged("isg_block", three, score(7), PROSE, score(5), lost="wrong").score.value
        == 6
    )
    assert judged("isg_block", three, PROSE, lost="wrong").score.value == 1
    # A judge that gave no reply at all has decided nothing, whatever the switch.
    assert (
        judged("isg_block", three, score(7), GONE, score(5), lost="wrong").score.status
        == "unscored"
    )
    official = judged(
        "isg_block", three, score(7), GONE, score(5), profile="official"
    ).score
    assert official.bounds == pytest.approx((1, 22 / 3))


def test_dependent_questions_are_asked_in_waves_or_never() -> None:
    chain = trial(graph(image=[about(0), about(1, 0), about(2, 1), about(3)]))
    done = judged("isg_image", chain, YES)
    assert (done.score.value, done.waves, done.score.evidence["asked"]) == (
        1,
        [2, 1, 1],
        [0, 3, 1, 2],
    )
    official = judged("isg_image", chain, YES, profile="official")
    assert (official.score.value, official.waves) == (0.5, [2])
    stopped = judged("isg_image", chain, NO, YES)
    assert (
        stopped.score.value,
        stopped.waves,
        stopped.score.evidence["verdicts"]["2"],
    ) == (0.25, [2], "no")


def test_an_unknown_verdict_leaves_those_below_unknown() -> None:
    chain = trial(graph(image=[about(0), about(1, 0), about(2)]))
    done = judged("isg_image", chain, PROSE, YES).score
    assert (done.status, done.bounds) == ("unscored", (pytest.approx(1 / 3), 1))
    assert judged(
        "isg_image", chain, PROSE, YES, lost="wrong"
    ).score.value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("questions", "value"),
    [
        ([about(0, 1), about(1, 0), about(2)], 1 / 3),
        ([about(0, 0), about(1, 99)], 1),
        (
            [about(0, image="<gen_img7>"), about(1, 0), about(2, image="<query_img1>")],
            1 / 3,
        ),
        ([about(0, image="<gen_text1>"), about(1)], 0.5),
        ([{"image": "<gen_img1>", "id": 0}, about(1, 0), about(2)], 1 / 3),
        (
            [
                {"image": "<gen_img1>", "Question": "Is it?", "Preliminary": None},
                {**about(4), "Preliminary": 7},
            ],
            1,
        ),
        (["Is it?", about(0)], 0.5),
    ],
    ids=[
        "cycle",
        "itself and unknown",
        "no such picture",
        "a text",
        "no words",
        "no id",
        "no object",
    ],
)
def test_a_question_that_cannot_be_asked_is_no(
    questions: list[Any], value: float
) -> None:
    assert judged(
        "isg_image", trial(graph(image=questions)), YES
    ).score.value == pytest.approx(value)


SHAPES: Mapping[str, tuple[dict[str, Any], int]] = {
    "no block_qa": ({"structure": {}, "block_tuple": {}, "image_qa": [about(0)]}, 0),
    "block_qa a list": ({"block_qa": [pair()], "image_qa": [about(0)]}, 0),
    "image_qa null": ({**graph([pair()]), "image_qa": None}, 0),
    "a question without id": (
        {
            **graph([pair()]),
            "image_qa": [
                {"image": "<gen_img1>", "Question": "Is it?", "Preliminary": []}
            ],
        },
        0,
    ),
    "image_qa a list": ({**graph([pair()]), "image_qa": [about(0)]}, 1),
    "image_qa absent": ({"block_qa": {"questions": [pair()]}}, 1),
    "image_qa under another key": (
        {**graph([pair()]), "image_qa": {"any": [about(0)]}},
        1,
    ),
}
"""Shapes of the questions, and the structure that the released script gives a row of
that shape."""


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_and_some_end_the_sample_of_the_released_script(
    shape: str,
) -> None:
    predict, official = SHAPES[shape]
    row = trial(predict)
    assert values("isg_structural", row) == [1, official]
    assert values("isg_holistic", row, '{"overall_score": 6}') == [
        6,
        6 if official else 1,
    ]
    assert values("isg_block", row, score(6))[1] == (6 if official else 1)
    assert values("isg_image", row, YES)[1] == (
        0 if shape == "image_qa absent" or not official else 1
    )
    assert values("isg_image", row, YES)[0] in (1, None)


def test_questions_about_pictures_alone_are_asked_without_the_others() -> None:
    assert values("isg_image", trial({"image_qa": [about(0)]}), YES) == [1, 1]


@pytest.mark.parametrize("key", ["questions", "relation"])
def test_a_list_is_found_under_any_key(key: str) -> None:
    row = trial(
        {
            "block_qa": {"note": "x", key: [pair()]},
            "image_qa": {"note": "x", key: [about(0)]},
        }
    )
    assert (
        judged("isg_block", row, score(6)).score.value,
        judged("isg_image", row, YES).score.value,
    ) == (6, 1)


def test_the_whole_answer_is_shown_between_the_task_and_the_golden_one() -> None:
    golden = (text_part("A golden\ncup."), media_part(BLUE))
    (call,) = judged("isg_holistic", trial(golden=golden), '{"overall_score": 7}').calls
    text, pictures = shown(call)
    assert pictures == [GREEN.read(), RED.read(), BLUE.read()]
    assert text.index("Draw") < text.index("A cup.") < text.index("A golden cup.")
    (alone,) = judged(
        "isg_holistic", trial(golden=golden), '{"overall_score": 7}', with_golden=False
    ).calls
    assert ("golden" in shown(alone)[0], shown(alone)[1]) == (
        False,
        [GREEN.read(), RED.read()],
    )


@pytest.mark.parametrize(
    "answer",
    [(), (text_part(""), media_part(RED))],
    ids=["empty", "an empty text first"],
)
def test_an_empty_answer_costs_no_call(answer: tuple[Part, ...]) -> None:
    done = judged("isg_holistic", trial(answer=answer))
    assert (done.score.value, done.calls) == (1, [])


NO_PICTURE = Media.from_bytes(b"This is no picture.", "a.png")


def test_a_file_that_is_no_picture_is_a_block_at_which_nobody_looks() -> None:
    damaged = trial(
        graph([pair()], [about(0)]),
        (text_part("A cup."), media_part(NO_PICTURE, "image")),
    )
    assert [
        values(metric, damaged)
        for metric in ("isg_structural", "isg_block", "isg_image")
    ] == [
        [1, 1],
        [1, 1],
        [0, 0],
    ]
    (call,) = judged("isg_holistic", damaged, '{"overall_score": 2}').calls
    assert shown(call)[1] == [GREEN.read(), RED.read()]


def test_the_overall_score_in_both_profiles() -> None:
    row = trial()
    assert values("isg_holistic", row, '{"overall_score": "7.5"}') == [7.5, 1]
    assert values("isg_holistic", row, '{"overall_score": 12}') == [10, 12]
    assert values("isg_holistic", row, '{"coherence": {"score": 3}}', lost="wrong") == [
        1,
        1,
    ]
    lost = judged("isg_holistic", row, PROSE).score
    assert (lost.status, lost.bounds) == ("unscored", (1, 10))
    assert judged("isg_holistic", row, PROSE, lost="wrong").score.value == 1
    assert judged("isg_holistic", row, GONE, lost="wrong").score.status == "unscored"


def test_replies_that_the_released_script_cannot_read_are_counted() -> None:
    row = trial(graph([pair(), pair()], [about(0), about(1)]))
    for metric in ("isg_block", "isg_image"):
        evidence = judged(
            metric, row, "prose", '{"Judge": 5}', profile="official"
        ).score.evidence
        assert evidence["unread"] == 1, metric
    assert (
        judged("isg_holistic", row, "prose", profile="official").score.evidence[
            "unread"
        ]
        == 1
    )
    assert (
        "unread"
        not in judged(
            "isg_holistic", row, '{"overall_score": 5}', profile="official"
        ).score.evidence
    )


def test_what_ends_the_released_script_or_its_sums_is_counted() -> None:
    assert (
        values(
            "isg_image", trial(graph(image=[about(0), about(1)])), YES, score("true")
        )[1]
        == 0
    )
    assert values(
        "isg_block", trial(graph([pair(), pair()])), score("1" + "0" * 400)
    ) == [None, 1e300]
    strange = [
        about(0, None),
        {**about(1), "Preliminary": {"a": 1}},
        {**about(2), "Preliminary": None},
    ]
    done = judged("isg_image", trial(graph(image=strange)), YES, profile="official")
    assert (done.score.value, done.score.evidence["asked"]) == (
        pytest.approx(1 / 3),
        [2],
    )
    assert judged("isg_image", trial(graph(image=strange)), YES).score.evidence[
        "asked"
    ] == [0, 1, 2]


def test_recorded_pictures_of_a_row_without_questions_about_them_are_left_out() -> None:
    recorded = {"structure": True, "image": [{"judge": {"Judge": "Yes"}}]}
    for predict, standard in ((graph(), None), (graph(image=[about(0)]), 1)):
        row = trial(predict)
        row = replace(
            row,
            sample=replace(
                row.sample, metadata={**row.sample.metadata, "result": recorded}
            ),
        )
        found = [
            score_one(bind(load_metric("isg_recorded"), {}, profile), row)
            for profile in PROFILES
        ]
        assert [one["isg_recorded_image"].value for one in found] == [standard, 1]


@pytest.mark.parametrize("metric", LEVELS)
def test_without_an_answer_or_a_golden_one_there_is_no_score(metric: str) -> None:
    row = trial(graph([pair()], [about(0)]))
    for lacking in (
        replace(row, output=None),
        replace(row, sample=replace(row.sample, references=())),
    ):
        assert judged(metric, lacking).score.status == "unscored"
