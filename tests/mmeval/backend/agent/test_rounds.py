from collections.abc import Mapping

import pytest

from mmeval.backend.agent.rounds import in_rounds, rounds_of
from mmeval.media.parts import Part, text_part
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.response import answered


@pytest.mark.parametrize(
    ("needs", "order", "never"),
    [
        ([], [], []),
        ([[], [], []], [[0, 1, 2]], []),
        ([[1], [], [0, 1], [2]], [[1], [0], [2], [3]], []),
        ([None, [0], [1], []], [[3]], [1, 2]),
        ([[0], [2], [1], [7]], [], [0, 1, 2, 3]),
        (
            [[at - 1] if at else [] for at in range(1100)],
            [[at] for at in range(1100)],
            [],
        ),
    ],
    ids=[
        "none",
        "independent",
        "a chain",
        "no item",
        "circles and what is not there",
        "a long chain",
    ],
)
def test_an_item_is_made_as_soon_as_all_that_it_needs_is_there(
    needs: list[list[int] | None], order: list[list[int]], never: list[int]
) -> None:
    assert rounds_of(needs) == (order, never)


def test_a_round_is_asked_at_once_and_what_either_side_gives_up_is_missing() -> None:
    def call(at: int, made: Mapping[int, Part]) -> Call | None:
        return None if at == 1 else Role("tool").ask(f"{at} of {sorted(made)}")

    def read(at: int, reply: Reply) -> Part | None:
        return None if at == 3 else reply.require().parts[0]

    program = in_rounds([[0, 1], [2, 3], []], call, read)
    asked = [next(program)]
    with pytest.raises(StopIteration) as done:
        while True:
            calls = asked[-1]
            assert isinstance(calls, list)
            asked.append(
                program.send(
                    [
                        Reply(
                            answered([text_part(call.request.messages[0].content.text)])
                        )
                        for call in calls
                    ]
                )
            )
    texts = [
        [call.request.messages[0].content.text for call in calls]
        for calls in asked
        if isinstance(calls, list)
    ]
    assert texts == [["0 of []"], ["2 of [0]", "3 of [0]"]]
    assert {at: part.text for at, part in done.value.value.items()} == {
        0: "0 of []",
        2: "2 of [0]",
    }


def test_a_round_without_calls_asks_nothing() -> None:
    program = in_rounds([[0]], lambda at, made: None, lambda at, reply: None)
    with pytest.raises(StopIteration) as done:
        next(program)
    assert done.value.value == {}
