"""Smoothing: rewrites an answer's texts as one flowing text.

The pictures are not changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mmeval.media import Interleaved, Part, text_part
from mmeval.model_backends.agents.isg.context import AgentContext
from mmeval.model_backends.agents.isg.profiles import words
from mmeval.program import Program, ask_one

MARK = "<boi><eoi>"
"""The mark that stands for a picture in the text."""
_TRIES = 3


class SmoothedAnswer(NamedTuple):
    """An answer after smoothing.

    ``reason`` states why the original was kept. The reason is empty for a smoothed
    answer. ``retried`` is the number of retries.
    """

    answer: Interleaved
    reason: str
    retried: int

    def to_json(self) -> dict[str, Any]:
        return {
            "accepted": not self.reason,
            "kept": self.reason,
            "retried": self.retried,
        }


def smoothed(context: AgentContext, answer: Interleaved) -> Program[SmoothedAnswer]:
    """Smooths the texts of an answer without changing their number and positions.

    If the number of pictures in a reply differs, the reply is requested again. If the
    texts of a reply are in other positions, the original is kept without a retry.
    """
    segments: list[str] = []
    for part in answer.parts:
        segments.append(MARK if part.kind == "image" else part.text or "")
    marked = "".join(segments)
    lines = [f"{segment}\n\n" for segment in segments]
    pictures = [part for part in answer.parts if part.kind == "image"]
    kinds = [part.kind for part in answer.parts]
    reason = ""
    for retried in range(_TRIES):
        call = context.call(
            "smooth",
            read=words,
            example=marked,
            answer=marked,
            answer_lines="".join(lines),
            mark_of_picture=MARK,
            count=len(pictures),
        )
        reply = yield from ask_one(call)
        reason = reply.problem()
        if reason:
            break
        texts = context.profile.result(reply.text).split(MARK)
        if len(texts) == len(pictures) + 1:
            parts: list[Part] = []
            for number, text in enumerate(texts):
                if text.strip():
                    parts.append(text_part(text.strip()))
                parts += pictures[number : number + 1]
            if [part.kind for part in parts] == kinds:
                return SmoothedAnswer(Interleaved(tuple(parts)), "", retried)
            reason = "texts stand in other places"
            break
        reason = f"it has {len(texts) - 1} of {len(pictures)} pictures"
    return SmoothedAnswer(answer, reason, retried)
