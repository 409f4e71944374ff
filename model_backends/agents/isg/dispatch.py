"""Describes the tools that plans can use, and reads a selector's choice of a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mmeval.backend import Tool
from mmeval.media import Part
from mmeval.metric.judge import ReplyError, read_object
from mmeval.program import Call

Arguments = Mapping[str, Any]
MAX_PARTS, DEFAULT_FRAMES = 8, 4
FIXED_TURNS = (300 / 360, 330 / 360, 30 / 360, 60 / 360)
"""The views of Fixed3DGeneration, in the documented order.

Each view is given as the fraction of a full turn to the right.
"""


class ToolRequest(NamedTuple):
    """The request to a tool: a text, the number of pictures, and the turns of views."""

    text: str = ""
    parts: int = 1
    turns: tuple[float, ...] = ()


class ToolKind(NamedTuple):
    """A tool that plans can use.

    ``name`` is its name in plans, ``role`` is its role, and ``pictures`` is the number
    of its input pictures. ``form`` is an example of its arguments as JSON.
    """

    name: str
    role: str
    pictures: int
    form: str
    read: Callable[[Arguments], ToolRequest]


class SelectedTool(NamedTuple):
    """The tool of a step, and the request to it."""

    kind: ToolKind
    tool: Tool
    request: ToolRequest

    def call(self, pictures: Sequence[Part], options: Mapping[str, Any]) -> Call:
        call_options = dict(options)
        if not self.tool.parts:
            call_options["n"] = self.request.parts
        texts = [self.request.text] if self.request.text else []
        return self.tool.call(*texts, *pictures, title="tool", **call_options)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ReplyError(f"{name} does not contain a text")
    return value.strip()


def _prompt_request(arguments: Arguments, parts: int = 1) -> ToolRequest:
    return ToolRequest(_text(arguments.get("prompt"), "prompt"), parts)


def _video_request(arguments: Arguments) -> ToolRequest:
    prompts = arguments.get("prompt_list")
    frames = arguments.get("num_screenshot", DEFAULT_FRAMES)
    content = None
    if isinstance(prompts, list) and len(prompts) == 1:
        [only] = prompts
        if isinstance(only, dict) and only.get("type") == "text":
            content = only.get("content")
    text = _text(content, "prompt_list")
    if type(frames) is not int or not 1 <= frames <= MAX_PARTS:
        raise ReplyError(f"num_screenshot is not a number from 1 to {MAX_PARTS}")
    return ToolRequest(text, frames)


def _views_request(arguments: Arguments) -> ToolRequest:
    turns = arguments.get("time_stamps")
    listed = turns if isinstance(turns, list) else []
    are_fractions = 1 <= len(listed) <= MAX_PARTS
    for turn in listed:
        if type(turn) not in (int, float) or not 0 <= turn <= 1:
            are_fractions = False
    if not are_fractions:
        raise ReplyError(f"time_stamps is not a list of 1 to {MAX_PARTS} fractions")
    text = " ".join(f"{turn:g}" for turn in listed)
    return ToolRequest(text, len(listed), tuple(listed))


KINDS = (
    ToolKind(
        "ImageGeneration",
        "text_to_image",
        0,
        '{"prompt": "<what the picture shows>"}',
        _prompt_request,
    ),
    ToolKind(
        "ImageEdit", "image_edit", 1, '{"prompt": "<what to change>"}', _prompt_request
    ),
    ToolKind(
        "VideoGeneration",
        "image_to_video",
        1,
        '{"prompt_list": [{"type": "text", "content": "<what happens>"}], '
        '"num_screenshot": 4}',
        _video_request,
    ),
    ToolKind(
        "Fixed3DGeneration",
        "fixed_views",
        1,
        "{}",
        lambda _: ToolRequest("", len(FIXED_TURNS), FIXED_TURNS),
    ),
    ToolKind(
        "Free3DGeneration",
        "free_views",
        1,
        '{"time_stamps": [0.125, 0.875]}',
        _views_request,
    ),
    ToolKind(
        "ImageMorph",
        "image_morph",
        2,
        '{"prompt": "a photo of <a thing>"}',
        partial(_prompt_request, parts=4),
    ),
)
_TOOL_NAMES = re.compile(
    rf"\b({'|'.join(name for kind in KINDS for name in (kind.name, kind.role))})\b",
    re.IGNORECASE,
)


class PlanTools:
    """The tools of a run, under the names that plans use."""

    def __init__(self, *tools: Tool | None) -> None:
        by_role = {tool.name: tool for tool in tools if tool is not None}
        self._available: dict[str, tuple[ToolKind, Tool]] = {}
        for kind in KINDS:
            if kind.role in by_role:
                self._available[kind.name] = kind, by_role[kind.role]

    def to_json(self) -> list[dict[str, Any]]:
        """Describes the tools for the planner and the selector."""
        return [
            {
                "name": name,
                "about": tool.about,
                "pictures": kind.pictures,
                "form": kind.form,
                "parts": tool.parts,
            }
            for name, (kind, tool) in self._available.items()
        ]

    def unavailable(self, text: str) -> str:
        """Returns why no tool of the run can do a step, or an empty string if one can.

        The first tool that the step names must be available. A step need not name a
        tool.
        """
        match = _TOOL_NAMES.search(text)
        if match is None:
            return "" if self._available else "no tool has a backend"
        name = match[0].lower()
        for kind in KINDS:
            is_named = name in (kind.name.lower(), kind.role)
            if is_named and kind.name not in self._available:
                return f"{kind.name} has no backend (--role {kind.role}=BACKEND)"
        return ""

    def selected(self, reply: str) -> SelectedTool:
        """Reads the tool and its arguments in a selector's reply. Raises ReplyError."""
        choice = read_object(reply, ("tool", "arguments"))
        arguments = choice["arguments"]
        if isinstance(arguments, dict):
            for kind, tool in self._available.values():
                if choice["tool"] in (kind.name, kind.role):
                    return SelectedTool(kind, tool, kind.read(arguments))
        raise ReplyError(
            f"it must name one of {', '.join(self._available)} and give the arguments "
            "as a JSON object"
        )

    def example(self, text: str) -> str:
        """Returns a selector's reply for a step, for dry runs."""
        names = [name for name in self._available if name in text]
        name = (names or list(self._available))[0]
        arguments = json.loads(self._available[name][0].form)
        return json.dumps({"tool": name, "arguments": arguments})

    def default(self, pictures: int) -> tuple[str, list[str]]:
        """Returns a tool that makes one picture, and the names of its input pictures.

        The tool needs at most ``pictures`` input pictures. If there is no such tool,
        the name and the list are empty.
        """
        for kind, tool in self._available.values():
            if tool.parts == 1 and kind.pictures <= pictures:
                needs = [f"#image{number + 1}#" for number in range(kind.pictures)]
                return kind.name, needs
        return "", []
