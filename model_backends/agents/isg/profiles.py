"""What the definition of ISG-Agent decides, and what the released agent does otherwise:
a method for each."""

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
    """The definition, or the released agent. A text that may be a problem is empty
    where there is none."""

    official: bool

    def rows(self, reply: str) -> list[dict[str, Any]]:
        """The rows of a plan: the first list of objects. Official: what the first
        brackets hold, no rows and rows without a label too. Raises ReplyError."""
        if not self.official:
            return read_objects(reply)
        # to the bracket that closes the first one, those within texts counted too
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
        """The parameters of a step; ``given`` are those of its role. Official: its
        own."""
        return _RELEASED.get(title, given) if self.official else given

    def order(self, needs: Sequence[Collection[int]]) -> list[list[int]]:
        """The steps that are asked at the same time: each as soon as the pictures that
        it needs are made. Official: one after the other, as the plan has them."""
        if self.official:
            return [[at] for at in range(len(needs))]
        earlier = []
        for at, need in enumerate(needs):
            earlier.append([number for number in need if number < at])
        return rounds_of(earlier).order

    def waves(
        self,
        needs: Sequence[Collection[int]],
    ) -> list[list[list[int]]]:
        """The order of steps that call tools, parted where tools are chosen: nowhere,
        as a choice goes by the words of a step. Official: before each one."""
        order = self.order(needs)
        return [[now] for now in order] if self.official else [order]

    def first_number(self, at: int, made: int) -> int:
        """The number of the first picture of a step: its place among those that call
        tools, as each of several makes one. Official: after those that are made."""
        return made if self.official else at

    def crowded(
        self,
        at: int,
        selected: SelectedTool,
        first: SelectedTool | None,
    ) -> str:
        """The problem of a tool beside that of the plan's ``first`` step, where either
        makes several pictures: it is not asked. Official: none."""
        if self.official or at == 0:
            return ""
        if selected.tool.parts != 1:
            return "it makes several pictures, and comes after another tool"
        if first is not None and first.tool.parts != 1:
            return f"it comes after {first.kind.name}, which makes several pictures"
        return ""

    def taken(
        self, selected: SelectedTool, parts: Sequence[Part], first: int
    ) -> Sequence[Part] | str:
        """The pictures of a tool that count, or the problem: as many as were asked for.
        A film is cut to that. Official: any number, but one after another step; views
        are sorted by their turns to the right."""
        wanted = selected.request
        if not self.official:
            if not selected.tool.parts:
                parts = parts[: wanted.parts]
            if len(parts) != wanted.parts:
                return f"it gave {len(parts)} of {wanted.parts} pictures"
            return parts
        if first and len(parts) > 1:
            return "it made several pictures after another tool"
        if len(wanted.turns) != len(parts):
            return parts
        places = sorted(range(len(parts)), key=wanted.turns.__getitem__)
        return [parts[place] for place in places]

    def absent(self, name: str) -> str:
        """The problem of a picture that is added and not there. Official: it
        vanishes."""
        if self.official:
            return ""
        return f"{name:.40} is no picture of the task, and none that was made"

    def caption(self, reply: str) -> str:
        """The text of a caption's reply. Raises ReplyError for a blank one. Official:
        that vanishes."""
        return reply if self.official else words(reply)

    def failed_caption(self, why: str) -> str:
        """The text in the place of a caption that failed. Official: the error is a text
        of the answer."""
        return why if self.official else ""

    def joined(self, texts: Sequence[str]) -> str:
        """Captions in a row as one text. Official: glued together."""
        if self.official:
            return "".join(texts).strip()
        return "\n\n".join(filter(None, map(str.strip, texts)))

    def result(self, reply: str) -> str:
        """The answer in a smoother's reply: what follows the first ``Result:``.
        Official: up to the next one."""
        before, *after = reply.split("Result:", -1 if self.official else 1)
        return after[0] if after else before

    def given_up(self, answer: Interleaved) -> Interleaved:
        """The answer where problems are left after the last refinement. Official: the
        sample is skipped."""
        return Interleaved() if self.official else answer


def words(reply: str) -> str:
    """The text of a reply. Raises ReplyError for a blank one."""
    if not reply.strip():
        raise ReplyError("the reply is empty")
    return reply.strip()
