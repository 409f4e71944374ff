from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media.parts import Interleaved, Part, media_part, text_part
from mmeval.metric.judge.form import Choice, Number, ReplyForm, Text, YesNo
from mmeval.metric.judge.verdict import (
    Combine,
    Question,
    Verdict,
    ask_verdicts,
    combined,
    shown,
)
from mmeval.program.calls import Call, Reply, Role
from mmeval.program.prompt import PromptError
from mmeval.records.request import GenerationParams
from mmeval.records.response import Response
from mmeval.records.score import UNUSED_REPLY
from tests.support.toy import picture, reply

GRADE = ReplyForm((Text("reason"), Number("grade", 1, 5, unsure=True)))
YES = ReplyForm((YesNo("met", unsure=True),))
FAILED = Reply(Response.failed("bad_reply", "no object"))
REFUSED = Reply(Response.failed("too_long", "not that"))


def replies(*texts: str) -> list[Reply]:
    return [Reply(reply(text)) for text in texts]


def votes(*values: Any) -> list[Reply]:
    return replies(*(f'{{"met": "{value}"}}' for value in values))


def grades(*values: Any) -> list[Reply]:
    return replies(*(f'{{"grade": "{value}"}}' for value in values))


MAJORITY: dict[str, tuple[list[Reply], Any, float]] = {
    "all agree": (votes("no", "no", "no"), False, 0.0),
    "two of three": (votes("yes", "no", "yes"), True, 1 / 3),
    "a tie": (votes("yes", "no"), None, 1.0),
    "not sure": (votes("yes", "not sure", "not sure"), None, 1 / 3),
}


@pytest.mark.parametrize(("given", "value", "spread"), MAJORITY.values(), ids=MAJORITY)
def test_the_majority_decides_and_a_tie_is_not_sure(
    given: list[Reply], value: Any, spread: float
) -> None:
    verdict = combined(YES, given)
    assert (verdict.values, verdict.lost, verdict.cause) == (
        {"met": value},
        "",
        "unsure",
    )
    assert verdict.spread["met"] == pytest.approx(spread)
    assert bool(verdict.unknown("met")) is (value is None)


@pytest.mark.parametrize(
    ("combine", "given", "value", "spread"),
    [
        ("mean", grades(2, 3, 5), 10 / 3, 1.527525),
        ("median", grades(2, 3, 5), 3.0, 1.527525),
        ("majority", grades(5, 3, 5), 5, 1 / 3),
        ("mean", grades(4, "not sure"), None, 0.0),
        ("median", grades(2, 4, "not sure"), None, 1.414214),
    ],
)
def test_grades_are_combined(
    combine: Combine, given: list[Reply], value: Any, spread: float
) -> None:
    verdict = combined(GRADE, given, combine)
    assert verdict.values["grade"] == (None if value is None else pytest.approx(value))
    assert verdict.spread["grade"] == pytest.approx(spread, abs=1e-6)
    # Yes counts as one, and of words the majority is taken.
    assert combined(YES, votes("yes", "no", "yes", "yes"), "mean").values == {
        "met": 0.75
    }
    kinds = ReplyForm((Choice("kind", ("a", "b")),))
    assert combined(
        kinds, replies(*(f'{{"kind": "{word}"}}' for word in "aba")), "mean"
    ).values == {"kind": "a"}


def test_a_lost_vote_loses_the_verdict_unless_a_majority_stands_without_it() -> None:
    losing: list[tuple[Combine, list[Reply]]] = [
        ("majority", [*votes("yes"), FAILED, FAILED]),
        ("majority", [*votes("yes", "no"), FAILED]),
        ("mean", [*votes("yes", "yes"), FAILED]),
        ("median", [*votes("yes", "yes"), FAILED]),
    ]
    for combine, given in losing:
        verdict = combined(YES, given, combine)
        assert (verdict.lost, verdict.values) == ("bad_reply: no object", {})
    stands = combined(YES, [*votes("yes", "yes"), FAILED])
    assert (stands.lost, stands.values) == ("", {"met": True})


def declined(words: str = "", *, is_delivered: bool = False) -> Reply:
    """A refused reply, as it is or as the broker delivers it."""
    if is_delivered:
        return Reply(Response.failed("refused", "it gave no reply"))
    output = Interleaved.from_text(words)
    return Reply(Response(output, finish_reason="refused"))


@pytest.mark.parametrize("is_delivered", [False, True])
def test_a_refused_verdict_is_lost_for_good(is_delivered: bool) -> None:
    verdict = combined(YES, [declined(is_delivered=is_delivered)])
    assert (verdict.cause, verdict.refused, verdict.replied) == ("refused", True, True)


def test_a_verdict_is_not_read_from_what_the_judge_refused() -> None:
    verdict = combined(YES, [declined('{"met": "yes"}')])
    assert (verdict.values, verdict.lost) == ({}, "refused: the judge refused")


def test_a_majority_stands_beside_a_refused_vote() -> None:
    verdict = combined(YES, [*votes("yes", "yes"), declined()])
    assert verdict.values == {"met": True}


def test_a_verdict_of_which_one_vote_is_refused_and_one_unread_may_be_asked_again() -> (
    None
):
    verdict = combined(YES, [declined(), FAILED])
    assert (verdict.cause, verdict.refused) == ("lost", False)


def test_a_lost_verdict_has_a_cause() -> None:
    down = [Reply(Response.failed("server", "down"))]
    for given, cause, replied in (
        (replies("perhaps"), "lost", True),
        ([REFUSED, REFUSED], "final", False),
        ([REFUSED, FAILED], "lost", False),
        (down, "lost", False),
    ):
        verdict = combined(YES, given)
        assert (verdict.cause, verdict.replied, bool(verdict.lost)) == (
            cause,
            replied,
            True,
        )
        score = verdict.unscored("met", (0, 1))
        assert (score.status, score.reason) == ("unscored", verdict.lost)
        assert (score.bounds, score.cause) == ((0, 1), verdict.cause)


def test_equal_faults_of_different_replies_have_one_reason_and_their_replies_beside_it() -> (
    None
):
    lost = [combined(YES, replies(words)) for words in ("perhaps", "maybe")]
    assert lost[0].lost == lost[1].lost
    scores = [verdict.unscored("met", (0, 1)) for verdict in lost]
    assert [score.evidence for score in scores] == [
        {UNUSED_REPLY: "perhaps"},
        {UNUSED_REPLY: "maybe"},
    ]
    assert lost[0].loss == {"lost": lost[0].lost, UNUSED_REPLY: "perhaps"}


def test_fields_that_may_be_left_out_are_left_out_where_no_vote_has_them() -> None:
    form = ReplyForm((YesNo("met", optional=True), Text("reason")))
    assert combined(form, replies('{"reason": "x"}')) == Verdict(
        {"reason": "x"}, votes=({"reason": "x"},)
    )
    assert combined(form, [FAILED]).lost == "bad_reply: no object"


def test_evidence_holds_the_votes_where_there_are_several() -> None:
    assert combined(YES, votes("yes")).evidence == {"met": True}
    each = [{"met": True}, {"met": True}, {"met": False}]
    several = {"met": True, "votes": each, "spread": {"met": pytest.approx(1 / 3)}}
    assert combined(YES, votes("yes", "yes", "no")).evidence == several
    # the reason is that of a vote for what was agreed on
    form = ReplyForm((Text("reason"), YesNo("met", unsure=True)))
    given = [
        f'{{"reason": "{word}!", "met": "{word}"}}' for word in ("no", "yes", "yes")
    ]
    assert combined(form, replies(*given)).values == {"reason": "yes!", "met": True}
    assert combined(form, replies(*given[:2])).values == {"reason": "no!", "met": None}


def test_every_question_is_asked_at_once_as_often_as_it_shall_be() -> None:
    prompt = {"name": "p", "sha256": "", "text": "{{ q }} {{ form }}"}
    questions = [
        Question(Role("judge"), YES, prompt, {"q": text}) for text in ("a", "b")
    ]
    program = ask_verdicts(questions, repeats=2)
    calls = next(program)
    assert not isinstance(calls, Call)
    assert [call.request.messages[0].content.text[0] for call in calls] == [
        "a",
        "a",
        "b",
        "b",
    ]
    accepts = [call.accept for call in calls if call.accept is not None]
    assert [
        (bool(fault(reply("hm"))), fault(reply('{"met": "yes"}'))) for fault in accepts
    ] == [(True, "")] * 4
    with pytest.raises(StopIteration) as done:
        program.send(votes("yes", "yes", "no", "no"))
    assert [verdict.values["met"] for verdict in done.value.value] == [True, False]


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UsageError, match="repeats=0"):
        next(ask_verdicts([], repeats=0))
    with pytest.raises(PromptError, match="'polite'"):
        Question(Role("judge"), YES, "polite", {}).call()


def test_a_judge_never_sees_hidden_reasoning() -> None:
    answer = Interleaved(
        (
            Part("reasoning", text="hm", raw="hm"),
            text_part("see "),
            media_part(picture()),
        )
    )
    assert [part.kind for part in shown(answer).parts] == ["text", "image"]
    assert shown(answer, media=False) == Interleaved((text_part("see <<image1>>"),))
    assert shown(None) == Interleaved()


def released_call(role: Role) -> Call:
    prompt = {
        "name": "p",
        "text": "Is it polite?",
        "released": "trees.judge",
        "call": {"temperature": 0, "max_tokens": 9, "response_format": "json_object"},
    }
    return Question(role, ReplyForm((YesNo("polite"),)), prompt, {}).call()


def test_a_released_prompt_has_default_parameters() -> None:
    params = released_call(Role("judge")).request.params
    options = {"text.response_format": "json_object"}
    assert params == GenerationParams(max_tokens=9, temperature=0, options=options)


def test_the_parameters_of_a_role_override_those_of_a_released_prompt() -> None:
    of_role = GenerationParams.from_mapping({"temperature": "none", "max_tokens": 5})
    params = released_call(Role("judge", of_role)).request.params
    assert (params.temperature, params.max_tokens) == (None, 5)


def test_no_schema_is_sent_with_a_released_prompt() -> None:
    assert released_call(Role("judge")).schema is None
