"""The mutation check of UniM: each switch, constant and key of its tasks has its documented value, and another value of
a switch changes some score.

A metric or a switch that is not listed here fails, and so does a default that was changed without this page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend import excerpt, routes
from mmeval.metric import load_metric
from mmeval.metrics.judged import unim_grades
from mmeval.metrics.judged.captions import captioning
from mmeval.metrics.quality import sqcs
from mmeval.records.trial import Trial
from mmeval.task.file import TaskFile
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.unim import perturbation
from scripts import check_unim_tables
from tests.support.mmmg_switch_cases import Effect
from tests.support.quality_switch_cases import ELSEWHERE
from tests.support.unim_switch_cases import of_unim, seen, shown

DOCUMENTED = Path(__file__).with_suffix(".json")
"""Defaults and profiles of each metric, constants, and what the task files say, as the documentation, the paper and the
scripts have it."""
KEYS = ("missing_output", "partial_output", "output_modalities", "placeholders", "profile", "repeats", "breakdown")
"""Keys of the task files that decide about numbers."""


def files() -> dict[str, TaskFile]:
    """The tasks of UniM: three levels and thirty domains."""
    return dict(choose(["unim_easy", "unim_medium", "unim_hard", "unim_domains"], TaskIndex()).tasks)


def metrics() -> list[str]:
    return list(dict.fromkeys(entry.metric for file in files().values() for entry in file.keys.metric_list))


def constants() -> dict[str, Any]:
    """What is no switch: the grades, how much of a medium is captioned, and the copies of the paper's weights."""
    return {
        "grades": [unim_grades.LOWEST, unim_grades.HIGHEST],
        "shares of grades": [unim_grades.share(grade) for grade in (1, 2, 3, 4, 5)],
        "characters of a caption": captioning.MAX_CAPTION_CHARS,
        "seconds of a captioned sound": excerpt.MAX_AUDIO_SECONDS,
        "samples a second of a captioned sound": excerpt.AUDIO_RATE,
        "pixels of a side of a captioned picture": excerpt.MAX_SIDE,
        "characters of a captioned document": excerpt.MAX_DOCUMENT_CHARS,
        "bytes of a video that is captioned whole": routes.MAX_VIDEO_BYTES,
        "frames of a video": routes.FRAMES,
        "eta of the layout": sqcs.ETA,
        "weight of the table check": check_unim_tables.WEIGHT,
        "steps of the perturbation": list(perturbation.STEPS),
    }


def of_tasks() -> dict[str, Any]:
    """What all task files say alike. Fails where one says something else."""
    said = [
        {
            **{key: getattr(file.keys, key) for key in KEYS},
            "metrics": {entry.metric: [entry.switches, entry.aggregation.name] for entry in file.keys.metric_list},
        }
        for file in files().values()
    ]
    assert all(one == said[0] for one in said)
    return said[0]


def values() -> dict[str, Any]:
    found = {
        "switches": {name: dict(load_metric(name).switches) for name in metrics()},
        "profiles": {name: {p: dict(s) for p, s in load_metric(name).profiles.items()} for name in metrics()},
        "constants": constants(),
        "tasks": of_tasks(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@pytest.mark.parametrize("part", ["switches", "profiles", "constants", "tasks"])
def test_everything_has_its_documented_value(part: str) -> None:
    """``python -m tests.tasks.unim.test_switches`` writes the values of today."""
    assert json.loads(DOCUMENTED.read_text("utf-8"))[part] == values()[part]


@pytest.mark.parametrize("name", metrics())
def test_each_switch_is_tried(name: str) -> None:
    tried = {effect.switch for effect in of_unim() if effect.metric == name}
    assert tried == set(load_metric(name).switches) - ELSEWHERE.get(name, set())


@pytest.mark.parametrize("effect", list(of_unim()), ids=lambda effect: f"{effect.metric} {effect.switch}")
def test_each_value_makes_a_difference(effect: Effect) -> None:
    changed = {**effect.beside, effect.switch: effect.value}
    trials: Sequence[Trial | None] = effect.answers or [None]

    assert any(seen(effect, trial, effect.beside) != seen(effect, trial, changed) for trial in trials)


def test_what_is_changed_back_makes_none() -> None:
    for name in ("semantic_correctness", "interleaved_coherence"):
        effect = next(effect for effect in of_unim() if effect.metric == name)
        assert seen(effect, shown(), {}) == seen(effect, shown(), dict(load_metric(name).switches))


if __name__ == "__main__":
    DOCUMENTED.write_text(json.dumps(values(), indent=1) + "\n", "utf-8")
