"""What the definition of ISG-Agent decides, and what the released agent does otherwise: a method for each."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from mmeval.agent import rounds_of
from mmeval.backend import Tool
from mmeval.content import Interleaved, Part
from mmeval.judge import ReplyError, read_objects
from mmeval.model_backends.agents.isg.dispatch import Selected
from mmeval.records import GenerationParams

_RELEASED = {
    "plan": GenerationParams(temperature=0.5, max_tokens=4096),
    "select": GenerationParams(max_tokens=512),
    "refine": GenerationParams(temperature=0.7, max_tokens=4096),
    "smooth": GenerationParams(temperature=0.0, max_tokens=4096),
}


class Standard:
    """The definition. A text that may be a problem is empty where there is none."""

    def rows(self, reply: str) -> list[dict[str, Any]]:
        """The rows of a plan. Raises ReplyError."""
        return read_objects(reply)

    def sampling(self, title: str, given: GenerationParams) -> GenerationParams:  # noqa: ARG002
        """The parameters of a step; ``given`` are those of the request."""
        return given

    def order(self, needs: Sequence[Collection[int]]) -> list[list[int]]:
        """The steps that are asked at the same time: each as soon as the pictures that it needs are made."""
        return rounds_of([[one for one in need if one < at] for at, need in enumerate(needs)]).order

    def crowded(self, tool: Tool, calls: int, at: int, made: int) -> str:  # noqa: ARG002
        """The problem of a tool in a plan with so many steps that call one: of several pictures it has to stand alone.

        It is the step at this place; before it is asked, 0 pictures are ``made``.
        """
        return "it makes several pictures, and stands beside another tool" if tool.parts != 1 and calls > 1 else ""

    def taken(self, selected: Selected, parts: Sequence[Part]) -> Sequence[Part] | str:
        """The pictures of a tool that count, or the problem: as many as were asked for. A film is cut to that."""
        wanted = selected.wanted.parts
        found = parts if selected.tool.parts else parts[:wanted]
        return found if len(found) == wanted else f"it gave {len(found)} of {wanted} pictures"

    def first_number(self, at: int, before: int) -> int:  # noqa: ARG002
        """The number of the first picture of a step at this place, after so many pictures."""
        return at

    def absent(self, name: str) -> str:
        """The problem of a picture that is added and not there."""
        return f"{name:.40} is no picture of the task, and none that was made"

    def failed_caption(self, why: str) -> str:  # noqa: ARG002
        """The text in the place of a caption that failed."""
        return ""

    def joined(self, texts: Sequence[str]) -> str:
        """Captions in a row as one text."""
        return "\n\n".join(text for one in texts if (text := one.strip()))

    def given_up(self, answer: Interleaved) -> Interleaved:
        """The answer where problems are left after the last refinement."""
        return answer


class Official(Standard):
    """The released agent."""

    def rows(self, reply: str) -> list[dict[str, Any]]:
        """From the first bracket to the one that closes it, those within texts counted too."""
        start, depth = reply.find("["), 0
        for at in range(max(start, 0), len(reply)):
            depth += {"[": 1, "]": -1}.get(reply[at], 0)
            if reply[at] == "]" and depth == 0:
                try:
                    rows = json.loads(reply[start : at + 1])
                except (ValueError, RecursionError) as error:
                    raise ReplyError(f"the first brackets hold no JSON: {error}") from None
                if rows and all(isinstance(row, dict) for row in rows):
                    return list(rows)
                raise ReplyError("the first brackets hold no list of objects")
        raise ReplyError("there are no brackets that are closed")

    def sampling(self, title: str, given: GenerationParams) -> GenerationParams:
        return _RELEASED.get(title, given)

    def order(self, needs: Sequence[Collection[int]]) -> list[list[int]]:
        """One after the other, as the plan has them."""
        return [[at] for at in range(len(needs))]

    def crowded(self, tool: Tool, calls: int, at: int, made: int) -> str:  # noqa: ARG002
        """Pictures are counted when they are made; a step that comes after those of a film is not noticed."""
        return "it made several pictures after another tool" if at and made > 1 else ""

    def taken(self, selected: Selected, parts: Sequence[Part]) -> Sequence[Part] | str:
        """Any number of pictures; views are sorted by their turns to the right."""
        turns = selected.wanted.turns
        if len(turns) != len(parts):
            return parts
        return [parts[at] for at in sorted(range(len(parts)), key=turns.__getitem__)]

    def first_number(self, at: int, before: int) -> int:  # noqa: ARG002
        return before

    def absent(self, name: str) -> str:  # noqa: ARG002
        """It vanishes."""
        return ""

    def failed_caption(self, why: str) -> str:
        """The error becomes a text of the answer."""
        return why

    def joined(self, texts: Sequence[str]) -> str:
        return "".join(texts).strip()

    def given_up(self, answer: Interleaved) -> Interleaved:  # noqa: ARG002
        """The sample is skipped."""
        return Interleaved()
