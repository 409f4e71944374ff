"""The differences between the definition of ISG-Agent and the released agent.

There is one method per difference.
"""

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
    """The agent's behaviour: as defined, or like the released agent (``official``).

    A method that returns a problem returns an empty string if there is no problem.
    """

    official: bool

    def rows(self, reply: str) -> list[dict[str, Any]]:
        """Reads the rows of a plan: the first list of objects in a reply.

        Official: reads the content of the first brackets, even if it is empty or lacks
        labels. Raises ReplyError.
        """
        if not self.official:
            return read_objects(reply)
        # Ends at the bracket that closes the first one. Brackets in texts also count.
        start, depth = max(reply.find("["), 0), 0
        for bracket in _BRACKET.finditer(reply, start):
            depth += 1 if bracket[0] == "[" else -1
            if depth:
                continue
            rows = strict_json(reply[start : bracket.end()])
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                return [{"Task": "", **row} for row in rows]
            break
        raise ReplyError("the first brackets do not contain a list of JSON objects")

    def sampling(self, title: str, given: GenerationParams) -> GenerationParams:
        """Returns the parameters of a step. ``given`` are the parameters of its role.

        Official: returns the parameters that the released agent uses.
        """
        return _RELEASED.get(title, given) if self.official else given

    def order(self, needs: Sequence[Collection[int]]) -> list[list[int]]:
        """Groups the steps that run at the same time.

        Each step runs as soon as the pictures that it needs are made. Official: the
        steps run one after the other, in the plan's order.
        """
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
        """Groups the steps that call tools into waves.

        The tools of a wave are chosen together.

        There is one wave with all steps, because a choice depends only on a step's
        text. Official: each step forms a separate wave.
        """
        order = self.order(needs)
        return [[group] for group in order] if self.official else [order]

    def first_number(self, place: int, made_count: int) -> int:
        """Returns the number of the first picture of a step.

        It is the step's index among the steps that call tools, because each makes one
        picture. Official: the number of pictures made so far.
        """
        return made_count if self.official else place

    def conflict(
        self,
        place: int,
        selected: SelectedTool,
        first: SelectedTool | None,
    ) -> str:
        """Returns the problem if this tool and the ``first`` tool cannot both run.

        They cannot both run if either makes several pictures. This tool is then not
        called. Official: any two tools can run.
        """
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
        """Returns the accepted pictures of a tool, or the problem.

        The tool must return the requested number of pictures. A video's surplus
        pictures are dropped. Official: any number is accepted, except that a tool after
        the first may make only one picture. Views are sorted by their turns to the
        right.
        """
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
        """Returns the problem if a picture of the answer is missing.

        Official: returns no problem, so the picture is left out.
        """
        if self.official:
            return ""
        return f"{name:.40} is neither a picture of the task nor one that was made"

    def caption(self, reply: str) -> str:
        """Returns the text in a caption's reply. Raises ReplyError for a blank reply.

        Official: accepts a blank reply, which is later left out.
        """
        return reply if self.official else words(reply)

    def failed_caption(self, reason: str) -> str:
        """Returns the text that replaces a failed caption.

        Official: the error becomes a text of the answer.
        """
        return reason if self.official else ""

    def joined(self, texts: Sequence[str]) -> str:
        """Joins neighbouring captions to one text, with blank lines between them.

        Official: joins them without blank lines.
        """
        if self.official:
            return "".join(texts).strip()
        return "\n\n".join(filter(None, map(str.strip, texts)))

    def result(self, reply: str) -> str:
        """Returns the text after the first ``Result:`` in a smoother's reply.

        Official: the text ends at the next ``Result:``.
        """
        before, *after = reply.split("Result:", -1 if self.official else 1)
        return after[0] if after else before

    def after_exhaustion(self, answer: Interleaved) -> Interleaved:
        """Returns the answer if problems remain after the last refinement.

        Official: returns an empty answer.
        """
        return Interleaved() if self.official else answer


def words(reply: str) -> str:
    """Returns the text of a reply. Raises ReplyError for a blank reply."""
    if not reply.strip():
        raise ReplyError("the reply is empty")
    return reply.strip()
