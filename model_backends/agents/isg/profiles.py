"""The differences between the definition of ISG-Agent and the released agent: one
method for each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.backend.agent import rounds_of
from mmeval.media import Interleaved, Part
from mmeval.metric.judge import ReplyError, read_objects, strict_json
from mmeval.model_backends.agents.isg.dispatch import SelectedTool
from mmeval.records import GenerationParams

_RELEASED = {
    "plan": GenerationParams(temperature=0.5, max_tokens=4096),
    "select": GenerationParams(max_tokens=512),
    "refine": GenerationParams(temperature=0.7, max_tokens=4096),
    "smooth": GenerationParams(temperature=0.0, max_tokens=4096),
}
_BRACKET = re.compile(r"[][]")


@dataclass(frozen=True)
class Profile:
    """The behaviour by the definition, or of the released agent (``official``). Methods
    that return a problem return an empty text without one."""

    official: bool

    def rows(self, reply: str) -> list[dict[str, Any]]:
        """Returns the rows of a plan: the first list of objects. Official: the content
        of the first brackets, which may be empty or lack labels. Raises ReplyError."""
        if not self.official:
            return read_objects(reply)
        # up to the bracket that closes the first one; brackets in texts count too
        start, depth = max(reply.find("["), 0), 0
        for bracket in _BRACKET.finditer(reply, start):
            depth += 1 if bracket[0] == "[" else -1
            if depth:
                continue
            rows = strict_json(reply[start : bracket.end()])
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                return [{"Task": "", **row} for row in rows]
            break
        raise ReplyError("the first brackets hold no list of JSON objects")

    def sampling(self, title: str, given: GenerationParams) -> GenerationParams:
        """Returns the parameters of a step; ``given`` are those of its role. Official:
        the released agent's."""
        return _RELEASED.get(title, given) if self.official else given

    def order(self, needs: Sequence[Collection[int]]) -> list[list[int]]:
        """Groups of steps that run at the same time: each step as soon as the pictures
        that it needs are made. Official: one after the other, in the plan's order."""
        if self.official:
            return [[place] for place in range(len(needs))]
        earlier = []
        for place, step_needs in enumerate(needs):
            earlier.append([number for number in step_needs if number < place])
        return rounds_of(earlier).order

    def waves(
        self,
        needs: Sequence[Collection[int]],
    ) -> list[list[list[int]]]:
        """Returns the order of steps that call tools, in waves. The tools of a wave are
        chosen together: those of all steps, because a choice depends only on a step's
        text. Official: each step is its own wave."""
        order = self.order(needs)
        return [[group] for group in order] if self.official else [order]

    def first_number(self, place: int, made_count: int) -> int:
        """Returns the number of the first picture of a step: its place among the steps
        that call tools, because each makes one picture. Official: the number of
        pictures made so far."""
        return made_count if self.official else place

    def conflict(
        self,
        place: int,
        selected: SelectedTool,
        first: SelectedTool | None,
    ) -> str:
        """Returns the problem of a tool after the plan's ``first`` tool, if either
        makes several pictures. The tool is not called then. Official: none."""
        if self.official or place == 0:
            return ""
        if selected.tool.parts != 1:
            return "it makes several pictures, and comes after another tool"
        if first is not None and first.tool.parts != 1:
            return f"it comes after {first.kind.name}, which makes several pictures"
        return ""

    def accepted(
        self, selected: SelectedTool, parts: Sequence[Part], first: int
    ) -> Sequence[Part] | str:
        """Returns the accepted pictures of a tool, or the problem. Their number must be
        as requested; a video's pictures are cut to it. Official: any number, but only
        one after another step; views are sorted by their turns to the right."""
        requested = selected.request
        if not self.official:
            if not selected.tool.parts:
                parts = parts[: requested.parts]
            if len(parts) != requested.parts:
                return f"it gave {len(parts)} of {requested.parts} pictures"
            return parts
        if first and len(parts) > 1:
            return "it made several pictures after another tool"
        if len(requested.turns) != len(parts):
            return parts
        places = sorted(range(len(parts)), key=requested.turns.__getitem__)
        return [parts[place] for place in places]

    def missing_picture(self, name: str) -> str:
        """Returns the problem of a missing picture in the answer. Official: it is
        dropped."""
        if self.official:
            return ""
        return f"{name:.40} is no picture of the task, and none that was made"

    def caption(self, reply: str) -> str:
        """Returns the text in a caption's reply. Raises ReplyError for a blank one.
        Official: a blank one is dropped."""
        return reply if self.official else words(reply)

    def failed_caption(self, reason: str) -> str:
        """Returns the text in place of a failed caption. Official: the error, as a text
        of the answer."""
        return reason if self.official else ""

    def joined(self, texts: Sequence[str]) -> str:
        """Neighbouring captions as one text, with blank lines between them. Official:
        without."""
        if self.official:
            return "".join(texts).strip()
        return "\n\n".join(filter(None, map(str.strip, texts)))

    def result(self, reply: str) -> str:
        """Returns the answer in a smoother's reply: the text after the first
        ``Result:``. Official: up to the next one."""
        before, *after = reply.split("Result:", -1 if self.official else 1)
        return after[0] if after else before

    def after_exhaustion(self, answer: Interleaved) -> Interleaved:
        """Returns the answer if problems remain after the last refinement. Official: an
        empty one."""
        return Interleaved() if self.official else answer


def words(reply: str) -> str:
    """Returns the text of a reply. Raises ReplyError for a blank one."""
    if not reply.strip():
        raise ReplyError("the reply is empty")
    return reply.strip()
