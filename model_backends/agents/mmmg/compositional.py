"""ISG-Bench's compositional baseline.

A planner describes pictures, and a tool draws them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.backend import Tool
from mmeval.backend.agent import AgentProgram, Prompts, agent
from mmeval.media import Interleaved, Part, text_part
from mmeval.model_backends.agents.mmmg.image_agent import ImageItem
from mmeval.model_backends.agents.mmmg.placeholders import (
    Placeholder,
    Profile,
    find_placeholders,
)
from mmeval.model_backends.agents.mmmg.plan import (
    PlaceholderTools,
    carry_out,
    make_plan,
    question_of,
)
from mmeval.program import Call, Role
from mmeval.records import Request
from mmeval.system import OneOrMore

_EXAMPLE = (
    "First: <image>a red kite over a beach</image> Then: <image>the same beach at "
    "night</image>"
)


@agent(
    takes=("text", "image"),
    gives=("text", "image"),
    version="1",
    asked=("compositional",),
)
def compositional(
    request: Request,
    planner: Role,
    text_to_image: Tool,
    *,
    prompts: Prompts,
    profile: Profile = "standard",
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """Requests a text in which ``<image>...</image>`` describes each picture.

    All pictures are drawn at the same time. The answer consists of pictures and
    stripped texts, without blank texts. A picture that is not drawn becomes a part
    without a medium. With ``profile=official`` a description cannot span several lines,
    as in the released script.
    """
    messages = prompts.messages("compositional", question=question_of(request))
    reply = yield from make_plan(planner, messages, request, _EXAMPLE)

    def read(inside: str, _before: Sequence[ImageItem | None]) -> ImageItem | str:
        return ImageItem("gen", inside.strip())

    def call(
        item: ImageItem,
        _media: Sequence[Part],
        title: str,
    ) -> Call:
        return text_to_image.call(
            item.prompt, title=title, **request.params.options_of("image")
        )

    placeholder_tools = PlaceholderTools(
        "image", {text_to_image.name: text_to_image}, read, call
    )
    places = find_placeholders(
        reply, "<image>", "</image>", lines=profile == "standard"
    )

    def blocks(
        places: Sequence[Placeholder], media: Sequence[Part | None]
    ) -> Interleaved:
        parts: list[Part] = []
        position = 0
        for place, part in zip(places, media, strict=True):
            before = reply[position : place.start].strip()
            parts += [text_part(before), part or Part("image")]
            position = place.end
        parts.append(text_part(reply[position:].strip()))
        visible = [part for part in parts if part.kind == "image" or part.raw]
        return Interleaved(tuple(visible))

    return (yield from carry_out(placeholder_tools, request, places, max_items, blocks))
