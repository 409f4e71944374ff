"""The mutation check of MMMG's metrics: another value of a switch changes some score, or a question to a judge.

A metric that is neither listed here nor in ``ELSEWHERE`` fails, and so does a switch without a case.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.records.trial import Trial
from tests.support.mmmg_judged_switch_cases import of_judges
from tests.support.mmmg_switch_cases import Effect, of_sounds, of_text
from tests.support.picture_judging import judged
from tests.support.trials import score_of
from tests.tasks.mmmg.test_switches import metrics

ELSEWHERE = {
    *("ssim", "region_fill", "border_fill", "edit_outside_ssim", "dreamsim", "sound_class", "speaker_gender"),
    *("speaker_similarity", "transcript", "transcript_constraints", "text_constraints", "word_accuracy", "overall"),
}
"""Metrics whose own tests change their switches."""
ITS_OWN = {("pitch_band", "seconds")}
"""Switches whose value is handed on to a model, which the metric's own test checks."""


def effects() -> list[Effect]:
    return [*of_text(), *of_sounds(), *of_judges()]


def seen(effect: Effect, scored: Trial, switches: Mapping[str, Any]) -> Any:
    """The score of an answer; of a judged one also the questions with their pictures."""
    if not load_metric(effect.metric).judged:
        return score_of(load_metric(effect.metric), scored, **switches)
    says = effect.says if isinstance(effect.says, dict) else {"": effect.says}
    done = judged(effect.metric, scored, says, role_says={"second_judge": says}, **switches)
    return done.score, done.questions, done.kinds, [done.pictures(at) for at in range(len(done.calls))]


def test_each_switch_is_tried() -> None:
    tried = {(effect.metric, effect.switch) for effect in effects()} | ITS_OWN
    found = {name: load_metric(name) for name in metrics() if name not in ELSEWHERE}
    switches = {(name, switch) for name, one in found.items() for switch in set(one.switches) - set(one.models)}
    assert switches - tried == set()


@pytest.mark.parametrize("effect", effects(), ids=lambda effect: f"{effect.metric}-{effect.switch}")
def test_each_value_makes_a_difference(effect: Effect) -> None:
    changed = {**effect.beside, effect.switch: effect.value}
    assert any(seen(effect, one, effect.beside) != seen(effect, one, changed) for one in effect.answers)
