"""MMMG's agent for sounds: a planner that writes what is to be heard, and tools that
make it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mmeval.backend import Tool
from mmeval.backend.agent import AgentProgram, Prompts, agent
from mmeval.media import Part, media_part
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

_BEGINNING = re.compile(
    r'<[\s/]*audio_type="(sound|speech|music)"[\s/]*><[\s/]*audio_text="'
)
_MIDDLE = re.compile(r'"[\s/]*><[\s/]*audio_style=')
_QUOTED_END = re.compile(r'"[\s/]*>')
_NUMBER = re.compile(r"(#?\d+)[\s/]*>")
_EXAMPLE = (
    'Listen: <audio_start><audio_type="speech"><audio_text="Good '
    'morning."><audio_style="an old man, calm"><audio_end> '
    '<audio_start><audio_type="speech"><audio_text="Good '
    'night."><audio_style=#0><audio_end>'
)


class AudioItem(NamedTuple):
    """A sound to make, in a ``style`` or like a ``reference``: the number of a
    placeholder, or the label of a sound of the user (``audio0``)."""

    type: str
    text: str
    style: str = ""
    reference: str | int = ""

    @property
    def tool(self) -> str:
        return f"text_to_{self.type}" if self.reference == "" else "clone_speech"

    @property
    def needs(self) -> Sequence[int]:
        return () if isinstance(self.reference, str) else (self.reference,)

    def to_json(self) -> Mapping[str, Any]:
        return self._asdict()


@agent(takes=("text", "audio"), gives=("text", "audio"), version="1")
def mmmg_audio_agent(
    request: Request,
    planner: Role,
    text_to_speech: Tool | None = None,
    clone_speech: Tool | None = None,
    text_to_sound: Tool | None = None,
    text_to_music: Tool | None = None,
    *,
    prompts: Prompts,
    profile: Profile = "standard",
    max_items: OneOrMore = 32,
) -> AgentProgram:
    """One plan with placeholders, which are made in two rounds: then those that speak
    in the voice of an earlier one.

    A malformed placeholder stays as it is written, and one whose tool gives no sound
    has none.
    """
    asked = question(request)
    sounds = [media_part(media) for media in asked.media("audio")]
    given = {f"audio{number}": sound for number, sound in enumerate(sounds)}
    tools = by_name(text_to_speech, clone_speech, text_to_sound, text_to_music)
    messages = prompts.messages(
        "audio_plan", question=asked, sounds=len(given), tools=list(tools)
    )
    reply = yield from planned(planner, messages, request, _EXAMPLE)

    def read(inside: str, before: Sequence[AudioItem | None]) -> AudioItem | str:
        return read_item(inside, before, len(given))

    def call(
        item: AudioItem,
        made: Sequence[Part],
        title: str,
    ) -> Call:
        options = request.params.options_of("audio")
        if item.tool in ("text_to_sound", "text_to_music"):
            return tools[item.tool].call(item.style, title=title, **options)
        voice = list(made)
        if not voice and item.reference in given:
            voice = [given[str(item.reference)]]
        return tools[item.tool].call(
            item.text, *voice, system=item.style, title=title, **options
        )

    tools_of_kind = PlaceholderTools("audio", tools, read, call)
    places = find(reply, "<audio_start>", "</?audio_end>")
    fill = partial(filled, reply, "audio", profile)
    return (yield from carried_out(tools_of_kind, request, places, max_items, fill))


def read_item(
    inside: str, before: Sequence[AudioItem | None], sounds: int
) -> AudioItem | str:
    """The item of what stands inside of a placeholder, or why it is malformed.

    ``before`` are those of the placeholders before it, None for a malformed one;
    ``sounds`` is how many the user gave.
    """
    beginning = _BEGINNING.match(inside)
    found = beginning and _text_and_style(inside, beginning.end())
    if not (beginning and found):
        return "it is not in the form that was asked for"
    kind, (text, style) = beginning[1], found
    if style.startswith('"'):
        return AudioItem(kind, text, style[1:])
    if not style.startswith("#"):
        if number_below(style, sounds) is None:
            return f"the user gave no sound {style:.9}"
        return AudioItem(kind, text, reference=f"audio{int(style)}")
    number = number_below(style[1:], len(before))
    named = None if number is None else before[number]
    if number is None or named is None or named.needs:
        return f"{style:.9} is no sound before it that is made without another one"
    return AudioItem(kind, text, reference=number)


def _text_and_style(inside: str, at: int) -> tuple[str, str] | None:
    """The words to say, and the style: a number, or a description behind its quotation
    mark.

    The first quotation mark ends the words behind which a style can be read.
    """
    closed = True
    for middle in _MIDDLE.finditer(inside, at):
        text, start = inside[at : middle.start()], middle.end()
        number = _NUMBER.match(inside, start)
        if number:
            return text, number[1]
        if closed and inside.startswith('"', start):
            end = _QUOTED_END.search(inside, start + 1)
            closed = end is not None  # or none is closed: that is looked for once
            if end:
                return text, inside[start : end.start()]
    return None
