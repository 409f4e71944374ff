"""Switches of MMMG, and those that its task files set, have their documented values."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mmeval.metric.contract import load_metric
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose

WITHOUT_A_TASK = {
    "silence_segments",
    "word_accuracy",
    "text_constraints",
    "clap_similarity",
    "self_description",
}
"""Metrics of MMMG that no task names: others do their work along with theirs."""
DOCUMENTED = Path(__file__).with_suffix(".json")
"""The value of each switch by metric, as the documentation and the benchmark's papers
and scripts have it."""
TASK_FILES = DOCUMENTED.with_name("switches_of_tasks.json")
"""The switches that each task file sets: the numbers of the checks stand there,
whatever the defaults are."""
_REPLIES = {"reading": "official", "lost": "wrong"}
_CLAIMS = {**_REPLIES, "statements": "official"}
_CONSTRAINTS = {"lower_keywords": False, "missing": "empty_text"}
OFFICIAL: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("judge_count", "judge_ocr", "judge_position"), _REPLIES),
    **dict.fromkeys(("judge_pattern", "judge_presence"), _CLAIMS),
    **{
        f"judge_self_{what}": _CLAIMS
        for what in ("color", "count", "position", "size", "text")
    },
    **dict.fromkeys(("text_constraints", "transcript_constraints"), _CONSTRAINTS),
    **{name: {"blanks": "drop_wanted"} for name in ("transcript", "word_accuracy")},
    "judge_ocr_multilingual": {**_REPLIES, "common": "set"},
    "intensity": {"short_end": "whole"},
    "part_order": {"reading": "official_text"},
    "self_description": {"statements": "official"},
    "sound_class": {"short": "empty_begin"},
}
"""What the profile ``official`` sets; metrics that are not here have no profile."""


@cache
def metrics() -> list[str]:
    """Every metric that MMMG's tasks name, and those without a task."""
    found = {
        entry.metric
        for file in choose(["mmmg"], TaskIndex()).tasks.values()
        for entry in file.keys.metric_list
    }
    return sorted(found | WITHOUT_A_TASK)


def values() -> dict[str, dict[str, Any]]:
    found = {name: dict(load_metric(name).switches) for name in metrics()}
    plain: dict[str, dict[str, Any]] = json.loads(json.dumps(found))
    return plain


def of_task_files() -> dict[str, dict[str, Any]]:
    files = choose(["mmmg"], TaskIndex()).tasks
    return {
        name: {entry.metric: entry.switches for entry in file.keys.metric_list}
        for name, file in files.items()
    }


def test_each_switch_has_its_documented_value_in_each_profile() -> None:
    """``python -m tests.tasks.mmmg.test_switches`` writes the values of today."""
    assert json.loads(DOCUMENTED.read_text("utf-8")) == values()
    profiles = {name: load_metric(name).profiles for name in metrics()}
    official = {
        name: {profile: dict(set_) for profile, set_ in found.items()}
        for name, found in profiles.items()
    }
    assert official == {
        name: {"official": OFFICIAL[name]} if name in OFFICIAL else {}
        for name in metrics()
    }


def test_each_task_file_sets_its_documented_numbers() -> None:
    assert json.loads(TASK_FILES.read_text("utf-8")) == of_task_files()


if __name__ == "__main__":
    DOCUMENTED.write_text(json.dumps(values(), indent=1) + "\n", "utf-8")
    lines = (
        f"{json.dumps(name)}: {json.dumps(switches)}"
        for name, switches in of_task_files().items()
    )
    TASK_FILES.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
