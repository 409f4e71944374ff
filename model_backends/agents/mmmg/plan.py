"""Carries out a plan with placeholders: reads them, asks the tools in rounds, and puts
the media in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from mmeval.backend import Tool
from mmeval.backend.agent import AgentAnswer, in_rounds, rounds_of
from mmeval.media import Interleaved, Part, PartKind, text_part
from mmeval.model_backends.agents.mmmg.placeholders import Placeholder
from mmeval.program import Call, Program, Reply, Role, ask_one
from mmeval.records import Message, Request


class PlaceholderItem(Protocol):
    """What a valid placeholder asks for."""

    @property
    def tool(self) -> str:
        """The role that makes it."""

    @property
    def needs(self) -> Sequence[int]:
        """The placeholders whose media it is made of."""

    def to_json(self) -> Mapping[str, Any]: ...


T = TypeVar("T", bound=PlaceholderItem)


def question(request: Request) -> Interleaved:
    """Everything that is asked, with the media in their places."""
    parts: list[Part] = []
    for message in request.messages:
        if not message.content.empty:
            parts += (text_part("\n\n"), *message.content.parts)
    return Interleaved(tuple(parts[1:]))


def planned(
    planner: Role, messages: Sequence[Message], request: Request, example: str
) -> Program[str]:
    """The plan, asked with the request's own parameters. Raises CallFailed without
    one."""
    own = replace(request.params, options={})
    reply = yield from ask_one(
        planner.send(messages, params=own, title="plan", example=example)
    )
    return reply.require().text


def by_name(*tools: Tool | None) -> dict[str, Tool]:
    """The tools that a run has."""
    return {tool.name: tool for tool in tools if tool is not None}


@dataclass(frozen=True)
class PlaceholderTools(Generic[T]):
    """How an agent's placeholders become media of its kind.

    ``read`` gives the item of what stands inside a placeholder, after those of the
    placeholders before it, or why it is malformed (None in place of an item); ``call``
    the call for an item, from the media that it needs and its title. ``instead`` stands
    in the place of a medium that cannot be made.
    """

    kind: PartKind
    tools: Mapping[str, Tool]
    read: Callable[[str, Sequence[T | None]], T | str]
    call: Callable[[T, Sequence[Part], str], Call]
    instead: Callable[[], Part | None] = lambda: None

    def items(
        self,
        insides: Sequence[str],
    ) -> tuple[list[T | None], list[str]]:
        """The items of placeholders, None for a malformed one; and why it is."""
        items: list[T | None] = []
        faults: list[str] = []
        for at, inside in enumerate(insides):
            item = self.read(inside, items)
            if not isinstance(item, str) and item.tool not in self.tools:
                item = f"no backend makes it (--role {item.tool}=BACKEND)"
            if isinstance(item, str):
                faults.append(f"placeholder {at} is malformed: {item}")
            items.append(None if isinstance(item, str) else item)
        return items, faults

    def made(
        self, items: Sequence[T | None], order: Sequence[Sequence[int]]
    ) -> Program[tuple[dict[int, Part], dict[int, str]]]:
        """The media of items that are made in this order, and why others are not."""
        valid = [at for at, item in enumerate(items) if item is not None]
        lost: dict[int, str] = {}

        def asked(at: int, made: Mapping[int, Part]) -> Call | None:
            item = items[at]
            assert item is not None  # what is none is in no round
            media = [made[need] for need in item.needs if need in made]
            if len(media) == len(item.needs):
                return self.call(item, media, f"{self.kind}{valid.index(at)}")
            lost[at] = "what it needs was not made"
            return None

        def taken(at: int, reply: Reply) -> Part | None:
            item = items[at]
            assert item is not None
            part = self.tools[item.tool].made(reply)
            if isinstance(part, Part):
                return part
            lost[at] = part
            return self.instead()

        return (yield from in_rounds(order, asked, taken)), lost


def carried_out(
    tools_of_kind: PlaceholderTools[T],
    request: Request,
    places: Sequence[Placeholder],
    max_items: int,
    filled: Callable[[Sequence[Placeholder], Sequence[Part | None]], Interleaved],
) -> Program[AgentAnswer]:
    """The answer to a plan with these placeholders; ``filled`` puts media, or None,
    into the places of valid ones."""
    warnings = []
    if not places and tools_of_kind.kind in request.wants:
        warnings.append("the plan has no placeholder")
    if len(places) > max_items:
        warnings.append(
            f"placeholders after the first {max_items} of {len(places)} stay as they "
            "are written"
        )
    items, faults = tools_of_kind.items([place.inside for place in places[:max_items]])
    order, never = rounds_of([None if item is None else item.needs for item in items])
    made, lost = yield from tools_of_kind.made(items, order)
    lost |= dict.fromkeys(never, "it needs a malformed one")
    warnings += faults
    for at, why in sorted(lost.items()):
        warnings.append(f"placeholder {at} has no medium of its own: {why}")
    valid = [at for at, item in enumerate(items) if item is not None]
    answer = filled(
        [places[at] for at in valid],
        [made.get(at) or tools_of_kind.instead() for at in valid],
    )
    evidence = {
        "items": [None if item is None else item.to_json() for item in items],
        "rounds": order,
        "never_resolved": never,
    }
    return AgentAnswer(answer, evidence, warnings)
