import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.content import Interleaved, Part, text_part
from mmeval.metrics.judged.text_quality import (
    DIMENSIONS,
    OVERALL,
    OVERALL_IF_ABSENT,
    RELEASED,
    released_share,
    tagged_text,
)
from mmeval.records import Trial
from tests.support.unim_judging import QUESTION, RED, Judged, answer_trial, judge_unim

TRIAL = answer_trial()


def grade(score: Any, reason: str = "so") -> str:
    return json.dumps({"reason": reason, "score": score})


def quality(*says: Any, **more: Any) -> Judged:
    return judge_unim("text_quality", more.pop("trial", TRIAL), *says, **more)


def of(*parts: Part) -> Trial:
    return Trial(TRIAL.sample, output=Interleaved(parts))


def item(done: Judged) -> Any:
    (one,) = done.score.evidence["items"]
    return one


def test_a_grade_from_1_to_5_becomes_a_share() -> None:
    done = quality(grade("4"))
    assert done.score.value == 0.75
    assert item(done) == {"label": "text1", "quality": 0.75, "reason": "so", "score": 4}


def test_the_judge_sees_the_text_with_its_tags_and_neither_the_question_nor_a_medium() -> None:
    done = quality(grade(5), trial=answer_trial("It is <<image1>>, and red."))
    (call,) = done.calls["judge"]
    assert "text begins\nIt is <<image1>>, and red.\n" in done.questions[0]
    assert (QUESTION in str(call.request.messages), call.request.messages[-1].content.media()) == (False, ())


@pytest.mark.parametrize("said", ["", "4", '{"score": 6}', '{"score": 2.5}', '{"grade": 3}'])
def test_without_a_grade_the_answer_is_unscored_and_nothing_is_guessed(said: str) -> None:
    done = quality(said)
    found = (done.score.value, done.score.status, done.score.bounds, done.score.cause, item(done)["quality"])
    assert found == (None, "unscored", (0.0, 1.0), "lost", None)


THOUGHT = Part("reasoning", text="deep", raw="<think>deep</think>")


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("text", ["", " \n", "<<image1>>", " <<image1>>\n<<code1>> ", THOUGHT], ids=range(5))
def test_a_text_of_blanks_tags_and_thoughts_alone_has_the_lowest_grade_and_no_judge_is_asked(
    text: Any, profile: str
) -> None:
    done = quality(trial=answer_trial(text) if isinstance(text, str) else of(text), profile=profile)
    assert (done.calls["judge"], done.score.value, bool(item(done)["reason"])) == ([], 0, True)
    assert (item(done)["quality"], item(done)["score"]) == (0.0, 1)


def test_a_tag_stands_for_everything_that_is_no_text() -> None:
    code = Part("code", text="x = 1", raw="x = 1")
    named = Part("code", text="y", raw="<code 7>", label="code7")
    parts = (text_part("See "), Part("image", media=RED), THOUGHT, code, named, Part("code", text="z"), text_part("!"))
    assert tagged_text(Interleaved(parts)) == "See <<image1>><<code1>><code 7><<code3>>!"


@given(st.text(), st.text())
def test_text_without_items_is_shown_as_it_is(one: str, two: str) -> None:
    assert tagged_text(Interleaved((text_part(one), text_part(two)))) == one + two


@pytest.mark.parametrize(("words", "cut"), [(8000, False), (8001, True)])
def test_of_a_long_text_the_beginning_is_shown(words: int, cut: bool) -> None:
    done = quality(grade(3), trial=of(text_part("word " * words)))
    assert ("goes on" in done.questions[0], done.questions[0].count("word "), "remarks" in item(done)) == (
        cut,
        8000,
        cut,
    )


@pytest.mark.parametrize(
    ("overall", "value", "raw"),
    [(1, 0.0, None), (3.4, 0.6, None), (5, 1.0, None), (80, 1.0, 19.75), (0, 0.0, -0.25), ("4.5", 0.875, None)],
)
def test_the_official_overall_number_is_a_grade_and_one_beyond_the_scale_is_bounded_here(
    overall: Any, value: float, raw: float | None
) -> None:
    done = quality(json.dumps({"overall": overall}), profile="official")
    assert done.score.value == pytest.approx(value)
    found = (item(done)["overall"], item(done).get("raw"), "remarks" in item(done))
    assert found == (float(overall), raw, raw is not None)


def test_an_official_reply_without_an_overall_number_says_3_whatever_its_dimensions_say() -> None:
    done = quality('{"clarity": 5, "coherence": 5}', profile="official")
    numbers = {"clarity": 5, "coherence": 5, "overall": 3.0}
    assert item(done) == {"label": "text1", "quality": 0.5, **numbers, "unread": 1}


@pytest.mark.parametrize("said", ["", "four", '{"overall": "good"}'])
def test_an_official_failure_is_unscored(said: str) -> None:
    score = quality(said, profile="official").score
    assert (score.value, score.status, score.cause) == (None, "unscored", "lost")


def test_the_constants_are_those_of_the_release() -> None:
    names = ("clarity", "coherence", "informativeness", "conciseness", "style")
    assert (DIMENSIONS.names, DIMENSIONS.low, DIMENSIONS.high) == (names, 1, 5)
    assert (OVERALL, OVERALL_IF_ABSENT, RELEASED.key) == ("overall", 3.0, "overall")
    assert [100 * released_share(overall) for overall in (3.4, 80)] == pytest.approx([60, 1975])
    (asked,) = quality("{}", profile="official").questions
    assert all(f'"{name}": <' in asked for name in names)
