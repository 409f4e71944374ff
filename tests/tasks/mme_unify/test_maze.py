"""The protocol of mazes, without a model: what is asked in each turn, and what is
recorded of the replies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.program.calls import Call, Reply, Role
from mmeval.program.prompt_file import PromptTexts, bound_prompts, prompt_kinds
from mmeval.program.protocols import Ask
from mmeval.records import GenerationParams, Sample, answered, message, user
from mmeval.tasks.mme_unify.maze import maze
from mmeval.tasks.mme_unify.turns import MazeTurn, turns_of

START, FIRST, SECOND = (
    media_part(Media.from_bytes(b"\x89PNG\r\n\x1a\n" + name))
    for name in (b"s", b"1", b"2")
)
SAMPLE = Sample(
    "vcot/0", (user("maze"),), metadata={"action": ["Up", "Up", "Right", "Finish"]}
)
PROMPT = (message("system", "Be brief."), user(START, text_part("the rules")))


def played(*replies: Sequence[Part | str]) -> tuple[list[MazeTurn], list[list[str]]]:
    """The turns that are recorded, and the parts of each request's last message."""
    names = {"first": "maze_first", "later": "maze_later"}
    kinds = prompt_kinds(maze, names)
    program = maze(
        Ask(SAMPLE, PROMPT, ("text", "image"), GenerationParams(), Role("model")),
        **bound_prompts(maze, kinds, names, PromptTexts()),
    )
    requests: list[list[str]] = []
    answer: Interleaved | None = None
    call = next(program)
    for reply in replies:
        assert isinstance(call, Call)
        before, last = call.request.messages
        assert (before.role, last.role) == ("system", "user")
        requests.append([part.text or _NAMES[part] for part in last.content.parts])
        parts = [text_part(part) if isinstance(part, str) else part for part in reply]
        try:
            call = program.send(Reply(answered(parts)))
        except StopIteration as done:
            answer = done.value
    assert answer is not None, "it asks for more"
    return list(turns_of(answer).values()), requests


_NAMES = {START: "<start>", FIRST: "<first>", SECOND: "<second>"}


def test_each_turn_shows_the_rules_the_start_and_the_models_own_past() -> None:
    turns, requests = played(
        ["Action: Up\nLocation: [0, 1]\nImage:", FIRST],
        ["Action: down\nLocation: (0, 2)\nImage:"],
        ["Action: Right\nLocation: [1, 2]", SECOND],
        ["Action: Left"],
    )
    assert turns == [
        MazeTurn(0, "Up", [0, 1], FIRST),
        MazeTurn(1, "down", [0, 2]),
        MazeTurn(2, "Right", [1, 2], SECOND),
        MazeTurn(3, "Left"),
    ]
    step_0 = "Step 0\nAction: Up\nLocation: [0, 1]\nImage:\n"
    step_1 = "Step 1\nAction: down\nLocation: [0, 2]\nImage:\n"
    step_2 = "Step 2\nAction: Right\nLocation: [1, 2]\nImage:\n"
    moves = "Choose Left, Right, Up or Down"
    end = ", or Finish when you are at the goal."
    assert ["".join(request) for request in requests] == [
        f"<start>the rulesThis is step 0. {moves}.",
        f"<start>the rules{step_0}<first>This is step 1. {moves}{end}",
        f"<start>the rules{step_0}<first>{step_1}This is step 2. {moves}{end}",
        f"<start>the rules{step_0}<first>{step_1}{step_2}<second>"
        f"This is step 3. {moves}{end}",
    ]


def test_finish_ends_the_way_early() -> None:
    turns, _ = played(
        ["Action: Up"], ["Action: finish\nLocation: [0, 0]\nImage:", FIRST]
    )
    assert turns == [MazeTurn(0, "Up"), MazeTurn(1, "finish", [0, 0], FIRST)]


@pytest.mark.parametrize(
    ("reply", "turn"),
    [
        (
            ["**Action:** Right.\n**Location:** [1, 0]\n**Image:**", FIRST],
            MazeTurn(0, "Right", [1, 0], FIRST),
        ),
        (
            [
                "I could go\nAction: Up\nor, better,\n- action : LEFT, as\nlocation: "
                "at (2,1)"
            ],
            MazeTurn(0, "LEFT", [2, 1]),
        ),
        (["Action: jump\nLocation: here"], MazeTurn(0, "jump")),
        ([FIRST, "Location: [3, 3]", SECOND], MazeTurn(0, "", [3, 3], FIRST)),
        (
            ["Step 0\nAction: Down\nLocation: [0, 1]\nImage:\n", FIRST],
            MazeTurn(0, "Down", [0, 1], FIRST),
        ),
        (["Step 1\nAction: Left\nStep 0\nAction: Down"], MazeTurn(0, "Down")),
        (["nothing"], MazeTurn(0)),
        (["Action: Up", *[SECOND] * 100], MazeTurn(0, "Up", None, SECOND)),
        ([], MazeTurn(0)),
        (["Action:" + " *" * 50_000 + "\nLocation:" + " [" * 50_000], None),
    ],
)
def test_a_reply_is_read_as_a_turn(
    reply: list[Part | str], turn: MazeTurn | None
) -> None:
    turns, _ = played(reply, ["Action: Finish"])
    assert len(turns) == 2
    assert turn is None or turns[0] == turn
