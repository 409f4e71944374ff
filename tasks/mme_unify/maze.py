"""The protocol ``maze``: a way through a maze, turn by turn."""

from __future__ import annotations

import re

from mmeval.media import Interleaved, text_part
from mmeval.program import Ask, Program, ask_one
from mmeval.records import Message
from mmeval.tasks.mme_unify.mme_unify_maze import ACTION
from mmeval.tasks.mme_unify.turns import Turn, answer_of, turns_of

_FINISH = "finish"
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
    """One request a turn, which shows the sample's prompt and the model's own turns so
    far.

    It ends with the action Finish, and at the latest after as many turns as the sample
    has actions. The answer is the turns (:mod:`mmeval.tasks.mme_unify.turns`); of a
    turn's reply its last action, its last location and its first picture count.
    """
    *before, prompt = ask.messages
    turns: list[Turn] = []
    for step in range(len(ask.sample.metadata[ACTION])):
        words = later if step else first
        now = text_part(words.format(step=step))
        past = answer_of(turns).parts
        content = Interleaved((*prompt.content.parts, *past, now))
        message = Message(prompt.role, content)
        reply = yield from ask_one(ask.call((*before, message)))
        turns.append(turn_in(reply.require(), step))
        if turns[-1].action.casefold() == _FINISH:
            break
    return answer_of(turns)


def turn_in(reply: Interleaved, step: int) -> Turn:
    """The turn in a reply. One that is written as a record of steps, as the past is
    shown, holds that of its step."""
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
    return Turn(step, action, location, picture)
