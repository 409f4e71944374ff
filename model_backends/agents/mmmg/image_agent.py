"""MMMG's agent for pictures.

A planner describes pictures, and tools draw and edit them.
"""

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
    fill_placeholders,
    find_placeholders,
    number_below,
)
from mmeval.model_backends.agents.mmmg.plan import (
    PlaceholderTools,
    carry_out,
    make_plan,
    question_of,
    tools_by_name,
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
    """A picture to make.

    ``reference`` contains numbers of the user's pictures (``edit``) or of placeholders
    (``edit_gen``).
    """

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


@agent(
    takes=("text", "image"),
    gives=("text", "image"),
    version="1",
    asked=("image_plan",),
)
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
    """Requests one plan with placeholders, and then draws the pictures in rounds.

    Each picture is drawn as soon as the pictures that it edits exist.

    A malformed placeholder is kept unchanged. If a tool returns no picture, or a
    placeholder edits a malformed one, a white picture is used instead.
    """
    question = question_of(request)
    user_pictures = question.media("image")
    tools = tools_by_name(text_to_image, image_edit)
    messages = prompts.messages(
        "image_plan", question=question, pictures=len(user_pictures), tools=list(tools)
    )
    reply = yield from make_plan(planner, messages, request, _EXAMPLE)

    def read(inside: str, before: Sequence[ImageItem | None]) -> ImageItem | str:
        return read_item(inside, len(before), len(user_pictures))

    def call(
        item: ImageItem,
        made_media: Sequence[Part],
        title: str,
    ) -> Call:
        media = made_media or [
            media_part(user_pictures[number]) for number in item.reference
        ]
        return tools[item.tool].call(
            item.prompt, *media, title=title, **request.params.options_of("image")
        )

    placeholder_tools = PlaceholderTools("image", tools, read, call, white)
    places = find_placeholders(reply, "<image_start>", "</?image_end>")
    fill = partial(fill_placeholders, reply, "image", profile)
    return (yield from carry_out(placeholder_tools, request, places, max_items, fill))


def read_item(
    inside: str,
    before: int,
    pictures: int,
) -> ImageItem | str:
    """Returns the item in a placeholder, or the reason why it is malformed.

    ``before`` is the number of earlier placeholders, malformed or not. ``pictures`` is
    the number of the user's pictures.
    """
    beginning = _BEGINNING.match(inside)
    middle = beginning and _MIDDLE.search(inside, beginning.end())
    end = middle and _END.search(inside, middle.end())
    if not (beginning and middle and end):
        return "it does not have the required form"
    prompt = inside[beginning.end() : middle.start()]
    reference_text = inside[middle.end() : end.start()]
    if not reference_text:
        return ImageItem("gen", prompt)
    names = reference_text.split(",")
    are_placeholders = all(name.startswith("#") for name in names)
    references = []
    for name in names:
        number = number_below(
            name[1:] if are_placeholders else name,
            before if are_placeholders else pictures,
        )
        if number is None:
            return (
                f"[{reference_text:.40}] is not one of the user's {pictures} pictures, "
                f"nor of the {before} earlier placeholders"
            )
        references.append(number)
    return ImageItem("edit_gen" if are_placeholders else "edit", prompt, references)


@cache
def white() -> Part:
    """Returns the substitute for a picture that was not made.

    The substitute is a white square of 1024 pixels per side, as in the released script.
    """
    from PIL import Image

    return media_part(png(Image.new("RGB", (1024, 1024), "white")))
