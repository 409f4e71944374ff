from __future__ import annotations

from typing import Any

import pytest

from mmeval.content.parts import Interleaved, Part, media_part, text_part
from mmeval.judge.form import Number, ReplyForm, Text, YesNo
from mmeval.judge.verdict import Combine, Question, ask_verdicts, combined, shown
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.response import Response
from tests.support.toy import picture, reply

GRADE = ReplyForm((Text("reason"), Number("grade", 1, 5, unsure=True)))
YES = ReplyForm((YesNo("met", unsure=True),))


def said(*texts: str) -> list[Reply]:
    return [Reply(reply(text)) for text in texts]


def failed() -> Reply:
    return Reply(Response.failed("bad_reply", "the reply holds no JSON object"))


def votes(*values: Any) -> list[Reply]:
    return said(*(f'{{"met": "{value}"}}' for value in values))


def grades(*values: Any) -> list[Reply]:
    return said(*(f'{{"grade": "{value}"}}' for value in values))


# --- several replies --------------------------------------------------------------------------------------------------

MAJORITY: dict[str, tuple[list[Reply], Any, float]] = {
    "one": (votes("yes"), True, 0.0),
    "all agree": (votes("no", "no", "no"), False, 0.0),
    "two of three": (votes("yes", "no", "yes"), True, 1 / 3),
    "a tie": (votes("yes", "no"), None, 1.0),
    "none has more than half": (votes("yes", "no", "not sure"), None, 2 / 3),
    "not sure": (votes("yes", "not sure", "not sure"), None, 1 / 3),
}


@pytest.mark.parametrize(("replies", "value", "spread"), MAJORITY.values(), ids=MAJORITY)
def test_the_majority_decides_and_a_tie_is_not_sure(replies: list[Reply], value: Any, spread: float) -> None:
    verdict = combined(YES, replies)

    assert (verdict.values, verdict.lost) == ({"met": value}, "")
    assert verdict.spread["met"] == pytest.approx(spread)
    assert verdict.unknown("met") == ("" if value is not None else "the judge is not sure")


@pytest.mark.parametrize(
    ("combine", "replies", "value", "spread"),
    [
        ("mean", grades(2, 3, 5), 10 / 3, 1.527525),
        ("median", grades(2, 3, 5), 3.0, 1.527525),
        ("majority", grades(5, 3, 5), 5, 1 / 3),
        ("mean", grades(4), 4.0, 0.0),
        ("mean", grades(4, "not sure"), None, 0.0),
    ],
    ids=["mean", "median", "majority", "one", "not sure"],
)
def test_grades_are_combined_as_the_metric_says_with_their_spread(
    combine: Combine, replies: list[Reply], value: Any, spread: float
) -> None:
    verdict = combined(GRADE, replies, combine)

    assert verdict.values["grade"] == (None if value is None else pytest.approx(value))
    assert verdict.spread["grade"] == pytest.approx(spread, abs=1e-6)


def test_the_mean_of_yes_and_no_is_the_share_of_yes() -> None:
    assert combined(YES, votes("yes", "no", "yes", "yes"), "mean").values == {"met": 0.75}


@pytest.mark.parametrize(
    ("combine", "replies", "lost"),
    [
        ("majority", [*votes("yes", "yes"), failed()], False),
        ("majority", [*votes("yes"), failed(), failed()], True),
        ("majority", [*votes("yes", "no"), failed()], True),
        ("majority", [failed()], True),
        ("mean", [*votes("yes", "yes"), failed()], True),
        ("median", [*votes("yes", "yes"), failed()], True),
    ],
    ids=["majority without it", "too few", "a tie without it", "nothing", "mean", "median"],
)
def test_a_lost_vote_loses_the_verdict_unless_a_majority_stands_without_it(
    combine: Combine, replies: list[Reply], lost: bool
) -> None:
    verdict = combined(YES, replies, combine)

    assert verdict.lost == ("bad_reply: the reply holds no JSON object" if lost else "")
    assert verdict.values == ({} if lost else {"met": True})


def test_a_reply_that_nobody_has_looked_at_and_that_does_not_fit_is_lost() -> None:
    assert combined(YES, said("perhaps")).lost == "bad_reply: the reply holds no JSON object"


def test_evidence_holds_the_votes_where_there_are_several() -> None:
    assert combined(YES, votes("yes")).evidence == {"met": True}
    assert combined(YES, votes("yes", "yes", "no")).evidence == {
        "met": True,
        "votes": [{"met": True}, {"met": True}, {"met": False}],
        "spread": {"met": pytest.approx(1 / 3)},
    }


def test_the_reason_is_that_of_a_vote_for_what_was_agreed_on() -> None:
    form = ReplyForm((Text("reason"), YesNo("met", unsure=True)))
    votes_ = [f'{{"reason": "{word}!", "met": "{word}"}}' for word in ("no", "yes", "yes")]

    assert combined(form, said(*votes_)).values == {"reason": "yes!", "met": True}
    assert combined(form, said(*votes_[:2])).values == {"reason": "no!", "met": None}


# --- asking -----------------------------------------------------------------------------------------------------------


def test_every_question_is_asked_at_once_as_often_as_it_shall_be() -> None:
    prompt = {"name": "p", "sha256": "", "text": "{{ q }} {{ form }}"}
    questions = [Question(Role("judge"), YES, prompt, {"q": text}) for text in ("a", "b")]
    program = ask_verdicts(questions, repeats=2)

    calls = next(program)
    assert not isinstance(calls, Call)
    assert [call.request.messages[0].content.text[0] for call in calls] == ["a", "a", "b", "b"]
    accepts = [call.accept for call in calls if call.accept is not None]
    assert [(bool(fault(reply("hm"))), fault(reply('{"met": "yes"}'))) for fault in accepts] == [(True, "")] * 4
    with pytest.raises(StopIteration) as done:
        program.send(votes("yes", "yes", "no", "no"))
    assert [verdict.values["met"] for verdict in done.value.value] == [True, False]


def test_a_judge_never_sees_hidden_reasoning() -> None:
    answer = Interleaved((Part("reasoning", text="hm", raw="hm"), text_part("see "), media_part(picture())))

    assert [part.kind for part in shown(answer).parts] == ["text", "image"]
    assert shown(answer, media=False) == Interleaved((text_part("see <<image1>>"),))
    assert shown(None) == Interleaved()
