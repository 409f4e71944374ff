"""ISG's judges in released words: what differs from our own words."""

from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.media import Interleaved, Part, media_part, text_part
from mmeval.metric import bind, load_metric
from mmeval.metric.apply import score_judged
from mmeval.program import Call, Role
from mmeval.records import Sample, Trial, user
from tests.support.judging import driven
from tests.support.pictures import even, medium

PICTURE = media_part(medium(even(8, 8, (255, 0, 0))))
TEXTS = (text_part("A cup."), PICTURE, text_part("Two\ncups."))
WORDS = "{% if scored %}Score: {% else %}Yes or no: {% endif %}"


def released(name: str, text: str, **call: Any) -> dict[str, Any]:
    return {"name": name, "text": text, "released": "isg.x", "call": call}


def trial(subject: str, other: str, words: str) -> Trial:
    question = {"subject": subject, "object": other, "Question": words}
    labels = {"predict": {"block_qa": {"questions": [question]}}}
    sample = Sample("s", (user("Draw\nit."),), (Interleaved(TEXTS),), labels)
    return Trial(sample, output=Interleaved(TEXTS))


def calls(metric: str, about: Trial, profile: str, **switches: Any) -> list[Call]:
    bound = bind(load_metric(metric), switches, profile)
    _, steps = driven(score_judged(bound, about, Role), lambda _: '{"Judge": 7}')
    return [call for step in steps for call in step]


def contents(asked: Sequence[Call]) -> list[str]:
    return [call.request.messages[-1].content.text for call in asked]


@pytest.mark.parametrize(
    ("profile", "questions"),
    [
        (
            "official",
            [
                "Score: Does  `Text 1`  precede  `Text 2` ?",
                "Yes or no: Does  `Text 1`  precede  `Text 2` ?",
            ],
        ),
        ("standard", ["Score: Does `Text 1` precede `Text 2`?"]),
    ],
)
def test_a_pair_of_texts_is_asked_for_a_score_and_then_for_yes_or_no(
    profile: str, questions: list[str]
) -> None:
    about = trial("<gen_text1>", "<gen_text2>", "Does <gen_text1> precede <gen_text2>?")
    prompt = released("isg_block_texts", WORDS + "{{ question }}")
    asked = calls("isg_block", about, profile, texts_prompt=prompt)
    assert contents(asked) == questions


@pytest.mark.parametrize(
    ("profile", "question"),
    [
        ("official", "Is it  `Text`  in <gen_text1>?"),
        ("standard", "Is it A cup. in `Text`?"),
    ],
)
def test_beside_a_picture_the_script_looks_for_the_words_of_the_text(
    profile: str, question: str
) -> None:
    about = trial("<gen_text1>", "<gen_img1>", "Is it A cup. in <gen_text1>?")
    prompt = released("isg_block_text_image", "{{ question }}")
    asked = calls("isg_block", about, profile, text_image_prompt=prompt)
    assert contents(asked)[0] == question


def test_own_words_are_asked_for_a_score_alone() -> None:
    about = trial("<gen_text1>", "<gen_text2>", "Are they alike?")
    assert len(calls("isg_block", about, "official")) == 1


def test_each_block_of_a_whole_answer_is_an_item() -> None:
    prompt = released("isg_holistic", "Grade:\n{{ answer }}End.", content="lines")
    about = trial("<gen_text1>", "<gen_text2>", "Are they alike?")
    (call,) = calls("isg_holistic", about, "official", prompt=prompt)
    parts = call.request.messages[-1].content.parts
    assert texts(parts) == ["Grade: ", "A cup.", None, "Two cups.", "End."]


def texts(parts: Sequence[Part]) -> list[str | None]:
    return [part.text for part in parts]
