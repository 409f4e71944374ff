"""Carries out a plan with placeholders: reads them, asks the tools in rounds, and puts the media in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from mmeval.agent import AgentAnswer, in_rounds, rounds_of
from mmeval.backend import Tool
from mmeval.content import Interleaved, Part, PartKind, text_part
from mmeval.model_backends.agents.mmmg.placeholders import Profile, filled, find
from mmeval.program import Call, Program, Reply
from mmeval.records import Request
from mmeval.system import Checked

MaxItems = Annotated[int, Checked(lambda value: "" if value >= 1 else "1 or more")]
"""How many placeholders of a plan are read; those behind stay as they are written."""


class Item(Protocol):
    """What a valid placeholder asks for."""

    @property
    def tool(self) -> str:
        """The role that makes it."""

    @property
    def needs(self) -> Sequence[int]:
        """The placeholders whose media it is made of."""

    def to_json(self) -> Mapping[str, Any]: ...


T = TypeVar("T", bound=Item)


def question(request: Request) -> Interleaved:
    """Everything that is asked, with the media in their places."""
    contents = [message.content for message in request.messages if not message.content.empty]
    parts = [part for content in contents for part in (text_part("\n\n"), *content.parts)]
    return Interleaved(tuple(parts[1:]))


def by_name(*tools: Tool | None) -> dict[str, Tool]:
    """The tools that a run has."""
    return {tool.name: tool for tool in tools if tool is not None}


def carried_out(
    reply: str,
    kind: PartKind,
    *,
    wanted: bool,
    profile: Profile,
    max_items: int,
    read: Callable[[str, Sequence[T | None]], T | str],
    tools: Mapping[str, Tool],
    call: Callable[[T, Sequence[Part], str], Call],
    instead: Callable[[], Part | None] = lambda: None,
) -> Program[AgentAnswer]:
    """The answer to a plan.

    ``read`` gives the item of what stands inside a placeholder, after those of the placeholders before it, or why it is
    malformed (None in place of an item); ``call`` the call for an item, from the media that it needs and its title.
    ``instead`` stands in the place of a medium that cannot be made.
    """
    places = find(reply, f"<{kind}_start>", f"</?{kind}_end>")
    warnings = ["the plan has no placeholder"] if wanted and not places else []
    if len(places) > max_items:
        warnings.append(f"placeholders after the first {max_items} of {len(places)} stay as they are written")
    items: list[T | None] = []
    for at, place in enumerate(places[:max_items]):
        item = read(place.inside, items)
        if not isinstance(item, str) and item.tool not in tools:
            item = f"no backend makes it (--role {item.tool}=BACKEND)"
        if isinstance(item, str):
            warnings.append(f"placeholder {at} is malformed: {item}")
        items.append(None if isinstance(item, str) else item)
    valid = {at: item for at, item in enumerate(items) if item is not None}
    order, never = rounds_of([None if item is None else item.needs for item in items])
    lost = dict.fromkeys(never, "it needs a malformed one")

    def asked(at: int, made: Mapping[int, Part]) -> Call | None:
        item = valid[at]
        media = [made[need] for need in item.needs if need in made]
        if len(media) < len(item.needs):
            lost[at] = "what it needs was not made"
            return None
        return call(item, media, f"{kind}{list(valid).index(at)}")

    def taken(at: int, reply: Reply) -> Part | None:
        part = tools[valid[at].tool].made(reply)
        if isinstance(part, Part):
            return part
        lost[at] = part
        return instead()

    made = yield from in_rounds(order, asked, taken)
    warnings += [f"placeholder {at} has no medium of its own: {why}" for at, why in sorted(lost.items())]
    parts = [made.get(at) or instead() for at in valid]
    return AgentAnswer(
        filled(reply, kind, [places[at] for at in valid], parts, profile),
        evidence={
            "items": [None if item is None else item.to_json() for item in items],
            "rounds": order,
            "never_resolved": never,
        },
        warnings=warnings,
    )
