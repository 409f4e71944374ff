"""Samples whose answer is a sound: noises, music, speech, and speech beside words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from scripts.mmmg_bundled.media import clicks, fading
from scripts.mmmg_bundled.row import Row, placeholder
from scripts.synthetic_media import wav

SOUNDS: tuple[Row, ...] = (
    Row(
        "a_sound_begin_end",
        "Let us hear a clock alarm at the very beginning of a quiet morning.",
        {"start": "clock alarm"},
    ),
    Row(
        "a_sound_begin_end",
        "A walk home: it starts with footsteps and ends with somebody knocking on a "
        "wooden door.",
        {"start": "footsteps", "end": "door wood knock"},
    ),
    Row(
        "a_sound_include",
        "A quiet street, with a siren in the second half.",
        {"target": "siren", "range": [0.5, 1.0]},
    ),
    Row(
        "a_sound_silence",
        "First an alarm clock, then nothing for a good while, and at last a knock on "
        "a wooden door.",
        {"start": "clock alarm", "end": "door wood knock"},
    ),
    Row(
        "a_sound_cot",
        "Play the bird that wakes the farm before the sun does.",
        {"target": "rooster"},
    ),
    Row("a_music_attribute", "Play a slow tune on a flute.", {"instrument": "flute"}),
    Row(
        "a_music_attribute",
        "Play something plain with a clear beat, 120 beats a minute.",
        {"tempo": 120},
        media=[clicks(120, 8)],
    ),
    Row(
        "a_music_attribute",
        "Play a march on drums at 90 beats a minute.",
        {"instrument": "drums", "tempo": 90},
    ),
    Row(
        "a_music_exclude",
        "Play music for a tea room, with whatever you like but a piano.",
        {"instrument": "piano"},
    ),
    Row(
        "a_music_intensity",
        "Play a calm piece that comes out of silence and grows louder at the "
        "beginning.",
        {"intensity": ["start", "fade in"]},
        media=[fading(28)],
    ),
    Row(
        "a_music_intensity",
        "Play a calm piece that becomes ever softer at the end.",
        {"intensity": ["end", "fade out"]},
        media=[fading(28, out=True)],
    ),
)

TWO_BOATS = (
    "Two boats left the harbour at dawn, and only the smaller one came back before "
    "the storm."
)

SPEECH: tuple[Row, ...] = (
    Row(
        "a_speech_attribute",
        f'Let a woman with a high voice say, "{TWO_BOATS}"',
        {"text": TWO_BOATS, "gender": "female", "pitch": "high"},
    ),
    Row(
        "a_speech_attribute",
        f'Let a man say fast, "{TWO_BOATS}"',
        {"text": TWO_BOATS, "gender": "male", "speed": "high"},
    ),
    Row(
        "a_speech_chinese",
        'Let a man say slowly, "今天下午我们在院子里种了一棵苹果树。"',
        {
            "text": "今天下午我们在院子里种了一棵苹果树。",
            "gender": "male",
            "speed": "low",
        },
    ),
    Row(
        "a_speech_imitate",
        f'Say "{TWO_BOATS}" in the voice of the recording.',
        {"text": TWO_BOATS},
        given=[wav((262, 300), (330, 300))],
    ),
    Row(
        "a_speech_modify",
        'Say what the recording says, with "lamp" in the place of each "candle".',
        {"constraint": ["exact_match", "She lit the lamp and put it into the window."]},
        given=[wav((330, 300), (262, 300))],
    ),
    Row(
        "a_speech_constraint",
        "Tell in one or two sentences how ships find home at night. Use the words "
        '"harbour" and "lamp".',
        {"constraint": ["keyword_include", "harbour", "lamp"]},
    ),
    Row(
        "a_speech_constraint",
        'Give a word of advice about listening. Begin with "listen first", and say no '
        "more than twelve words.",
        {"constraint": [["start", "listen first"], ["length_word", "<= 12"]]},
    ),
    Row(
        "a_speech_constraint",
        "Say good night to a child in fewer than eight words.",
        {"constraint": ["length_word", "< 8"]},
    ),
    Row(
        "a_consistency_conversation",
        "Two neighbours, Ada and Ben, talk about tea, one recording for each turn: "
        "Ada, Ben, Ada. Ben speaks of a "
        "kettle. "
        "Each keeps the same voice.",
        {"order": [0, 1, 0], "constraint": {"1": ["keyword_include", "kettle"]}},
    ),
)

FIRST, SECOND = placeholder("audio", 0), placeholder("audio", 1)
LOW, HIGH, BELL = wav((196, 200)), wav((392, 200)), wav((784, 80), (0, 40), (784, 80))

_Order: TypeAlias = tuple[str, Sequence[bytes], Sequence[str], str, Sequence[bytes]]
"""Prompt, sounds beside it, right orders, a right answer, the answer's sounds."""

_ORDERS: tuple[_Order, ...] = (
    (
        "Begin with a low tone. Below it, write one sentence about what makes a tone "
        "low.",
        (),
        ("at",),
        f"{FIRST} The slower something swings, the lower it sounds.",
        (LOW,),
    ),
    (
        "Write one sentence that announces a door bell, and let the bell follow. "
        "Nothing comes after it.",
        (),
        ("ta",),
        f"Someone is standing at the door. {FIRST}",
        (BELL,),
    ),
    (
        "Greet the listener in writing, play a high tone, and take your leave in "
        "writing.",
        (),
        ("tat",),
        f"Good evening. {FIRST} Good night.",
        (HIGH,),
    ),
    (
        "Play a low tone, write a line that compares it with the next one, and play a "
        "high tone.",
        (),
        ("ata",),
        f"{FIRST} What follows is an octave higher. {SECOND}",
        (LOW, HIGH),
    ),
    (
        "You hear a tone. If it is low, answer first in writing and then with a high "
        "tone; if it is high, the other "
        "way round.",
        (LOW,),
        ("ta",),
        f"This was a low tone; here is a high one. {FIRST}",
        (HIGH,),
    ),
    (
        "Tell in two written lines and one sound how a shop is opened. The sound is "
        "that of a bell and stands between "
        "the lines or after both of them.",
        (),
        ("tat", "ta"),
        f"The key turns in the lock. {FIRST} The first guest comes in.",
        (BELL,),
    ),
)

ORDERS: tuple[Row, ...] = tuple(
    Row(
        "a_structure",
        prompt,
        {"order": list(order)},
        given=given,
        answer=answer,
        media=heard,
    )
    for prompt, given, order, answer, heard in _ORDERS
)
