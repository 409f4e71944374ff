import json
from typing import Any

import pytest

from mmeval.media.parts import Interleaved, text_part
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial

PAIR = {
    "subject": "<gen_text1>",
    "object": "<gen_img1>",
    "Question": "Does the text describe this image?",
}
ABOUT = {
    "image": "<gen_img1>",
    "Question": "Is there a lamp in this image?",
    "id": 0,
    "Preliminary": [],
}


def graph(
    pairs: list[Any],
    about: list[Any],
    answer: tuple[str, ...] = ("<gen_text1>", "<gen_img1>"),
) -> dict[str, Any]:
    return {
        "structure": {"Answer": answer},
        "block_qa": {"questions": pairs},
        "image_qa": {"questions": about},
    }


def levels(wanted: Any, written: Any, **switches: Any) -> list[float | None]:
    text = written if isinstance(written, str) else json.dumps(written)
    trial = Trial(
        Sample("a", (), metadata={"predict": wanted}),
        output=Interleaved((text_part(text),)),
    )
    scores = score_one(bind(load_metric("isg_graph"), switches), trial).values()
    assert {score.status for score in scores} <= {"scored", "inapplicable"}
    return [score.value for score in scores]


def test_the_same_questions_are_all_found_in_any_shape() -> None:
    wanted = graph([PAIR, PAIR], [ABOUT])
    assert levels(wanted, wanted) == [1, 1, 1]
    shaped = {
        "structural": wanted["structure"],
        "block_qa": [PAIR, PAIR],
        "image_qa": {"Questions": [ABOUT]},
    }
    assert levels(shaped, wanted) == [1, 1, 1]
    assert levels(wanted, shaped) == [1, 1, 1]
    assert levels(wanted, f"Here it is:\n```json\n{json.dumps(wanted)}\n```") == [
        1,
        1,
        1,
    ]


def test_a_question_counts_once_and_only_about_the_same_blocks() -> None:
    wanted = graph([PAIR, PAIR], [ABOUT])
    assert levels(wanted, graph([PAIR], [{**ABOUT, "image": "<gen_img2>"}])) == [
        1,
        0.5,
        0,
    ]
    assert levels(wanted, graph([{**PAIR, "object": "<query_img1>"}], [])) == [1, 0, 0]


def test_questions_in_other_words_are_alike_up_to_the_switch() -> None:
    wanted = graph([], [ABOUT])
    other = graph([], [{**ABOUT, "Question": "Is there a red lamp?"}])
    # 4 of 7 and 5 words
    assert [levels(wanted, other, alike=alike)[2] for alike in (0.66, 0.67)] == [1, 0]
    assert levels(wanted, graph([], [{**ABOUT, "Question": "What?"}]))[2] == 0


def test_of_several_that_are_alike_the_nearest_is_taken() -> None:
    red = {**ABOUT, "Question": "Is there a red lamp in this image?"}
    assert levels(graph([], [ABOUT, red]), graph([], [red, ABOUT]), alike=1)[2] == 1


@pytest.mark.parametrize(
    "answer",
    ["", "No questions.", "[]", '{"structure": 7, "block_qa": "x", "image_qa": [1]}'],
)
def test_an_answer_that_is_no_graph_is_0(answer: str) -> None:
    assert levels(graph([PAIR], [ABOUT]), answer) == [0, 0, 0]


def test_a_row_without_questions_has_no_value() -> None:
    assert levels(graph([], []), graph([PAIR], [])) == [1, None, None]
    assert levels(None, graph([PAIR], [])) == [None, None, None]
    assert levels({"block_qa": [{"Question": "Does it?"}, 3]}, {}) == [None, None, None]
