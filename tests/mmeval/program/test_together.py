import pytest

from mmeval.program.calls import Call, Program, Reply, ask_all, ask_one, run_program
from mmeval.program.together import together
from tests.support.toy import asked_text, asks, reply, request


def echo(call: Call, path: str) -> Reply:
    return Reply(reply(f"reply to {asked_text(call.request)}"), path)


def several(*texts: str) -> Program[list[str]]:
    """Asks all questions at once."""
    replies = yield from ask_all([Call("model", request(text)) for text in texts])
    return [reply.text for reply in replies]


def test_results_have_the_order_of_the_programs() -> None:
    programs = [asks("a", "b"), asks("c")]

    results = run_program(together(programs), echo)

    assert results == [["reply to a", "reply to b"], ["reply to c"]]


def test_the_next_calls_of_all_programs_are_one_step() -> None:
    paths: list[str] = []

    def noted(call: Call, path: str) -> Reply:
        paths.append(path)
        return echo(call, path)

    run_program(together([asks("a", "b"), asks("c", "d")]), noted)

    assert paths == ["0.0", "0.1", "1.0", "1.1"]


def test_a_list_of_calls_gets_its_own_replies() -> None:
    programs = [asks("a"), several("b", "c"), asks("d")]

    results = run_program(together(programs), echo)

    assert results[1] == ["reply to b", "reply to c"]


def test_a_program_without_calls_has_a_result() -> None:
    results = run_program(together([asks(), asks("a")]), echo)

    assert results == [[], ["reply to a"]]


def test_no_programs_make_no_call() -> None:
    results = run_program(together(list[Program[str]]()), echo)

    assert results == []


def test_the_error_of_a_program_is_raised() -> None:
    def failing() -> Program[list[str]]:
        yield from ask_one(Call("model", request("a")))
        raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        run_program(together([asks("a"), failing()]), echo)
