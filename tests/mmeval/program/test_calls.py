import pytest

from mmeval.program.calls import Call, CallFailed, Reply, Role, ask_all, ask_one
from mmeval.records.request import GenerationParams
from mmeval.records.response import Response
from tests.support.toy import picture, reply, request

PARAMS = GenerationParams(temperature=0.5)


def test_one_call_gets_one_reply_and_several_get_a_list() -> None:
    call = Call("model", request())
    one, several = ask_one(call), ask_all([call, call])
    assert (next(one), next(several)) == (call, [call, call])
    for program, sent in (
        (one, Reply(reply("a"))),
        (several, [Reply(reply("a")), Reply(reply("b"))]),
    ):
        with pytest.raises(StopIteration) as end:
            program.send(sent)
        assert end.value.value == sent


def test_a_reply_has_its_answer_or_fails_with_the_error() -> None:
    good, bad = Reply(reply("fine")), Reply(Response.failed("timeout", "too late"))
    assert (good.ok, good.text, good.require().raw, bad.ok, bad.text) == (
        True,
        "fine",
        "fine",
        False,
        "",
    )
    for failed, error in ((bad, "timeout: too late"), (Reply(Response()), "internal")):
        with pytest.raises(CallFailed, match=error):
            failed.require()


def test_a_reply_has_a_problem_unless_another_try_may_not_meet_it() -> None:
    assert (
        Reply(reply("fine")).problem(),
        Reply(Response.failed("too_long", "x")).problem(),
    ) == ("", "too_long: x")
    with pytest.raises(CallFailed, match="timeout"):
        Reply(Response.failed("timeout", "too late")).problem()


def test_a_role_asks_with_its_own_parameters_unless_a_call_has_others() -> None:
    judge = Role("judge", PARAMS)
    asked = judge.ask("is this met?", picture(), system="be strict", wants=("text",))
    messages = [(m.role, m.content.rendered()) for m in asked.request.messages]
    assert messages == [("system", "be strict"), ("user", "is this met?<<image1>>")]
    assert (asked.role, asked.request.params) == ("judge", PARAMS)
    assert (
        judge.send(asked.request.messages, params=GenerationParams()).request.params
        == GenerationParams()
    )
