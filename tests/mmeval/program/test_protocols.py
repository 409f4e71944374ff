from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.program.calls import Call, CallFailed, Program, Reply, Role
from mmeval.program.protocols import (
    Ask,
    episode,
    independent_passes,
    single,
    text_then_media,
    until_all_kinds,
)
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.sample import Message, message, user
from mmeval.records.turn import Turn
from tests.support.toy import picture, reply, sample

PARAMS = GenerationParams(temperature=0.5)


def ask(*messages: Message, wants: Sequence[PartKind] = ("text",)) -> Ask:
    return Ask(
        sample(), messages or (user("question"),), tuple(wants), PARAMS, Role("model")
    )


def fed(
    program: Program[Any], *answers: Response | Sequence[Response]
) -> tuple[Any, list[list[Call]]]:
    """The result of a program that gets these replies, step by step, and the calls of
    each step."""
    steps, sent = [], None
    for answer in answers:
        asked = program.send(sent)
        steps.append([asked] if isinstance(asked, Call) else list(asked))
        sent = (
            Reply(answer)
            if isinstance(answer, Response)
            else [Reply(one) for one in answer]
        )
    with pytest.raises(StopIteration) as end:
        program.send(sent)
    return end.value.value, steps


def shown(call: Call) -> list[tuple[str, str]]:
    return [(m.role, m.content.rendered()) for m in call.request.messages]


def wanted(steps: list[list[Call]]) -> list[tuple[PartKind, ...]]:
    return [call.request.wants for calls in steps for call in calls]


@pytest.mark.parametrize("protocol", [single, text_then_media, episode])
def test_a_failed_call_ends_the_program_with_its_error(protocol: Any) -> None:
    program = protocol(ask(wants=("text", "image")))
    program.send(None)
    with pytest.raises(CallFailed) as failed:
        program.send(Reply(Response.failed("timeout", "too late")))
    assert failed.value.error == ErrorInfo("timeout", "too late")


def test_independent_passes_ask_each_kind_at_once_and_join_in_the_order_wanted() -> (
    None
):
    passes = independent_passes(ask(wants=("image", "text")))
    result, steps = fed(passes, [reply("<image1>", picture()), reply(" a sun")])
    assert (len(steps), wanted(steps)) == (1, [("image",), ("text",)])
    assert [shown(call) for call in steps[0]] == [[("user", "question")]] * 2
    assert [part.kind for part in result.parts] == ["image", "text"]


def test_text_then_media_shows_the_text_and_fills_its_placeholders() -> None:
    protocol = text_then_media(ask(wants=("text", "image")))
    result, steps = fed(
        protocol,
        reply("a <image1> b <image2> c"),
        [reply("", picture(1), picture(2), picture(3))],
    )
    assert wanted(steps) == [("text",), ("image",)]
    asked = shown(steps[1][0])
    assert ([role for role, _ in asked], "image" in asked[-1][1]) == (
        ["user", "assistant", "user"],
        True,
    )
    assert result.raw == "a <image1> b <image2> c"
    assert result.media() == (picture(1), picture(2), picture(3))


def test_text_then_media_asks_one_call_a_kind_with_the_tasks_own_words() -> None:
    protocol = text_then_media(
        ask(wants=("text", "image", "audio")), instruction="Only the {kind}!"
    )
    result, steps = fed(
        protocol, reply("see <image1>"), [reply("I cannot draw"), reply("")]
    )
    assert [shown(call)[-1][1] for call in steps[1]] == [
        "Only the image!",
        "Only the audio!",
    ]
    assert result == reply("see <image1>").output, (
        "the text alone where nothing was made"
    )


def test_text_then_media_asks_for_code_with_the_text_and_keeps_it() -> None:
    written = Response(
        output=Interleaved.from_text("see <<code1>> <<image1>>", {"code1": "print(1)"})
    )
    result, steps = fed(
        text_then_media(ask(wants=("text", "image", "code"))),
        written,
        [reply("", picture())],
    )
    assert wanted(steps) == [("text", "code"), ("image",)]
    assert [(part.kind, part.text) for part in result.parts if part.kind == "code"] == [
        ("code", "print(1)")
    ]
    assert result.media() == (picture(),)
    result, steps = fed(text_then_media(ask(wants=("code",))), reply("print(1)"), [])
    assert (wanted(steps), result.text) == ([("code",)], "print(1)")


def test_text_then_media_keeps_hidden_reasoning_hidden() -> None:
    first = reply("see <image1>")
    assert first.output is not None
    thought = Part("reasoning", text="a sun?", raw="<think>a sun?</think>")
    thinking = replace(first, output=Interleaved((thought, *first.output.parts)))
    result, _ = fed(
        text_then_media(ask(wants=("text", "image"))), thinking, [reply("", picture())]
    )
    assert (result.text, [part.kind for part in result.parts]) == (
        "see <image1>",
        ["reasoning", "text", "image"],
    )


MIXED: tuple[PartKind, ...] = ("text", "image")
TURNS = (message("system", "be brief"), user("one"), user("two"))


def test_an_episode_asks_each_turn_after_the_earlier_ones_and_their_answers() -> None:
    result, steps = fed(
        episode(ask(*TURNS)), reply("first <image1>", picture()), reply("second")
    )
    begun = [("system", "be brief"), ("user", "one")]
    assert [shown(calls[0]) for calls in steps] == [
        begun,
        [*begun, ("assistant", "first <<image1>>"), ("user", "two")],
    ]
    assert steps[1][0].request.messages[2].content.media() == (picture(),)
    assert result.raw == "first <image1>second"
    assert (
        fed(episode(ask(*TURNS), answer="last"), reply("first"), reply("second"))[0].raw
        == "second"
    )


@pytest.mark.parametrize(
    ("program", "wanted"),
    [(episode(ask(*TURNS)), ("text",)), (text_then_media(ask(wants=MIXED)), MIXED)],
    ids=["episode", "text_then_media"],
)
def test_an_earlier_answer_is_shown_as_its_server_wrote_it(
    program: Program[Any], wanted: Sequence[PartKind]
) -> None:
    turn = Turn("wire", Media.from_bytes(b"[]"))
    first = replace(reply("first"), turn=turn)
    later = reply("second") if wanted == ("text",) else [reply("", picture())]
    _, steps = fed(program, first, later)
    assert [m.turn for m in steps[1][0].request.messages if m.role == "assistant"] == [
        turn
    ]


def test_an_answer_given_in_the_prompt_is_no_turn() -> None:
    shot = (user("2+2?"), message("assistant", "4"), user("3+3?"))
    result, steps = fed(episode(ask(*shot), answer="last"), reply("5"), reply("6"))
    assert ([len(calls[0].request.messages) for calls in steps], result.raw) == (
        [1, 4],
        "6",
    )


WHOLE = reply("a sun", picture())
REFUSED = Response.failed("bad_request", "no pictures of this")


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([WHOLE], WHOLE),
        (
            [reply("words alone"), reply(" ", picture()), reply("<image1>"), WHOLE],
            WHOLE,
        ),
        (
            [reply("one"), reply("two"), reply("three"), reply("four"), reply("five")],
            reply("five"),
        ),
        ([reply("one"), REFUSED, REFUSED, reply("four"), REFUSED], reply("four")),
        ([REFUSED, WHOLE], WHOLE),
    ],
    ids=["at once", "in the end", "never", "refused", "refused at first"],
)
def test_until_all_kinds_asks_the_same_again_and_the_last_answer_counts(
    answers: list[Response], result: Response
) -> None:
    found, steps = fed(until_all_kinds(ask(wants=("text", "image")), tries=5), *answers)
    assert (found, len(steps)) == (result.output, len(answers))
    assert {call.request.digest for calls in steps for call in calls} == {
        steps[0][0].request.digest
    }


def test_until_all_kinds_fails_with_the_last_error_where_every_try_failed() -> None:
    program = until_all_kinds(ask(wants=("text", "image")), tries=2)
    program.send(None)
    program.send(Reply(Response.failed("timeout", "too late")))
    with pytest.raises(CallFailed) as failed:
        program.send(Reply(REFUSED))
    assert failed.value.error == REFUSED.error
