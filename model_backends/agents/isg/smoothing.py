"""Smoothing: the texts of an answer are written again as one text, around the same
pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

from mmeval.media import Interleaved, Part, text_part
from mmeval.model_backends.agents.isg.context import AgentContext
from mmeval.model_backends.agents.isg.profiles import words
from mmeval.program import Program, ask_one

MARK = "<boi><eoi>"
"""Stands for a picture."""
_TRIES = 3


class Smoothed(NamedTuple):
    """An answer, whether it is the smoothed one, why the original was kept, and how
    often the smoother was asked again. ``kept`` is empty for an accepted one."""

    answer: Interleaved
    kept: str
    retried: int

    def to_json(self) -> dict[str, Any]:
        return {"accepted": not self.kept, "kept": self.kept, "retried": self.retried}


def smoothed(context: AgentContext, answer: Interleaved) -> Program[Smoothed]:
    """The answer with texts that flow, if these are as many and stand in the same
    places.

    A reply with another number of pictures is asked for again; one with other places is
    dropped at once.
    """
    marked = ""
    for part in answer.parts:
        marked += MARK if part.kind == "image" else part.text or ""
    pictures = [part for part in answer.parts if part.kind == "image"]
    kinds = [part.kind for part in answer.parts]
    kept = ""
    for retried in range(_TRIES):
        call = context.call(
            "smooth",
            read=words,
            example=marked,
            answer=marked,
            mark_of_picture=MARK,
            count=len(pictures),
        )
        reply = yield from ask_one(call)
        kept = reply.problem()
        if kept:
            break
        found = context.profile.result(reply.text).split(MARK)
        if len(found) == len(pictures) + 1:
            parts: list[Part] = []
            for number, text in enumerate(found):
                if text.strip():
                    parts.append(text_part(text.strip()))
                parts += pictures[number : number + 1]
            if [part.kind for part in parts] == kinds:
                return Smoothed(Interleaved(tuple(parts)), "", retried)
            kept = "texts stand in other places"
            break
        kept = f"it has {len(found) - 1} of {len(pictures)} pictures"
    return Smoothed(answer, kept, retried)
