import json
from typing import Any

import pytest

from mmeval.media import Interleaved, Part, text_part
from mmeval.metrics.judged.text_quality import DIMENSIONS, tagged_text
from mmeval.records import Trial
from tests.support.judging import (
    QUESTION,
    RED,
    Judged,
    answer_trial,
    graded,
    judge_unim,
)

TRIAL = answer_trial()
THOUGHT = Part("reasoning", text="deep", raw="<think>deep</think>")


def quality(*says: Any, **more: Any) -> Judged:
    return judge_unim("text_quality", more.pop("trial", TRIAL), *says, **more)


def of(*parts: Part) -> Trial:
    return Trial(TRIAL.sample, output=Interleaved(parts))


def item(done: Judged) -> Any:
    (one,) = done.score.evidence["items"]
    return one


def test_the_judge_sees_the_text_with_its_tags_and_neither_the_question_nor_a_medium() -> (
    None
):
    done = quality(graded(4), trial=answer_trial("It is <<image1>>, and red."))
    assert item(done) == {"label": "text1", "quality": 0.75, "reason": "so", "score": 4}
    (call,) = done.of("judge").calls
    assert "text begins\nIt is <<image1>>, and red.\n" in done.questions[0]
    assert QUESTION not in str(call.request.messages)
    assert call.request.messages[-1].content.media() == ()
    code = Part("code", text="x = 1", raw="x = 1")
    named = Part("code", text="y", raw="<code 7>", label="code7")
    parts = (
        text_part("See "),
        Part("image", media=RED),
        THOUGHT,
        code,
        named,
        Part("code", text="z"),
        text_part("!"),
    )
    assert (
        tagged_text(Interleaved(parts)) == "See <<image1>><<code1>><code 7><<code3>>!"
    )


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("text", ["", " <<image1>>\n<<code1>> ", THOUGHT], ids=range(3))
def test_blanks_tags_and_thoughts_alone_have_the_lowest_grade_and_no_judge_is_asked(
    text: Any, profile: str
) -> None:
    done = quality(
        trial=answer_trial(text) if isinstance(text, str) else of(text), profile=profile
    )
    assert done.of("judge").calls == []
    assert done.score.value == 0
    assert item(done)["reason"]
    assert item(done)["quality"] == 0.0
    assert item(done)["score"] == 1


def test_of_a_long_text_the_beginning_is_shown() -> None:
    for words, cut in {8000: False, 8001: True}.items():
        done = quality(graded(3), trial=of(text_part("word " * words)))
        (asked,) = done.questions
        assert ("goes on" in asked) == cut
        assert asked.count("word ") == 8000
        assert ("remarks" in item(done)) == cut


def test_an_official_overall_number_is_a_bounded_grade_and_a_3_where_it_lacks() -> None:
    done = quality('{"clarity": 5, "coherence": 5}', profile="official")
    numbers = {"clarity": 5, "coherence": 5, "overall": 3.0}
    for overall, (value, raw) in {
        3.4: (0.6, None),
        80: (1.0, 19.75),
        0: (0.0, -0.25),
    }.items():
        found = item(quality(json.dumps({"overall": overall}), profile="official"))
        assert found["quality"] == pytest.approx(value)
        assert found.get("raw") == raw
        assert ("remarks" in found) == (raw is not None)
    assert item(done) == {"label": "text1", "quality": 0.5, **numbers, "unread": 1}
    names = ("clarity", "coherence", "informativeness", "conciseness", "style")
    assert DIMENSIONS.names == names
    assert DIMENSIONS.low == 1
    assert DIMENSIONS.high == 5
    assert all(f'"{name}": <' in done.questions[0] for name in names)
