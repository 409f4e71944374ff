"""MMMG's agent for sounds: a planner describes sounds, and tools make them."""

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
    """A sound to make, in a ``style`` or in the voice of a ``reference``.

    ``reference`` is the number of a placeholder, or the label of a user's sound
    (``audio0``).
    """

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


@agent(
    takes=("text", "audio"),
    gives=("text", "audio"),
    version="1",
    asked=("audio_plan",),
)
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
    """Requests one plan with placeholders, and then makes the sounds in two rounds.

    The second round makes the sounds that use the voice of an earlier sound.

    A malformed placeholder is kept unchanged. If a tool returns no sound, its
    placeholder remains without a medium.
    """
    question = question_of(request)
    sounds = [media_part(media) for media in question.media("audio")]
    user_sounds = {f"audio{number}": sound for number, sound in enumerate(sounds)}
    tools = tools_by_name(text_to_speech, clone_speech, text_to_sound, text_to_music)
    messages = prompts.messages(
        "audio_plan", question=question, sounds=len(user_sounds), tools=list(tools)
    )
    reply = yield from make_plan(planner, messages, request, _EXAMPLE)

    def read(inside: str, before: Sequence[AudioItem | None]) -> AudioItem | str:
        return read_item(inside, before, len(user_sounds))

    def call(
        item: AudioItem,
        media: Sequence[Part],
        title: str,
    ) -> Call:
        options = request.params.options_of("audio")
        if item.tool in ("text_to_sound", "text_to_music"):
            return tools[item.tool].call(item.style, title=title, **options)
        voice = list(media)
        if not voice and item.reference in user_sounds:
            voice = [user_sounds[str(item.reference)]]
        return tools[item.tool].call(
            item.text, *voice, system=item.style, title=title, **options
        )

    placeholder_tools = PlaceholderTools("audio", tools, read, call)
    places = find_placeholders(reply, "<audio_start>", "</?audio_end>")
    fill = partial(fill_placeholders, reply, "audio", profile)
    return (yield from carry_out(placeholder_tools, request, places, max_items, fill))


def read_item(
    inside: str, before: Sequence[AudioItem | None], sounds: int
) -> AudioItem | str:
    """Returns the item in a placeholder, or the reason why it is malformed.

    ``before`` contains the items of the earlier placeholders (None if malformed).
    ``sounds`` is the number of the user's sounds.
    """
    beginning = _BEGINNING.match(inside)
    text_and_style = beginning and _text_and_style(inside, beginning.end())
    if not (beginning and text_and_style):
        return "it does not have the required form"
    kind, (text, style) = beginning[1], text_and_style
    if style.startswith('"'):
        return AudioItem(kind, text, style[1:])
    if not style.startswith("#"):
        if number_below(style, sounds) is None:
            return f"the user has not given a sound {style:.9}"
        return AudioItem(kind, text, reference=f"audio{int(style)}")
    number = number_below(style[1:], len(before))
    referenced = None if number is None else before[number]
    if number is None or referenced is None or referenced.needs:
        return f"{style:.9} is not an earlier sound that is made without a reference"
    return AudioItem(kind, text, reference=number)


def _text_and_style(inside: str, position: int) -> tuple[str, str] | None:
    """Returns the text to speak, and the style.

    The style is a number, or a description after its opening quotation mark. The text
    ends at the first quotation mark after which a style can be read.
    """
    closed = True
    for middle in _MIDDLE.finditer(inside, position):
        text, start = inside[position : middle.start()], middle.end()
        number = _NUMBER.match(inside, start)
        if number:
            return text, number[1]
        if closed and inside.startswith('"', start):
            end = _QUOTED_END.search(inside, start + 1)
            # Search for a closing mark only once, so that the time is linear.
            closed = end is not None
            if end:
                return text, inside[start : end.start()]
    return None
