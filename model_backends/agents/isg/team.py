"""Whom ISG-Agent asks, how, and what becomes of a reply that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mmeval.agent import Prompts
from mmeval.backend import TO_DESCRIBE
from mmeval.content import Interleaved, Part
from mmeval.judge import ReplyError
from mmeval.model_backends.agents.isg.dispatch import Tools
from mmeval.model_backends.agents.isg.rules import Rules
from mmeval.program import Call, Reply, Role
from mmeval.records import HOPELESS, GenerationParams, Request, Response

if TYPE_CHECKING:  # Jinja is slow to import
    from mmeval.program import Value


@dataclass(frozen=True)
class Team:
    """The roles and tools of an answer. ``roles`` are those that reply in words, by the title of their step."""

    request: Request
    planner: Role
    roles: Mapping[str, Role | None]
    tools: Tools
    prompts: Prompts
    rules: Rules
    max_items: int
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def pictures(self) -> list[Part]:
        """Those of the task, in order."""
        parts = (part for message in self.request.messages for part in message.content.parts)
        return [shown(part) for part in parts if part.kind == "image" and part.media is not None]

    @cached_property
    def task(self) -> str:
        """The words of the task."""
        return "\n\n".join(words for message in self.request.messages if (words := message.content.words.strip()))

    def call(self, title: str, *, read: Callable[[str], object], example: str, **values: Value) -> Call:
        """The call of a step, whose reply is one that ``read`` takes."""
        role = self.roles.get(title) or self.planner
        given = self.request.params
        own = GenerationParams(temperature=given.temperature, top_p=given.top_p, top_k=given.top_k)
        params = self.rules.sampling(title, own if role.name == self.planner.name else GenerationParams())
        messages = self.prompts.messages(title, task=self.task, **values)
        return role.send(
            messages, params=params, title=title, accept=_accepts(read), example=example, convert=TO_DESCRIBE
        )

    def problem(self, reply: Reply) -> str:
        """Why a reply cannot be used; empty if it can. Raises CallFailed for what another try may not meet."""
        error = reply.response.error
        if error is not None and error.kind not in (*HOPELESS, "bad_reply", "no_answer"):
            reply.require()
        return "" if error is None else f"{error.kind}: {error.message:.200}"


def shown(part: Part) -> Part:
    """A picture as it is sent, and as it stands in an answer: without a tag."""
    return Part(part.kind, media=part.media)


def in_order(pictures: Sequence[Part]) -> Interleaved:
    return Interleaved(tuple(pictures))


def words(text: str) -> str:
    """The text of a reply. Raises ReplyError for a blank one."""
    if not text.strip():
        raise ReplyError("the reply is empty")
    return text.strip()


def _accepts(read: Callable[[str], object]) -> Callable[[Response], str]:
    def fault(response: Response) -> str:
        try:
            read(response.text)
        except ReplyError as error:
            return str(error)
        return ""

    return fault
