"""The mutation check of MMMG's metrics: each switch has its documented value, and another value changes some score.

A metric or a switch that is not listed here fails, and so does a default that was changed without this page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.records.trial import Trial
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from tests.support.mmmg_judged_switch_cases import of_judges
from tests.support.mmmg_switch_cases import Effect, of_sounds, of_text
from tests.support.picture_judging import judged
from tests.support.trials import score_of

WITHOUT_A_TASK = {"silence_segments", "word_accuracy", "text_constraints", "clap_similarity", "self_description"}
"""Metrics of MMMG that no task names: others do their work along with theirs."""
DOCUMENTED = Path(__file__).with_suffix(".json")
"""The value of each switch by metric, as the documentation and the benchmark's papers and scripts have it."""
_REPLIES = {"reading": "official", "lost": "wrong"}
_CLAIMS = {**_REPLIES, "statements": "official"}
_CONSTRAINTS = {"lower_keywords": False, "missing": "empty_text"}
OFFICIAL: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("judge_count", "judge_ocr", "judge_position"), _REPLIES),
    **dict.fromkeys(("judge_pattern", "judge_presence"), _CLAIMS),
    **{f"judge_self_{what}": _CLAIMS for what in ("color", "count", "position", "size", "text")},
    **dict.fromkeys(("text_constraints", "transcript_constraints"), _CONSTRAINTS),
    **{name: {"blanks": "drop_wanted"} for name in ("transcript", "word_accuracy")},
    "judge_ocr_multilingual": {**_REPLIES, "common": "set"},
    "intensity": {"short_end": "whole"},
    "part_order": {"reading": "official_text"},
    "self_description": {"statements": "official"},
    "sound_class": {"short": "empty_begin"},
}
"""What the profile ``official`` sets; metrics that are not here have no profile."""
ELSEWHERE = {
    "ssim": ("image/test_ssim.py", "test_it_has_no_switch"),
    "region_fill": ("image/test_fill.py", "test_each_switch_of_region_fill_changes_a_score"),
    "border_fill": ("image/test_fill.py", "test_each_switch_of_border_fill_changes_a_score"),
    "edit_outside_ssim": ("image/test_editing.py", "test_each_switch_changes_a_score"),
    "dreamsim": ("image/test_dreamsim.py", "test_every_switch_matters"),
    "sound_class": ("audio/test_sound_class.py", "test_every_switch_of_a_window_matters"),
    "speaker_gender": ("audio/speech/test_speakers.py", "test_every_switch_of_gender_matters"),
    "speaker_similarity": ("audio/speech/test_speakers.py", "test_voices_are_one_persons_above_the_threshold"),
    "transcript": ("audio/speech/test_transcription.py", "test_every_switch_matters"),
    "transcript_constraints": ("audio/speech/test_transcript_constraints.py", "test_every_switch_matters"),
    "text_constraints": ("text/test_constraints.py", "test_each_switch_changes_a_score"),
    "word_accuracy": ("text/test_word_accuracy.py", "test_each_switch_changes_a_score"),
    "overall": ("structure/test_overall.py", "test_all_pieces_make_one_value"),
}
"""Metrics whose own tests change their switches, with the test."""
ITS_OWN = {("pitch_band", "seconds")}
"""Switches whose value is handed on to a model, which the metric's own test checks."""


def metrics() -> list[str]:
    """Every metric that MMMG's tasks name, and those without a task."""
    found = {entry.metric for file in choose(["mmmg"], TaskIndex()).tasks.values() for entry in file.keys.metric_list}
    return sorted(found | WITHOUT_A_TASK)


def effects() -> list[Effect]:
    return [*of_text(), *of_sounds(), *of_judges()]


def seen(effect: Effect, scored: Trial, switches: Mapping[str, Any]) -> Any:
    """The score of an answer; of a judged one also what was asked, with which pictures."""
    if not load_metric(effect.metric).judged:
        return score_of(load_metric(effect.metric), scored, **switches)
    says = effect.says if isinstance(effect.says, dict) else {"": effect.says}
    done = judged(effect.metric, scored, says, role_says={"second_judge": says}, **switches)
    return done.score, done.questions, done.kinds, [done.pictures(at) for at in range(len(done.calls))]


def test_each_switch_has_its_documented_value() -> None:
    """``python -m tests.tasks.mmmg.test_switches`` writes the values of today."""
    assert json.loads(DOCUMENTED.read_text("utf-8")) == values()


@pytest.mark.parametrize("name", metrics())
def test_the_official_profile_sets_what_is_documented(name: str) -> None:
    assert {profile: dict(set_) for profile, set_ in load_metric(name).profiles.items()} == (
        {"official": OFFICIAL[name]} if name in OFFICIAL else {}
    )


def values() -> dict[str, dict[str, Any]]:
    found = {name: dict(load_metric(name).switches) for name in metrics()}
    plain: dict[str, dict[str, Any]] = json.loads(json.dumps(found))
    return plain


@pytest.mark.parametrize("name", metrics())
def test_each_switch_is_tried(name: str) -> None:
    if name in ELSEWHERE:
        file, test = ELSEWHERE[name]
        assert f"def {test}(" in (Path(__file__).parents[2] / "metrics" / file).read_text("utf-8")
        return
    tried = {effect.switch for effect in effects() if effect.metric == name}
    metric = load_metric(name)
    assert set(metric.switches) - set(metric.models) - tried <= {switch for of, switch in ITS_OWN if of == name}


def test_each_value_makes_a_difference() -> None:
    idle = [
        f"{effect.metric}: {effect.switch}={effect.value}"
        for effect in effects()
        if not any(
            seen(effect, scored, effect.beside) != seen(effect, scored, {**effect.beside, effect.switch: effect.value})
            for scored in effect.answers
        )
    ]
    assert idle == []


if __name__ == "__main__":
    DOCUMENTED.write_text(json.dumps(values(), indent=1) + "\n", "utf-8")
