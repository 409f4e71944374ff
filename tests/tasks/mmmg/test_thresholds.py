"""The numbers of MMMG's checks stand in its task files, as ``test_switches.json`` documents them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.task.index import TaskIndex
from mmeval.task.schema import MetricKeys
from mmeval.task.selection import choose
from tests.support.mmmg_tasks import TASKS
from tests.tasks.mmmg.test_switches import DOCUMENTED

INDEX = TaskIndex()
VALUES: Mapping[str, Mapping[str, Any]] = json.loads(DOCUMENTED.read_text("utf-8"))
INSTRUMENTS = {"mmmg_instrument_inclusion", "mmmg_instrument_exclusion"}
SILENCE = {"gap", "top_db"}
WITH_NUMBERS = {
    *("object_count", "region_fill", "border_fill", "interleaved_object_adding", "interleaved_color_modifying"),
    *("text_editing", "object_adding", "object_removing", "object_modifying", "self_count", "self_ocr"),
    *("sound_begin_end", "sound_positional_inclusion", "sound_silence", "sound_reasoning", "instrument_inclusion"),
    *("instrument_exclusion", "music_tempo", "music_intensity", "voice_attribution", "multilingual_speech"),
    *("voice_replication", "conversation"),
}
"""The tasks whose checks have numbers of their own."""


def numbers(switches: Mapping[str, Any]) -> Iterator[str]:
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


@pytest.mark.parametrize("task", [counted.task for counted in TASKS])
def test_the_task_file_has_the_documented_value_of_every_number_that_has_an_effect(task: str) -> None:
    (file,) = choose([task], INDEX).tasks.values()
    found = []
    for entry in file.keys.metric_list:
        documented = VALUES[entry.metric]
        expected = {switch: documented[switch] for switch in numbers(documented) if matters(entry, switch)}
        if entry.metric == "sound_class" and task in INSTRUMENTS:
            assert expected["threshold"] == 0.68
            expected["threshold"] = 0.62
        assert {name: entry.switches[name] for name in numbers(entry.switches)} == expected, entry.metric
        assert all(expected.keys().isdisjoint(set_) for set_ in load_metric(entry.metric).profiles.values())
        found += [*expected]
    assert bool(found) == (task.removeprefix("mmmg_") in WITH_NUMBERS)
