"""The tools of plans: which one a step is given to, with which arguments, and what it has made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.backend import Tool
from mmeval.content import Part
from mmeval.judge import ReplyError, read_object
from mmeval.program import Call

Arguments = Mapping[str, Any]
MOST_FRAMES, USUAL_FRAMES = 8, 4
FIXED_TURNS = (300 / 360, 330 / 360, 30 / 360, 60 / 360)
"""The views of Fixed3DGeneration as fractions of a turn to the right, in the order that is documented."""


class Wanted(NamedTuple):
    """What a tool is asked for: in words, how many pictures, and of views their turns."""

    text: str = ""
    parts: int = 1
    turns: tuple[float, ...] = ()


class Kind(NamedTuple):
    """A tool of plans: its name there, its role, the pictures that it needs, and its arguments as JSON."""

    name: str
    role: str
    pictures: int
    form: str
    read: Callable[[Arguments], Wanted]


class Selected(NamedTuple):
    """The tool of a step, and what it is asked for."""

    kind: Kind
    tool: Tool
    wanted: Wanted

    def call(self, pictures: Sequence[Part], options: Mapping[str, Any]) -> Call:
        how = {**options, **({} if self.tool.parts else {"n": self.wanted.parts})}
        words = [self.wanted.text] if self.wanted.text else []
        return self.tool.call(*words, *pictures, title="tool", **how)

    def checked(self, parts: Sequence[Part]) -> Sequence[Part] | str:
        """The pictures that were asked for, or why these are others. A film may have more, which are cut off."""
        wanted = self.wanted.parts
        found = parts if self.tool.parts else parts[:wanted]
        return found if len(found) == wanted else f"{self.kind.name} gave {len(found)} of {wanted} pictures"


def _of_prompt(parts: int) -> Callable[[Arguments], Wanted]:
    def read(arguments: Arguments) -> Wanted:
        text = arguments.get("prompt")
        if not isinstance(text, str) or not text.strip():
            raise ReplyError("prompt is no text")
        return Wanted(text.strip(), parts)

    return read


def _film(arguments: Arguments) -> Wanted:
    prompts, frames = arguments.get("prompt_list"), arguments.get("num_screenshot", USUAL_FRAMES)
    first = prompts[0] if isinstance(prompts, list) and len(prompts) == 1 else None
    text = first.get("content") if isinstance(first, dict) and first.get("type") == "text" else None
    if not isinstance(text, str) or not text.strip():
        raise ReplyError("prompt_list does not hold exactly one text")
    if type(frames) is not int or not 1 <= frames <= MOST_FRAMES:
        raise ReplyError(f"num_screenshot is no number from 1 to {MOST_FRAMES}")
    return Wanted(text.strip(), frames)


def _fixed(_arguments: Arguments) -> Wanted:
    return Wanted("", len(FIXED_TURNS), FIXED_TURNS)


def _free(arguments: Arguments) -> Wanted:
    turns = arguments.get("time_stamps")
    if not isinstance(turns, list) or not 1 <= len(turns) <= MOST_FRAMES:
        raise ReplyError(f"time_stamps is no list of 1 to {MOST_FRAMES} fractions")
    if not all(type(turn) in (int, float) and 0 <= turn <= 1 for turn in turns):
        raise ReplyError("time_stamps holds what is no fraction from 0 to 1")
    return Wanted(" ".join(f"{turn:g}" for turn in turns), len(turns), tuple(turns))


KINDS = (
    Kind("ImageGeneration", "text_to_image", 0, '{"prompt": "<what the picture shows>"}', _of_prompt(1)),
    Kind("ImageEdit", "image_edit", 1, '{"prompt": "<what to change>"}', _of_prompt(1)),
    Kind(
        "VideoGeneration",
        "image_to_video",
        1,
        '{"prompt_list": [{"type": "text", "content": "<what happens>"}], "num_screenshot": 4}',
        _film,
    ),
    Kind("Fixed3DGeneration", "fixed_views", 1, "{}", _fixed),
    Kind("Free3DGeneration", "free_views", 1, '{"time_stamps": [0.125, 0.875]}', _free),
    Kind("ImageMorph", "image_morph", 2, '{"prompt": "a photo of <a thing>"}', _of_prompt(4)),
)
_NAMED = re.compile(rf"\b({'|'.join(name for kind in KINDS for name in (kind.name, kind.role))})\b", re.IGNORECASE)


class Tools:
    """The tools of a run, by their names in plans."""

    def __init__(self, *tools: Tool | None) -> None:
        by_role = {tool.name: tool for tool in tools if tool is not None}
        self._found = {kind.name: (kind, by_role[kind.role]) for kind in KINDS if kind.role in by_role}

    def to_json(self) -> list[dict[str, Any]]:
        """What the planner and the selector are told of them."""
        return [
            {"name": name, "about": tool.about, "pictures": kind.pictures, "form": kind.form, "parts": tool.parts}
            for name, (kind, tool) in self._found.items()
        ]

    def named(self, text: str) -> list[str]:
        """The tools of the run that a step names. Raises ReplyError where it names others alone, or there are none."""
        if not self._found:
            raise ReplyError("no tool has a backend")
        words = {word.lower() for word in _NAMED.findall(text)}
        kinds = [kind for kind in KINDS if {kind.name.lower(), kind.role} & words]
        found = [kind.name for kind in kinds if kind.name in self._found]
        if kinds and not found:
            raise ReplyError(f"nobody plays the tool {kinds[0].name} (--role {kinds[0].role}=BACKEND)")
        return found

    def selected(self, reply: str) -> Selected:
        """The tool of a selector's reply, with its arguments. Raises ReplyError."""
        found = read_object(reply, ("tool", "arguments"))
        name, arguments = found["tool"], found["arguments"]
        names = [own for own, (kind, _) in self._found.items() if name in (own, kind.role)]
        if not names or not isinstance(arguments, dict):
            known = ", ".join(self._found)
            raise ReplyError("arguments is no object" if names else f"{name!r:.40} is none of the tools {known}")
        kind, tool = self._found[names[0]]
        return Selected(kind, tool, kind.read(arguments))

    def example(self, text: str) -> str:
        """A reply of the selector for a step, for a dry run."""
        named = [name for name in self._found if name in text] or [*self._found]
        return json.dumps({"tool": named[0], "arguments": json.loads(self._found[named[0]][0].form)})

    def usual(self, pictures: int) -> tuple[str, list[str]]:
        """A tool that makes one picture, for a task with so many, and what it needs; without one empty."""
        fit = (kind for kind, tool in self._found.values() if tool.parts == 1 and kind.pictures <= pictures)
        kind = next(fit, None)
        return ("", []) if kind is None else (kind.name, [f"#image{at}#" for at in range(1, kind.pictures + 1)])
