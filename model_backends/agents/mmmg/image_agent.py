"""MMMG's agent for pictures: a planner that writes what to draw, and tools that draw
and edit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, NamedTuple

from mmeval.backend import Tool
from mmeval.backend.agent import AgentProgram, Prompts, agent
from mmeval.media import Part, media_part, png
from mmeval.model_backends.agents.mmmg.placeholders import (
    Profile,
    filled,
    find,
    number_below,
)
from mmeval.model_backends.agents.mmmg.plan import (
    PlaceholderTools,
    by_name,
    carried_out,
    planned,
    question,
)
from mmeval.program import Call, Role
from mmeval.records import Request
from mmeval.system import OneOrMore

_BEGINNING = re.compile(r'<[\s/]*image_prompt="')
_MIDDLE = re.compile(r'"[\s/]*><[\s/]*image_ref=\[')
_END = re.compile(r"\][\s/]*>")
_EXAMPLE = (
    'First <image_start><image_prompt="a red kite over a '
    'beach"><image_ref=[]><image_end> and then '
    '<image_start><image_prompt="the same beach at night"><image_ref=[#0]><image_end>'
)


class ImageItem(NamedTuple):
    """A picture to make. ``reference`` numbers the user's pictures (``edit``) or
    placeholders (``edit_gen``)."""

    type: Literal["gen", "edit", "edit_gen"]
    prompt: str
    reference: Sequence[int] = ()

    @property
    def tool(self) -> str:
        return "text_to_image" if self.type == "gen" else "image_edit"

    @property
    def needs(self) -> Sequence[int]:
        return self.reference if self.type == "edit_gen" else ()

    def to_json(self) -> Mapping[str, Any]:
        return self._asdict()


@agent(takes=("text", "image"), gives=("text", "image"), version="1")
def mmmg_image_agent(
    request: Request,
    planner: Role,
    text_to_image: Tool | None = None,
    image_edit: Tool | None = None,
    *,
    prompts: Prompts,
    profile: Profile = "standard",
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """One plan with placeholders, which are drawn in rounds: each as soon as the
    pictures that it changes are there.

    A malformed placeholder stays as it is written. Where a tool gives no picture, and
    where a placeholder changes a malformed one, a white picture takes its place.
    """
    asked = question(request)
    given = asked.media("image")
    tools = by_name(text_to_image, image_edit)
    messages = prompts.messages(
        "image_plan", question=asked, pictures=len(given), tools=list(tools)
    )
    reply = yield from planned(planner, messages, request, _EXAMPLE)

    def read(inside: str, before: Sequence[ImageItem | None]) -> ImageItem | str:
        return read_item(inside, len(before), len(given))

    def call(
        item: ImageItem,
        made: Sequence[Part],
        title: str,
    ) -> Call:
        media = made or [media_part(given[number]) for number in item.reference]
        return tools[item.tool].call(
            item.prompt, *media, title=title, **request.params.options_of("image")
        )

    tools_of_kind = PlaceholderTools("image", tools, read, call, white)
    places = find(reply, "<image_start>", "</?image_end>")
    fill = partial(filled, reply, "image", profile)
    return (yield from carried_out(tools_of_kind, request, places, max_items, fill))


def read_item(
    inside: str,
    before: int,
    pictures: int,
) -> ImageItem | str:
    """The item of what stands inside of a placeholder, or why it is malformed.

    ``before`` is how many placeholders stand before it, malformed or not, ``pictures``
    how many the user gave.
    """
    beginning = _BEGINNING.match(inside)
    middle = beginning and _MIDDLE.search(inside, beginning.end())
    end = middle and _END.search(inside, middle.end())
    if not (beginning and middle and end):
        return "it is not in the form that was asked for"
    prompt = inside[beginning.end() : middle.start()]
    written = inside[middle.end() : end.start()]
    if not written:
        return ImageItem("gen", prompt)
    names = written.split(",")
    made = all(name.startswith("#") for name in names)
    known = []
    for name in names:
        number = number_below(name[1:] if made else name, before if made else pictures)
        if number is None:
            return (
                f"[{written:.40}] is not of the {pictures} pictures of the user, nor "
                f"of the {before} before it"
            )
        known.append(number)
    return ImageItem("edit_gen" if made else "edit", prompt, known)


@cache
def white() -> Part:
    """The picture in the place of one that was not made, as in the released script:
    1024 pixels a side."""
    from PIL import Image

    return media_part(png(Image.new("RGB", (1024, 1024), "white")))
