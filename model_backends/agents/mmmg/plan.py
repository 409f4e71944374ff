"""Carries out a plan with placeholders.

It reads the placeholders, calls the tools in rounds, and inserts the media.
"""

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
    """The content of a valid placeholder."""

    @property
    def tool(self) -> str:
        """The role of the tool that makes the medium."""

    @property
    def needs(self) -> Sequence[int]:
        """The numbers of the placeholders whose media this item needs."""

    def to_json(self) -> Mapping[str, Any]: ...


T = TypeVar("T", bound=PlaceholderItem)


def question_of(request: Request) -> Interleaved:
    """Returns all messages of a request as one question with its media."""
    parts: list[Part] = []
    for message in request.messages:
        if not message.content.empty:
            parts += (text_part("\n\n"), *message.content.parts)
    return Interleaved(tuple(parts[1:]))


def make_plan(
    planner: Role, messages: Sequence[Message], request: Request, example: str
) -> Program[str]:
    """Requests a plan with the request's parameters, but without its options.

    Raises CallFailed if there is no reply.
    """
    params = replace(request.params, options={})
    reply = yield from ask_one(
        planner.send(messages, params=params, title="plan", example=example)
    )
    return reply.require().text


def tools_by_name(*tools: Tool | None) -> dict[str, Tool]:
    """Returns the tools of a run by name."""
    return {tool.name: tool for tool in tools if tool is not None}


@dataclass(frozen=True)
class PlaceholderTools(Generic[T]):
    """The functions that turn an agent's placeholders into media.

    The arguments of ``read`` are the text inside a placeholder and the items of the
    earlier placeholders (None if malformed). The function returns the item, or the
    reason why the placeholder is malformed. The arguments of ``call`` are an item, the
    media that it needs, and a title. This function returns the call that makes the
    medium. ``instead`` returns a substitute for a medium that cannot be made.
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
        """Returns the items of placeholders (None if malformed), and the faults."""
        items: list[T | None] = []
        faults: list[str] = []
        for number, inside in enumerate(insides):
            item = self.read(inside, items)
            if not isinstance(item, str) and item.tool not in self.tools:
                item = f"no backend makes it (--role {item.tool}=BACKEND)"
            if isinstance(item, str):
                faults.append(f"placeholder {number} is malformed: {item}")
            items.append(None if isinstance(item, str) else item)
        return items, faults

    def make_media(
        self, items: Sequence[T | None], order: Sequence[Sequence[int]]
    ) -> Program[tuple[dict[int, Part], dict[int, str]]]:
        """Makes the media of items, in rounds in the given ``order``.

        Returns the media and the reasons for missing media, both by the item's number.
        """
        valid = [number for number, item in enumerate(items) if item is not None]
        failures: dict[int, str] = {}

        def call_for(number: int, media_by_number: Mapping[int, Part]) -> Call | None:
            item = items[number]
            assert item is not None  # rounds hold only valid items
            needed = [need for need in item.needs if need in media_by_number]
            media = [media_by_number[need] for need in needed]
            if len(media) == len(item.needs):
                return self.call(item, media, f"{self.kind}{valid.index(number)}")
            failures[number] = "a medium that it needs was not made"
            return None

        def medium_of(number: int, reply: Reply) -> Part | None:
            item = items[number]
            assert item is not None
            part = self.tools[item.tool].made(reply)
            if isinstance(part, Part):
                return part
            failures[number] = part
            return self.instead()

        return (yield from in_rounds(order, call_for, medium_of)), failures


def carry_out(
    placeholder_tools: PlaceholderTools[T],
    request: Request,
    places: Sequence[Placeholder],
    max_items: int,
    fill: Callable[[Sequence[Placeholder], Sequence[Part | None]], Interleaved],
) -> Program[AgentAnswer]:
    """Makes the answer to a plan with these placeholders.

    ``fill`` builds it from the valid placeholders and their media (or None).
    """
    warnings = []
    if not places and placeholder_tools.kind in request.wants:
        warnings.append("the plan has no placeholder")
    if len(places) > max_items:
        warnings.append(
            f"only the first {max_items} of {len(places)} placeholders are used; the "
            "others stay as written"
        )
    items, faults = placeholder_tools.items(
        [place.inside for place in places[:max_items]]
    )
    order, unresolved = rounds_of(
        [None if item is None else item.needs for item in items]
    )
    media, failures = yield from placeholder_tools.make_media(items, order)
    failures |= dict.fromkeys(unresolved, "it needs a malformed placeholder")
    warnings += faults
    for number, reason in sorted(failures.items()):
        warnings.append(f"the medium of placeholder {number} was not made: {reason}")
    valid = [number for number, item in enumerate(items) if item is not None]
    answer = fill(
        [places[number] for number in valid],
        [media.get(number) or placeholder_tools.instead() for number in valid],
    )
    evidence = {
        "items": [None if item is None else item.to_json() for item in items],
        "rounds": order,
        "never_resolved": unresolved,
    }
    return AgentAnswer(answer, evidence, warnings)
