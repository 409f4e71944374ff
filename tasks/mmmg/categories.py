"""The categories of MMMG with their tasks, in the order of the paper.

The authors only compute averages within a category, since a model without sound output
may still be good at pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Category:
    """A category: its tasks, and its groups of tasks on the authors' leaderboard."""

    name: str
    title: str
    tasks: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]


def _tasks(*names: str) -> tuple[str, ...]:
    return tuple(f"mmmg_{name}" for name in names)


_OBJECT = _tasks(
    "object_inclusion",
    "object_exclusion",
    "object_count",
    "object_reasoning",
    "object_attribution",
)
_RELATION = _tasks(
    "comparison_relation", "universal_relation", "relative_spatial", "absolute_spatial"
)
_FORMAT = _tasks("region_fill", "border_fill")
_TEXT = _tasks(
    "single_text_rendering", "double_text_rendering", "multilingual_text_rendering"
)
_CONSISTENCY = _tasks(
    "semantic_consistency", "composition", "decomposition", "multi_view", "multi_angle"
)
_EDITING = _tasks(
    "interleaved_object_adding",
    "interleaved_color_modifying",
    "text_editing",
    "object_adding",
    "object_removing",
    "object_modifying",
)
_SELF = _tasks(
    "self_count",
    "self_color",
    "self_size",
    "self_relative_spatial",
    "self_absolute_spatial",
    "self_ocr",
)
_REASONING = _tasks("interleaved_math", "interleaved_code")
_ORDER = _tasks("image_text_order")
_SOUND = _tasks(
    "sound_begin_end", "sound_positional_inclusion", "sound_silence", "sound_reasoning"
)
_MUSIC = _tasks(
    "instrument_inclusion", "instrument_exclusion", "music_tempo", "music_intensity"
)
_VOICE = _tasks("voice_attribution", "multilingual_speech", "voice_replication")
_TRANSCRIPT = _tasks("transcript_editing", "transcript_generation")
_SPEECH_COHERENCE = _tasks("conversation", "audio_text_order")

CATEGORIES = (
    Category(
        "mmmg_image",
        "image",
        (*_OBJECT, *_RELATION, *_FORMAT, *_TEXT),
        {
            "object": _OBJECT,
            "relation": _RELATION,
            "format": _FORMAT,
            "text rendering": _TEXT,
        },
    ),
    Category(
        "mmmg_image_text",
        "image and text",
        (*_CONSISTENCY, *_EDITING, *_SELF, *_REASONING, *_ORDER),
        {
            "consistency": _CONSISTENCY,
            "editing": _EDITING,
            "coherence": (*_SELF, *_ORDER),
            "reasoning": _REASONING,
        },
    ),
    Category(
        "mmmg_audio",
        "sound and music",
        (*_SOUND, *_MUSIC),
        {"sound": _SOUND, "music": _MUSIC},
    ),
    Category(
        "mmmg_speech",
        "speech",
        (*_VOICE, *_TRANSCRIPT, *_SPEECH_COHERENCE),
        {"voice": _VOICE, "transcript": _TRANSCRIPT, "coherence": _SPEECH_COHERENCE},
    ),
)
