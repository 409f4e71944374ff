"""The roles and tools of ISG-Agent, and the calls to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mmeval.backend import TO_DESCRIBE
from mmeval.backend.agent import Prompts
from mmeval.media import Part, text_part
from mmeval.metric.judge import accepts
from mmeval.model_backends.agents.isg.dispatch import PlanTools
from mmeval.model_backends.agents.isg.profiles import Profile
from mmeval.program import Call, Role
from mmeval.records import Request

if TYPE_CHECKING:  # Jinja is slow to import
    from mmeval.program import Value


@dataclass(frozen=True)
class AgentContext:
    """The roles and tools for one answer.

    ``roles`` maps the titles of steps to the roles that reply with text.
    """

    request: Request
    planner: Role
    roles: Mapping[str, Role | None]
    tools: PlanTools
    prompts: Prompts
    profile: Profile
    max_items: int
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def pictures(self) -> list[Part]:
        """The pictures of the task, in order."""
        return [bare(part) for part in self._parts if _is_picture(part)]

    @cached_property
    def task(self) -> str:
        """The text of the task.

        The name that plans use replaces a picture with a tag. A picture without a tag
        becomes a line break.
        """
        number = 0
        text = ""
        for part in self._parts:
            name = part.raw
            if _is_picture(part):
                number += 1
                name = f"#image{number}#"
            text += name if part.raw else "\n"
        return text.strip()

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the task, without its pictures."""
        texts: list[str] = []
        for message in self.request.messages:
            for part in message.content.parts:
                if part.kind == "text":
                    texts.append(part.text or "")
        return texts

    @property
    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        for message in self.request.messages:
            parts += (text_part("\n\n"), *message.content.parts)
        return [part for part in parts if part.kind != "reasoning"]

    def call(
        self,
        title: str,
        *,
        read: Callable[[str], object],
        example: str,
        **values: Value,
    ) -> Call:
        """Returns the call for a step. Only replies that ``read`` accepts are valid."""
        role = self.roles.get(title) or self.planner
        params = self.profile.sampling(title, role.params)
        messages = self.prompts.messages(
            title,
            task=self.task,
            # the released prompts show the task's texts in these two forms
            task_text="".join(self.texts),
            task_lines="".join(f"{text}\n" for text in self.texts),
            **values,
        )
        return role.send(
            messages,
            params=params,
            title=title,
            accept=accepts(read),
            example=example,
            convert=TO_DESCRIBE,
        )


def bare(part: Part) -> Part:
    """Returns a picture without its tag, for requests and answers."""
    return Part(part.kind, media=part.media)


def _is_picture(part: Part) -> bool:
    return part.kind == "image" and part.media is not None
