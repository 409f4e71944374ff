"""The protocol ``maze``: the model finds a path through a maze, turn by turn."""

from __future__ import annotations

import re

from mmeval.media import Interleaved, text_part
from mmeval.program import Ask, Program, ask_one
from mmeval.records import Message
from mmeval.tasks.mme_unify.mme_unify_maze import ACTION
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of, turns_of

_FINISH = "finish"
# A line of the reply, also in Markdown: "**Action**: Right" or "- Action: Right".
_LINE = r"(?im)^[^\S\n]*+[*_#>`-]*+[^\S\n]*+{}[*_`]*+[^\S\n]*+:[*_`]*+[^\S\n]*+(.*)$"
_ACTION = re.compile(_LINE.format("action"))
_LOCATION = re.compile(_LINE.format("location"))
_WORD = re.compile(r"\W*(left|right|up|down|finish)\b", re.IGNORECASE)
_PAIR = re.compile(r"[\[(]\s*+(-?[0-9]{1,9})\s*+,\s*+(-?[0-9]{1,9})\s*+[\])]")


def maze(
    ask: Ask,
    *,
    first: str = "This is step 0. Choose Left, Right, Up or Down.",
    later: str = "This is step {step}. Choose Left, Right, Up or Down, or Finish when "
    "you are at the goal.",
) -> Program[Interleaved]:
    """Asks the model for one turn after another.

    Each request contains the sample's prompt and the model's earlier turns. The
    protocol ends with the action Finish, or when there is a turn for each action of the
    sample. The answer consists of the turns (:mod:`mmeval.tasks.mme_unify.turns`). A
    turn consists of the last action, the last location and the first picture in a
    reply.
    """
    *before, prompt = ask.messages
    turns: list[MazeTurn] = []
    for step in range(len(ask.sample.metadata[ACTION])):
        instruction = later if step else first
        current = text_part(instruction.format(step=step))
        earlier = answer_of(turns).parts
        content = Interleaved((*prompt.content.parts, *earlier, current))
        message = Message(prompt.role, content)
        reply = yield from ask_one(ask.call((*before, message)))
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
