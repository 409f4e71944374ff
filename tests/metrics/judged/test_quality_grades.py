import json
from itertools import product
from typing import Any

import pytest

from mmeval.metric.judge import Question, ReplyError, Verdict, combined
from mmeval.metrics.judged import code_quality, document_quality, text_quality
from mmeval.metrics.judged import quality_grades as grades
from mmeval.metrics.quality.items import ItemScore
from mmeval.program import Reply, Role
from mmeval.records import Response, Score
from tests.support.judging import driven
from tests.support.toy import reply

LIGHT_AND_SOUND = grades.Dimensions(("light", "sound"), 0, 10)
TENTHS = grades.GradeScale(
    grades.dimensions_form("all", LIGHT_AND_SOUND), "all", lambda number: number / 10
)
MIDDLE = grades.dimensions_form("all", grades.Dimensions(("light",), 1, 5), absent=3.0)
PROMPT = {"name": "p", "text": "{{ thing }} {{ form }}", "sha256": ""}


def said(text: str, scale: grades.GradeScale = TENTHS) -> ItemScore:
    return grades.item_score(combined(scale.form, [Reply(reply(text), "0")]), scale)


def asked(
    thing: str, scale: grades.GradeScale = TENTHS, **seen: Any
) -> grades.ItemQuestion:
    return grades.ItemQuestion(
        Question(Role("judge"), scale.form, PROMPT, {"thing": thing}), seen
    )


def together(
    items: list[tuple[str, ItemScore | grades.ItemQuestion]], *says: str | Response
) -> tuple[Score, list[list[str]]]:
    """The score, and what was asked at each time."""
    waiting = list(says)
    score, steps = driven(
        grades.judged_together(items, TENTHS, repeats=1, combine="mean"),
        lambda _: waiting.pop(0),
    )
    return score, [
        [call.request.messages[-1].content.text.split()[0] for call in calls]
        for calls in steps
    ]


@pytest.mark.parametrize(
    ("number", "quality", "raw"),
    [(-5, 0, -0.5), (1e9, 1, 1e8), (0, 0, None), (10, 1, None)],
)
def test_a_number_beyond_the_scale_counts_as_its_end(
    number: Any, quality: float, raw: float | None
) -> None:
    found = said(json.dumps({"all": number}))
    beyond = (
        {}
        if raw is None
        else {"raw": raw, "remarks": found.evidence["remarks"], "unread": 1}
    )
    assert found.quality == quality
    assert found.evidence == {"all": float(number), **beyond}


def test_an_item_without_a_verdict_has_no_quality_and_a_cause() -> None:
    lost = grades.item_score(Verdict(lost="server: down"), TENTHS)
    refused = grades.item_score(Verdict(lost="refusal: no", hopeless=True), TENTHS)
    torn = grades.item_score(
        Verdict({"all": None, "reason": "so"}, votes=({"all": 1}, {"all": 2})), TENTHS
    )
    assert [one.quality for one in (lost, refused, torn)] == [None] * 3
    assert [one.cause for one in (lost, refused, torn)] == ["lost", "final", "unsure"]
    assert lost.reason == "server: down"
    assert torn.to_json("a")["reason"] not in ("", "so")
    assert torn.evidence["votes"] == [{"all": 1}, {"all": 2}]
    assert grades.lowest_grade("nothing") == ItemScore(
        0.0, {"score": 1, "reason": "nothing"}
    )


def test_the_overall_number_is_believed_and_a_dimension_that_is_no_number_left_out() -> (
    None
):
    found = said('{"light": 1, "sound": 99.5, "all": 8, "reason": "so", "more": 1}')
    assert found.quality == 0.8
    assert found.evidence == {"light": 1, "sound": 99.5, "all": 8, "reason": "so"}
    for value in ("bright", True, None, 1e308):
        assert said(json.dumps({"light": value, "all": 8})).evidence == {"all": 8}
    for value, form in product(
        ("much", True, None, 1.01e9, -1.01e9), (TENTHS.form, MIDDLE)
    ):
        with pytest.raises(ReplyError, match="all is"):
            form.read(json.dumps({"all": value}))
    assert MIDDLE.read('{"light": 5}') == {"light": 5, "all": 3.0, "unreadable": True}
    for form, text in (
        (TENTHS.form, '{"light": 5}'),
        (MIDDLE, "three"),
        (MIDDLE, "[3]"),
    ):
        with pytest.raises(ReplyError):
            form.read(text)


@pytest.mark.parametrize(
    "text",
    ['```json\n{"all": 4}\n```', 'So: {"all": 4}', '{"all": "much"}'],
    ids=["fence", "words", "no number"],
)
def test_a_reply_that_the_release_cannot_read_has_no_number(text: str) -> None:
    for scale in (
        TENTHS,
        TENTHS._replace(form=MIDDLE),
        document_quality.SCALES["overall"],
    ):
        found = said(text.replace("all", scale.key), scale)
        assert found.quality is None
        assert found.cause == "lost"
    assert said('```\n{"score": "4"}\n```', grades.GRADES).quality == 0.75


@pytest.mark.parametrize(
    "scale",
    [
        code_quality.RELEASED,
        document_quality.SCALES["overall"],
        document_quality.SCALES["dimensions"],
    ],
    ids=["code", "document", "document by six"],
)
def test_a_number_in_quotes_counts_where_the_release_hands_it_on_as_it_stands(
    scale: grades.GradeScale,
) -> None:
    for number in ("85", " 85.0 "):
        found = said(json.dumps({scale.key: number}), scale)
        assert found.quality == 0.85
        assert found.evidence[scale.key] == 85.0
    for words in ("85/100", "", "nan", "85 %"):
        found = said(json.dumps({scale.key: words}), scale)
        assert found.quality is None
        assert found.cause == "lost"


def test_a_number_in_quotes_is_refused_where_the_release_computes_with_it() -> None:
    found = said('{"overall": "4"}', text_quality.RELEASED)
    assert found.quality is None
    assert found.cause == "lost"


def test_all_items_are_asked_about_at_the_same_time_and_a_lost_verdict_leaves_bounds() -> (
    None
):
    items: list[tuple[str, ItemScore | grades.ItemQuestion]]
    items = [("a1", asked("one")), ("a2", ItemScore(0.0)), ("a3", asked("three"))]
    score, times = together(items, '{"all": 4}', '{"all": 8}')
    assert together([("a1", ItemScore(0.5))])[1] == []
    assert times == [["one", "three"]]
    assert score.value == pytest.approx(0.4)
    assert [(one["label"], one["quality"]) for one in score.evidence["items"]] == [
        ("a1", 0.4),
        ("a2", 0),
        ("a3", 0.8),
    ]
    down = Response.failed("server", "down")
    score, _ = together(
        [("a1", asked("one", pages=2)), ("a2", asked("two"))], down, '{"all": 5}'
    )
    assert score.status == "unscored"
    assert score.bounds == (0.25, 0.75)
    assert score.cause == "lost"
    assert score.reason == "a1: server: down"
    assert score.evidence["items"][0] == {
        "label": "a1",
        "quality": None,
        "reason": "server: down",
        "pages": 2,
    }
    score, _ = together([("a1", asked("one", pages=2, remarks=["cut"]))], '{"all": 50}')
    (item,) = score.evidence["items"]
    assert item["pages"] == 2
    assert item["all"] == 50
    assert item["remarks"][0] == "cut"
    assert len(item["remarks"]) == 2
