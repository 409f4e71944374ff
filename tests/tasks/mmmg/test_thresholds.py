"""The numbers of MMMG's checks, as the paper and the released scripts give them, against those of the task files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from mmeval.metric.contract import load_metric
from mmeval.task.index import TaskIndex
from mmeval.task.schema import MetricKeys
from mmeval.task.selection import choose
from tests.support.mmmg_tasks import TASKS

Numbers: TypeAlias = dict[str, float | list[float]]

COLOR: Numbers = {"black_white_distance": 38.4, "hue_low": 0.15, "hue_high": 0.85, "penalty_distance": 16}
PADDED: Numbers = {"margin": 10}
THREE_TO_SIX: Numbers = {"fewest": 3, "most": 6}
SOUND: Numbers = {"threshold": 0.68, "nearest": 10}
INSTRUMENT: Numbers = {"threshold": 0.62, "nearest": 10}
SILENCE: Numbers = {"gap": 1, "top_db": 40}
FRAMES: Numbers = {"frame": 2048, "hop": 512}
VOICE: Numbers = {"seconds": 5, "male_class": 1}
PITCH: Numbers = {
    **VOICE,
    **{"male_low": 140, "male_high": 182, "female_low": 236, "female_high": 278},
    **{"floor": 80, "ceiling": 600, "intensity_floor": 80, "step": 256, "edges": 100},
}
FADE: Numbers = {"steepness": 0.18, "error": 0.04, "seconds": 4, "distance": 4, "margin": 5, "top_db": 60}
ONE_SPEAKER: Numbers = {"threshold": 0.93, "seconds": 60}

THRESHOLDS: dict[str, dict[str, Numbers]] = {
    "mmmg_object_count": {"judge_count": THREE_TO_SIX},
    "mmmg_region_fill": {"region_fill": {"half": 0.5, "thirds": [0.33, 0.67], "quarters": [0.25, 0.5, 0.75], **COLOR}},
    "mmmg_border_fill": {"border_fill": {"border": 0.1, **COLOR}},
    "mmmg_interleaved_object_adding": {"edit_outside_ssim": PADDED, "dreamsim": PADDED},
    "mmmg_interleaved_color_modifying": {"edit_outside_ssim": PADDED, "dreamsim": PADDED},
    "mmmg_text_editing": {"edit_outside_ssim": PADDED, "judge_ocr": PADDED},
    "mmmg_object_adding": {"edit_outside_ssim": PADDED, "judge_presence": PADDED},
    "mmmg_object_removing": {"edit_outside_ssim": PADDED, "judge_presence": PADDED},
    "mmmg_object_modifying": {"edit_outside_ssim": PADDED, "judge_presence": PADDED},
    "mmmg_self_count": {"judge_self_count": THREE_TO_SIX},
    "mmmg_self_ocr": {"judge_self_text": {"least": 5, "most": 10}},
    "mmmg_sound_begin_end": {"sound_class": {**SOUND, "seconds": 4}},
    "mmmg_sound_positional_inclusion": {"sound_class": SOUND},
    "mmmg_sound_silence": {"silence_segments": {"segments": 2, **SILENCE, **FRAMES}, "sound_class": SOUND | SILENCE},
    "mmmg_sound_reasoning": {"sound_class": SOUND},
    "mmmg_instrument_inclusion": {"sound_class": INSTRUMENT},
    "mmmg_instrument_exclusion": {"sound_class": INSTRUMENT},
    "mmmg_music_tempo": {"tempo": {"tolerance": 5, "top_db": 60}},
    "mmmg_music_intensity": {"intensity": {**FADE, **FRAMES}},
    "mmmg_voice_attribution": {
        "speaker_gender": VOICE,
        "pitch_band": PITCH,
        "speech_rate": {"words_low": 156, "words_high": 180, "top_db": 60},
    },
    "mmmg_multilingual_speech": {
        "speaker_gender": VOICE,
        "pitch_band": PITCH,
        "speech_rate": {"characters_low": 232, "characters_high": 272, "top_db": 60},
    },
    "mmmg_voice_replication": {"speaker_similarity": ONE_SPEAKER},
    "mmmg_conversation": {"speaker_similarity": ONE_SPEAKER},
}


INDEX = TaskIndex()


@cache
def pieces(task: str) -> dict[str, MetricKeys]:
    """The metrics of a task, as its file has them."""
    (file,) = choose([task], INDEX).tasks.values()
    return {entry.metric: entry for entry in file.keys.metric_list}


def numbers(switches: dict[str, Any]) -> Iterator[str]:
    """The switches that are numbers, or lists of them."""
    for name, value in switches.items():
        listed = value if isinstance(value, list | tuple) and value else [value]
        if all(isinstance(one, int | float) and not isinstance(one, bool) for one in listed):
            yield name


def matters(entry: MetricKeys, switch: str) -> bool:
    """Whether a number has an effect beside the other switches of an entry."""
    window, kind = entry.switches.get("window"), entry.metric
    return not (
        switch == "repeats"
        or (switch == "margin" and "region" in load_metric(kind).switches and entry.switches.get("region") != "bbox")
        or (kind == "sound_class" and switch == "seconds" and window != "begin_end")
        or (kind == "sound_class" and switch in SILENCE and window != "silence_segments")
        or (kind == "speech_rate" and switch.startswith("characters") and "language" not in entry.switches)
        or (kind == "speech_rate" and switch.startswith("words") and "language" in entry.switches)
    )


def test_the_task_files_have_the_published_numbers_and_no_other_number_has_an_effect() -> None:
    for task in [counted.task for counted in TASKS]:
        given = THRESHOLDS.get(task, {})
        for kind, entry in pieces(task).items():
            assert {name: entry.switches[name] for name in numbers(entry.switches)} == given.get(kind, {}), task
            own = [switch for switch in numbers(dict(load_metric(kind).switches)) if matters(entry, switch)]
            assert sorted(own) == sorted(given.get(kind, {})), (task, kind)
        assert given.keys() <= pieces(task).keys()


def test_the_numbers_are_no_matter_of_profiles_and_are_the_same_outside_of_a_task() -> None:
    entries = [(load_metric(kind), given) for found in THRESHOLDS.values() for kind, given in found.items()]
    assert all(given.keys().isdisjoint(set_) for metric, given in entries for set_ in metric.profiles.values())
    other = {
        (metric.name, switch)
        for metric, given in entries
        for switch, value in given.items()
        if metric.switches[switch] not in (value, tuple(value) if isinstance(value, list) else value)
    }
    assert other == {("sound_class", "threshold")}, "instruments have a threshold of their own"
