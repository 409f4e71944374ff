"""ISG-Bench's compositional baseline: a planner that marks what to draw, and a tool
that draws it."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.backend import Tool
from mmeval.backend.agent import AgentProgram, Prompts, agent
from mmeval.media import Interleaved, Part, text_part
from mmeval.model_backends.agents.mmmg.image_agent import ImageItem
from mmeval.model_backends.agents.mmmg.placeholders import Placeholder, Profile, find
from mmeval.model_backends.agents.mmmg.plan import (
    PlaceholderTools,
    carried_out,
    planned,
    question,
)
from mmeval.program import Call, Role
from mmeval.records import Request
from mmeval.system import OneOrMore

_EXAMPLE = (
    "First: <image>a red kite over a beach</image> Then: <image>the same beach at "
    "night</image>"
)


@agent(takes=("text", "image"), gives=("text", "image"), version="1")
def compositional(
    request: Request,
    planner: Role,
    text_to_image: Tool,
    *,
    prompts: Prompts,
    profile: Profile = "standard",
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """One answer in words, in which ``<image>...</image>`` describes each picture;
    these are drawn at the same time.

    What it answers are blocks: texts, stripped and none of them blank, and pictures.
    One that is not drawn is a part without a medium. With ``profile=official`` a
    description does not span lines, as in the released script.
    """
    messages = prompts.messages("compositional", question=question(request))
    reply = yield from planned(planner, messages, request, _EXAMPLE)

    def read(inside: str, _before: Sequence[ImageItem | None]) -> ImageItem | str:
        return ImageItem("gen", inside.strip())

    def call(
        item: ImageItem,
        _made: Sequence[Part],
        title: str,
    ) -> Call:
        return text_to_image.call(
            item.prompt, title=title, **request.params.options_of("image")
        )

    tools_of_kind = PlaceholderTools(
        "image", {text_to_image.name: text_to_image}, read, call
    )
    places = find(reply, "<image>", "</image>", lines=profile == "standard")

    def blocks(
        places: Sequence[Placeholder], made: Sequence[Part | None]
    ) -> Interleaved:
        parts: list[Part] = []
        at = 0
        for place, part in zip(places, made, strict=True):
            before = reply[at : place.start].strip()
            parts += [text_part(before), part or Part("image")]
            at = place.end
        parts.append(text_part(reply[at:].strip()))
        shown = [part for part in parts if part.kind == "image" or part.raw]
        return Interleaved(tuple(shown))

    return (yield from carried_out(tools_of_kind, request, places, max_items, blocks))
