"""The protocol ``maze``: the model finds a path through a maze, turn by turn."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from mmeval.media import Interleaved
from mmeval.program import Ask, JudgePrompt, Program, PromptFile, PromptValue, ask_one
from mmeval.tasks.mme_unify.mme_unify_maze import ACTION
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of, turns_of

_FINISH = "finish"
# A line of the reply, also in Markdown: "**Action**: Right" or "- Action: Right".
_LINE = r"(?im)^[^\S\n]*+[*_#>`-]*+[^\S\n]*+{}[*_`]*+[^\S\n]*+:[*_`]*+[^\S\n]*+(.*)$"
_ACTION = re.compile(_LINE.format("action"))
_LOCATION = re.compile(_LINE.format("location"))
_WORD = re.compile(r"\W*(left|right|up|down|finish)\b", re.IGNORECASE)
_PAIR = re.compile(r"[\[(]\s*+(-?[0-9]{1,9})\s*+,\s*+(-?[0-9]{1,9})\s*+[\])]")


TurnPrompt: TypeAlias = Annotated[
    PromptValue, JudgePrompt("prompt", "input", "turns", "step", form=False)
]


def maze(
    ask: Ask,
    *,
    first: TurnPrompt = "maze_first",
    later: TurnPrompt = "maze_later",
) -> Program[Interleaved]:
    """Asks the model for one turn after another.

    ``first`` and ``later`` are the prompts of the first turn and of the others. Their
    values are the sample's prompt, the sample's ``input``, the model's earlier
    ``turns``, and the number of the ``step``.

    The protocol ends with the action Finish, or when there is a turn for each action of
    the sample. The answer consists of the turns (:mod:`mmeval.tasks.mme_unify.turns`).
    A turn consists of the last action, the last location and the first picture in a
    reply.
    """
    *before, prompt = ask.messages
    turns: list[MazeTurn] = []
    for step in range(len(ask.sample.metadata[ACTION])):
        of_turn = PromptFile.of(later if step else first)
        messages = of_turn.messages(
            {
                "prompt": prompt.content,
                "input": ask.sample.input[-1].content,
                "turns": answer_of(turns),
                "step": step,
            }
        )
        reply = yield from ask_one(ask.call((*before, *messages)))
        turns.append(turn_in(reply.require(), step))
        if turns[-1].action.casefold() == _FINISH:
            break
    return answer_of(turns)


def turn_in(reply: Interleaved, step: int) -> MazeTurn:
    """Reads the turn in a reply.

    If the reply lists several steps in the form of earlier turns, only ``step`` is
    read.
    """
    stated = turns_of(reply).get(step)
    if stated is not None and stated.action:
        return stated
    picture = None
    for part in reply.parts:
        if part.kind == "image" and part.media is not None:
            picture = part
            break

    actions = _ACTION.findall(reply.words)
    action = actions[-1].strip() if actions else ""
    word = _WORD.match(action)
    if word:
        action = word[1]

    location = None
    locations = _LOCATION.findall(reply.words)
    if locations:
        pair = _PAIR.search(locations[-1])
        if pair:
            location = [int(pair[1]), int(pair[2])]
    return MazeTurn(step, action, location, picture)
