"""The tools of plans: which one a step is given to, and with which arguments."""

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
MOST_PARTS, USUAL_FRAMES = 8, 4
FIXED_TURNS = (300 / 360, 330 / 360, 30 / 360, 60 / 360)
"""The views of Fixed3DGeneration as fractions of a turn to the right, in the order that
is documented."""


class ToolRequest(NamedTuple):
    """What a tool is asked for: in words, how many pictures, and of views their
    turns."""

    text: str = ""
    parts: int = 1
    turns: tuple[float, ...] = ()


class ToolKind(NamedTuple):
    """A tool of plans: its name there, its role, the pictures that it needs, and its
    arguments as JSON."""

    name: str
    role: str
    pictures: int
    form: str
    read: Callable[[Arguments], ToolRequest]


class SelectedTool(NamedTuple):
    """The tool of a step, and what it is asked for."""

    kind: ToolKind
    tool: Tool
    wanted: ToolRequest

    def call(self, pictures: Sequence[Part], options: Mapping[str, Any]) -> Call:
        how = dict(options)
        if not self.tool.parts:
            how["n"] = self.request.parts
        words = [self.request.text] if self.request.text else []
        return self.tool.call(*words, *pictures, title="tool", **how)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ReplyError(f"{name} holds no text")
    return value.strip()


def _prompt(arguments: Arguments, parts: int = 1) -> ToolRequest:
    return ToolRequest(_text(arguments.get("prompt"), "prompt"), parts)


def _film(arguments: Arguments) -> ToolRequest:
    prompts = arguments.get("prompt_list")
    frames = arguments.get("num_screenshot", USUAL_FRAMES)
    content = None
    if isinstance(prompts, list) and len(prompts) == 1:
        [only] = prompts
        if isinstance(only, dict) and only.get("type") == "text":
            content = only.get("content")
    text = _text(content, "prompt_list")
    if type(frames) is not int or not 1 <= frames <= MOST_PARTS:
        raise ReplyError(f"num_screenshot is no number from 1 to {MOST_PARTS}")
    return ToolRequest(text, frames)


def _free(arguments: Arguments) -> ToolRequest:
    turns = arguments.get("time_stamps")
    listed = turns if isinstance(turns, list) else []
    are_fractions = 1 <= len(listed) <= MOST_PARTS
    for turn in listed:
        if type(turn) not in (int, float) or not 0 <= turn <= 1:
            are_fractions = False
    if not are_fractions:
        raise ReplyError(f"time_stamps is no list of 1 to {MOST_PARTS} fractions")
    text = " ".join(f"{turn:g}" for turn in listed)
    return ToolRequest(text, len(listed), tuple(listed))


KINDS = (
    ToolKind(
        "ImageGeneration",
        "text_to_image",
        0,
        '{"prompt": "<what the picture shows>"}',
        _prompt,
    ),
    ToolKind("ImageEdit", "image_edit", 1, '{"prompt": "<what to change>"}', _prompt),
    ToolKind(
        "VideoGeneration",
        "image_to_video",
        1,
        '{"prompt_list": [{"type": "text", "content": "<what happens>"}], '
        '"num_screenshot": 4}',
        _film,
    ),
    ToolKind(
        "Fixed3DGeneration",
        "fixed_views",
        1,
        "{}",
        lambda _: ToolRequest("", len(FIXED_TURNS), FIXED_TURNS),
    ),
    ToolKind(
        "Free3DGeneration", "free_views", 1, '{"time_stamps": [0.125, 0.875]}', _free
    ),
    ToolKind(
        "ImageMorph",
        "image_morph",
        2,
        '{"prompt": "a photo of <a thing>"}',
        partial(_prompt, parts=4),
    ),
)
_NAMED = re.compile(
    rf"\b({'|'.join(name for kind in KINDS for name in (kind.name, kind.role))})\b",
    re.IGNORECASE,
)


class PlanTools:
    """The tools of a run, by their names in plans."""

    def __init__(self, *tools: Tool | None) -> None:
        by_role = {tool.name: tool for tool in tools if tool is not None}
        self._found: dict[str, tuple[ToolKind, Tool]] = {}
        for kind in KINDS:
            if kind.role in by_role:
                self._found[kind.name] = kind, by_role[kind.role]

    def to_json(self) -> list[dict[str, Any]]:
        """What the planner and the selector are told of them."""
        return [
            {
                "name": name,
                "about": tool.about,
                "pictures": kind.pictures,
                "form": kind.form,
                "parts": tool.parts,
            }
            for name, (kind, tool) in self._found.items()
        ]

    def unplayed(self, text: str) -> str:
        """Why nothing of the run can do a step; empty where the tool that it names
        first is there, or any may do it."""
        found = _NAMED.search(text)
        if found is None:
            return "" if self._found else "no tool has a backend"
        name = found[0].lower()
        for kind in KINDS:
            is_named = name in (kind.name.lower(), kind.role)
            if is_named and kind.name not in self._found:
                return f"{kind.name} has no backend (--role {kind.role}=BACKEND)"
        return ""

    def selected(self, reply: str) -> SelectedTool:
        """The tool of a selector's reply, with its arguments. Raises ReplyError."""
        found = read_object(reply, ("tool", "arguments"))
        arguments = found["arguments"]
        if isinstance(arguments, dict):
            for kind, tool in self._found.values():
                if found["tool"] in (kind.name, kind.role):
                    return SelectedTool(kind, tool, kind.read(arguments))
        raise ReplyError(
            f"it is no tool of {', '.join(self._found)} with an object as arguments"
        )

    def example(self, text: str) -> str:
        """A reply of the selector for a step, for a dry run."""
        named = [name for name in self._found if name in text]
        name = (named or list(self._found))[0]
        arguments = json.loads(self._found[name][0].form)
        return json.dumps({"tool": name, "arguments": arguments})

    def usual(self, pictures: int) -> tuple[str, list[str]]:
        """A tool that makes one picture, for a task with so many, and what it needs;
        without one empty."""
        for kind, tool in self._found.values():
            if tool.parts == 1 and kind.pictures <= pictures:
                needs = [f"#image{number + 1}#" for number in range(kind.pictures)]
                return kind.name, needs
        return "", []
