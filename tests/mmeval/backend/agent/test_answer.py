from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.backend.agent.answer import AgentAnswer, AgentProgram, driven
from mmeval.backend.agent.limits import AnswerLimits
from mmeval.media.parts import Interleaved
from mmeval.program.calls import Call, CallFailed, Reply, Role
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo, Response, Trace, TraceStep, Usage

HELPER = Role("helper", GenerationParams(temperature=1.0, max_tokens=7))
ANSWER = Interleaved.from_text("done")


def answer_of(
    program: AgentProgram, *replies: Response, **more: Any
) -> tuple[Response, list[Call]]:
    """The response that an agent comes to on these replies, and what it has asked."""
    driving = driven(program, **{"asks": ("helper",), "params": {}, **more})
    asked: list[Call] = []
    left = iter(replies)
    sent: Any = None
    for step in range(100):
        try:
            calls = driving.send(sent)
        except StopIteration as stop:
            return stop.value, asked
        if isinstance(calls, Call):
            asked.append(calls)
            sent = Reply(next(left), str(step), f"key {step}")
        else:
            asked += calls
            sent = [
                Reply(next(left), f"{step}.{at}", f"key {step}.{at}")
                for at, _ in enumerate(calls)
            ]
    raise AssertionError("endless")


def reply(text: str = "yes", **more: Any) -> Response:
    return Response(Interleaved.from_text(text), **more)


def talk(*steps: Any, result: Any = ANSWER) -> Any:
    for step in steps:  # noqa: UP028  a tuple can be sent nothing
        yield step
    return result


def test_an_answer_has_its_steps_with_their_costs_and_its_evidence() -> None:
    first = reply(usage=Usage(10, 2), latency=0.50004, warnings=("a", "b"))
    parallel = [
        reply(usage=Usage(1, 1), latency=1, warnings=("a",)),
        Response.failed("timeout", "late", latency=2),
    ]
    ask = HELPER.ask("more", title="plan")
    told = AgentAnswer(ANSWER, {"plan": [1]}, ["b", "c"])
    found, _ = answer_of(
        talk(ask, [HELPER.ask("x"), HELPER.ask("y")], result=told), first, *parallel
    )
    assert found.text == "done"
    assert found.usage == Usage(11, 3)
    assert found.latency == 3.5
    assert found.warnings == ("a", "b", "c")
    assert found.trace == Trace(
        (
            TraceStep("0", "helper", "plan", 10, 2, 0.5, key="key 0"),
            TraceStep("1.0", "helper", "", 1, 1, 1, key="key 1.0"),
            TraceStep(
                "1.1",
                "helper",
                "",
                0,
                0,
                2,
                ErrorInfo("timeout", "late"),
                key="key 1.1",
            ),
        ),
        {"plan": [1]},
    )
    assert Response.from_json(found.to_json(), None) == found  # type: ignore[arg-type]  # it has no media


def raising(error: Exception) -> AgentProgram:
    yield HELPER.ask("x")
    raise error


def requiring() -> AgentProgram:
    reply: Reply = yield HELPER.ask("x")
    return reply.require()


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (raising(ValueError("no")), "internal"),
        (raising(SystemExit(3)), "internal"),  # type: ignore[arg-type]
        (raising(CallFailed(ErrorInfo("bad_sample", "no"))), "bad_sample"),
        (requiring(), "timeout"),
        (talk(HELPER.ask("x"), result="done"), "internal"),
        (
            talk(HELPER.ask("x"), result=AgentAnswer(ANSWER, {"a": object()})),
            "internal",
        ),
        (talk(HELPER.ask("x"), result=AgentAnswer(ANSWER, [1])), "internal"),  # type: ignore[arg-type]
        (
            talk(
                HELPER.ask("x"),
                result=AgentAnswer(
                    ANSWER, {"a": 1}, error=ErrorInfo("no_answer", "no")
                ),
            ),
            "no_answer",
        ),
        (talk(HELPER.ask("x"), "more"), "internal"),
        (talk(HELPER.ask("x"), [HELPER.ask("y"), 5]), "internal"),
        (talk(HELPER.ask("x"), Role("other").ask("y")), "internal"),
    ],
)
def test_what_an_agent_does_that_is_no_answer_is_a_failure_with_its_trace(
    program: AgentProgram, kind: str
) -> None:
    found, asked = answer_of(program, Response.failed("timeout", "late"))
    assert (found.output, found.error and found.error.kind, len(asked)) == (
        None,
        kind,
        1,
    )
    assert found.trace is not None and [step.path for step in found.trace.steps] == [
        "0"
    ]
    assert found.trace.evidence == ({"a": 1} if kind == "no_answer" else {})


def test_an_error_of_an_agent_names_its_line() -> None:
    found, _ = answer_of(raising(ValueError("no")), reply())
    assert found.error is not None and found.error.message.startswith(
        "ValueError: no (test_answer.py:"
    )


def test_no_step_at_all_and_an_empty_one_are_fine() -> None:
    assert answer_of(talk())[0].text == answer_of(talk([]))[0].text == "done"


def nested(calls: int) -> Response:
    steps = tuple(TraceStep(str(at), "deep") for at in range(calls))
    return reply(usage=Usage(50, 50), trace=Trace(steps))


@pytest.mark.parametrize(
    ("limits", "replies", "steps"),
    [
        (AnswerLimits(2), [reply()] * 2, 2),
        (AnswerLimits(3), [nested(1), reply()], 2),
        (
            AnswerLimits(9, 100),
            [reply(usage=Usage(40, 9)), reply(usage=Usage(50, 1))],
            2,
        ),
        (AnswerLimits(9, 100), [nested(4)], 1),
    ],
    ids=[
        "calls",
        "calls of an agent that it asks",
        "tokens",
        "tokens of an agent that it asks",
    ],
)
def test_a_limit_ends_an_answer_by_what_came_before(
    limits: AnswerLimits, replies: Sequence[Response], steps: int
) -> None:
    found, asked = answer_of(talk(*[HELPER.ask("x")] * 9), *replies, limits=limits)
    assert (found.error and found.error.kind, len(asked)) == ("over_limit", steps)
    assert found.trace is not None and len(found.trace.steps) == steps


def test_parallel_calls_that_exceed_the_limit_are_not_begun_and_the_last_allowed_ones_are_made() -> (
    None
):
    found, asked = answer_of(talk([HELPER.ask("x")] * 3), limits=AnswerLimits(2))
    assert (found.error and found.error.kind, asked) == ("over_limit", [])
    assert (
        answer_of(
            talk([HELPER.ask("x")] * 2), reply(), reply(), limits=AnswerLimits(2)
        )[0].text
        == "done"
    )


def test_parameters_of_the_user_win_over_those_of_a_call() -> None:
    given = GenerationParams(temperature=0.0, options={"image.size": "1x1"})
    own = Role(
        "helper",
        GenerationParams(
            temperature=1.0, max_tokens=7, options={"image.size": "9x9", "image.n": 1}
        ),
    )
    _, (asked,) = answer_of(talk(own.ask("x")), reply(), params={"helper": given})
    assert asked.request.params == GenerationParams(
        temperature=0.0, max_tokens=7, options={"image.size": "1x1", "image.n": 1}
    )
    assert asked.request.digest != own.ask("x").request.digest
