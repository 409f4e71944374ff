from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.judge.json_reply import ReplyError
from mmeval.judge.verdict import Question, Verdict, combined
from mmeval.metrics.judged.quality_grades import (
    GRADES,
    MAX_SHOWN_CHARS,
    Asked,
    Dimensions,
    Scale,
    dimensions_form,
    grade_questions,
    item_score,
    judged_together,
    lowest_grade,
    shown_start,
)
from mmeval.metrics.quality.items import ItemScore
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.response import Response
from mmeval.records.score import Score
from tests.support.toy import reply

TENTHS = Scale(dimensions_form("all", Dimensions(("light", "sound"), 0, 10)), "all", lambda number: number / 10)
MIDDLE = dimensions_form("all", Dimensions(("light",), 1, 5), absent=3.0)
PROMPT = {"name": "p", "text": "{{ thing }} {{ form }}", "sha256": ""}


def said(text: str, scale: Scale = TENTHS) -> ItemScore:
    return item_score(combined(scale.form, [Reply(reply(text), "0")]), scale)


def asked(thing: str, scale: Scale = TENTHS, **seen: Any) -> Asked:
    return Asked(Question(Role("judge"), scale.form, PROMPT, {"thing": thing}), seen)


def together(items: list[tuple[str, ItemScore | Asked]], *says: str | Response) -> tuple[Score, list[list[str]]]:
    """The score, and what was asked at each time."""
    program = judged_together(items, TENTHS, repeats=1, combine="mean")
    waiting, times = list(says), list[list[str]]()
    sent: Any = None
    try:
        while True:
            calls = program.send(sent)
            assert not isinstance(calls, Call)
            times.append([call.request.messages[-1].content.text.split()[0] for call in calls])
            given = [waiting.pop(0) for _ in calls]
            sent = [Reply(one if isinstance(one, Response) else reply(one), "0") for one in given]
    except StopIteration as done:
        return done.value, times


@pytest.mark.parametrize(("grade", "quality"), [(1, 0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1)])
def test_a_grade_from_1_to_5_is_worth_a_share(grade: int, quality: float) -> None:
    found = said(json.dumps({"reason": "so", "score": grade}), GRADES)
    assert (found.quality, found.evidence) == (quality, {"reason": "so", "score": grade})


@pytest.mark.parametrize("grade", [0, 6, 2.5, True, "good", None])
def test_anything_else_is_no_grade(grade: Any) -> None:
    with pytest.raises(ReplyError, match="a whole number from 1 to 5"):
        GRADES.form.read(json.dumps({"score": grade}))


def test_the_grade_and_a_reason_are_asked_for() -> None:
    assert GRADES.form.asked == '{"reason": <one or two sentences>, "score": <a whole number from 1 to 5>}'


@pytest.mark.parametrize(("number", "quality", "raw"), [(70, 1, 7), (-5, 0, -0.5)])
def test_a_number_beyond_the_scale_counts_as_its_end_and_the_evidence_says_so(
    number: float, quality: float, raw: float
) -> None:
    found = said(json.dumps({"all": number}))
    remarks = ["all is beyond the scale and counts as its end"]
    assert (found.quality, found.evidence) == (quality, {"all": number, "raw": raw, "remarks": remarks, "unread": 1})


@pytest.mark.parametrize("number", [0, 10, "10", 4.5])
def test_a_number_of_the_scale_is_worth_what_it_says(number: Any) -> None:
    found = said(json.dumps({"all": number}))
    assert (found.quality, found.evidence) == (float(number) / 10, {"all": float(number)})


def test_an_item_without_a_verdict_has_no_quality_and_says_whether_asking_again_may_help() -> None:
    lost = item_score(Verdict(lost="server: down"), TENTHS)
    refused = item_score(Verdict(lost="refusal: no", hopeless=True), TENTHS)
    torn = item_score(Verdict({"all": None, "reason": "so"}, votes=({"all": 1}, {"all": 2})), TENTHS)
    assert [(one.quality, one.cause) for one in (lost, refused, torn)] == [
        (None, "lost"),
        (None, "final"),
        (None, "unsure"),
    ]
    assert (lost.reason, torn.to_json("a")["reason"]) == ("server: down", "the judge is not sure")
    assert torn.evidence["votes"] == [{"all": 1}, {"all": 2}]


def test_an_item_that_needs_no_judge_has_the_lowest_grade() -> None:
    assert lowest_grade("nothing") == ItemScore(0.0, {"score": 1, "reason": "nothing"})


@given(
    st.text() | st.floats().map(lambda number: f'{{"all": {number}}}') | st.integers().map(lambda n: f'{{"all": {n}}}')
)
def test_every_reply_gives_a_share_or_none(text: str) -> None:
    found = said(text)
    assert (found.quality is None) == bool(found.reason)
    assert found.quality is None or 0 <= found.quality <= 1


def test_dimensions_are_asked_for_as_whole_numbers_and_the_overall_one_as_any() -> None:
    assert TENTHS.form.asked == (
        '{"light": <a whole number from 0 to 10>, "sound": <a whole number from 0 to 10>, '
        '"all": <a number from 0 to 10>}'
    )


def test_the_overall_number_is_believed_whatever_the_dimensions_say() -> None:
    found = said('{"light": 1, "sound": 99.5, "all": 8, "reason": "so", "more": 1}')
    assert (found.quality, found.evidence) == (0.8, {"light": 1, "sound": 99.5, "all": 8, "reason": "so"})


@pytest.mark.parametrize("value", ["bright", True, False, None, [1], 1e308])
def test_a_dimension_that_is_no_number_is_left_out(value: Any) -> None:
    assert said(json.dumps({"light": value, "all": 8})).evidence == {"all": 8}


@pytest.mark.parametrize("number", [1e9, -1e9])
def test_an_overall_number_may_be_far_off_the_scale(number: float) -> None:
    assert said(json.dumps({"all": number})).evidence["raw"] == number / 10


@pytest.mark.parametrize("value", ["much", True, False, None, 1.01e9, -1.01e9])
def test_an_overall_number_that_is_none_does_not_fit(value: Any) -> None:
    for form in (TENTHS.form, MIDDLE):
        with pytest.raises(ReplyError, match="all is"):
            form.read(json.dumps({"all": value}))


def test_an_overall_number_that_is_absent_does_not_fit_unless_something_stands_for_it() -> None:
    assert MIDDLE.read('{"light": 5}') == {"light": 5, "all": 3.0, "unreadable": True}
    for form, text in ((TENTHS.form, '{"light": 5}'), (MIDDLE, "three")):
        with pytest.raises(ReplyError):
            form.read(text)


def test_several_votes_keep_their_dimensions_and_the_overall_number_is_their_mean() -> None:
    votes = [Reply(reply(f'{{"light": {n}, "all": {n}}}'), "0") for n in (2, 4)]
    found = item_score(combined(TENTHS.form, votes, "mean"), TENTHS)
    assert found.quality == pytest.approx(0.3)
    assert found.evidence["votes"] == [{"light": 2, "all": 2}, {"light": 4, "all": 4}]
    assert "light" not in found.evidence


def test_all_items_are_asked_about_at_the_same_time_and_keep_their_places() -> None:
    items: list[tuple[str, ItemScore | Asked]]
    items = [("a1", asked("one")), ("a2", ItemScore(0.0)), ("a3", asked("three"))]
    score, times = together(items, '{"all": 4}', '{"all": 8}')
    assert times == [["one", "three"]]
    assert score.value == pytest.approx(0.4)
    assert [(one["label"], one["quality"]) for one in score.evidence["items"]] == [("a1", 0.4), ("a2", 0), ("a3", 0.8)]


def test_no_judge_is_asked_where_everything_is_known() -> None:
    score, times = together([("a1", ItemScore(0.5))])
    assert (score.value, times) == (0.5, [])
    with pytest.raises(StopIteration) as done:
        next(grade_questions([], TENTHS, repeats=1, combine="mean"))
    assert done.value.value == []


def test_a_lost_verdict_leaves_the_answer_unscored_between_what_it_could_have_been() -> None:
    down = Response.failed("server", "down")
    score, _ = together([("a1", asked("one", pages=2)), ("a2", asked("two"))], down, '{"all": 5}')
    assert (score.status, score.bounds, score.cause) == ("unscored", (0.25, 0.75), "lost")
    assert score.reason == "a1: server: down"
    assert score.evidence["items"][0] == {"label": "a1", "quality": None, "reason": "server: down", "pages": 2}


def test_what_was_seen_stands_beside_what_the_judge_says_and_no_remark_is_lost() -> None:
    score, _ = together([("a1", asked("one", pages=2, remarks=["cut"]))], '{"all": 50}')
    (item,) = score.evidence["items"]
    assert (item["pages"], item["all"]) == (2, 50)
    assert item["remarks"] == ["cut", "all is beyond the scale and counts as its end"]


def test_a_text_is_shown_whole_up_to_the_bound_and_the_evidence_says_where_it_was_cut() -> None:
    whole, cut = shown_start("x" * MAX_SHOWN_CHARS), shown_start("x" * (MAX_SHOWN_CHARS + 1))
    assert (MAX_SHOWN_CHARS, whole.cut, cut.cut) == (40_000, False, True)
    assert len(whole.text) == len(cut.text) == MAX_SHOWN_CHARS
    assert (whole.seen, cut.seen) == ({}, {"remarks": ["the judge saw the first 40,000 characters"]})
